"""Settings that keep people's logins safe: the lock after wrong passwords, the second factor, sessions, cookies, TLS.

`notifyops.settings` takes all of it in; what depends on the site mode or the environment is decided here.
"""

from __future__ import annotations

from typing import Any, Final

from notifyops import headers
from notifyops.env import Environment

LOGIN: Final[dict[str, Any]] = {
    "AUTHENTICATION_BACKENDS": ["axes.backends.AxesStandaloneBackend", "django.contrib.auth.backends.ModelBackend"],
    "AXES_LOCKOUT_PARAMETERS": [["username", "ip_address"]],
    "AXES_RESET_ON_SUCCESS": True,
    # Or whoever goes on knocking would keep the owner out for ever.
    "AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT": False,
    "AXES_LOCKOUT_CALLABLE": "reviews.signin.lockout.page",
    # Our own proxy middleware has put the client there.
    "AXES_CLIENT_IP_CALLABLE": "reviews.signin.lockout.address",
    # Its own lines and pages hold names, addresses and what strangers typed: ours hold none of it.
    "AXES_VERBOSE": False,
    "AXES_ENABLE_ADMIN": False,
    "AXES_DISABLE_ACCESS_LOG": True,
    "AXES_CLIENT_STR_CALLABLE": "reviews.signin.lockout.nobody",
}
# A year, as the preload lists of browsers ask for; we do not ask to be put on them.
HSTS_S: Final = 31_536_000


def settings(*, site: str, site_mode: str, is_behind_proxy: bool) -> dict[str, Any]:
    """Give the settings of Django and its apps that follow from where we are."""
    is_live = site_mode == "live"
    found = {"OTP_TOTP_ISSUER": f"notifyops {site}"}
    return found | LOGIN | _cookies(is_live=is_live) | _transport(is_live=is_live, is_behind_proxy=is_behind_proxy)


def second_factor(env: Environment, *, site_mode: str) -> str:
    """Give `required` or `optional`. A live site reaches real people: no word spares its operators. Raises BadValue."""
    words = ("required",) if site_mode == "live" else ("optional", "required")
    return env.choice("NOTIFYOPS_SECOND_FACTOR", words[0], words)


def _cookies(*, is_live: bool) -> dict[str, Any]:
    # Loopback without TLS must be able to log in; a live site must never send its session in the clear. With the prefix
    # no other host of the domain, and nobody without TLS, can plant one (RFC 6265bis, section 4.1.3.2).
    prefix = "__Host-" if is_live else ""
    common = {"SECURE": is_live, "HTTPONLY": True, "SAMESITE": "Lax"}
    found = {
        f"{kind}_COOKIE_{name}": value for kind in ("SESSION", "CSRF", "LANGUAGE") for name, value in common.items()
    }
    return found | {"SESSION_COOKIE_NAME": f"{prefix}sessionid", "CSRF_COOKIE_NAME": f"{prefix}csrftoken"}


def _transport(*, is_live: bool, is_behind_proxy: bool) -> dict[str, Any]:
    return {
        # Only a trusted proxy's word gets as far as this.
        "SECURE_PROXY_SSL_HEADER": ("HTTP_X_FORWARDED_PROTO", "https"),
        # Nobody but a proxy ends TLS for us: without one a redirect would lead nowhere.
        "SECURE_SSL_REDIRECT": is_live and is_behind_proxy,
        # Probes come from within, and a program that sent its token in the clear must hear of it, not be led on.
        "SECURE_REDIRECT_EXEMPT": [r"^(healthz|readyz|metrics)$", r"^api/v1/"],
        "SECURE_HSTS_SECONDS": HSTS_S if is_live else 0,
        # What other hosts of the domain serve, and whether it goes onto browsers' lists, is not ours to say.
        "SILENCED_SYSTEM_CHECKS": ["security.W005", "security.W021"],
        "SECURE_CONTENT_TYPE_NOSNIFF": True,
        "SECURE_REFERRER_POLICY": headers.ALWAYS["Referrer-Policy"],
        "SECURE_CROSS_ORIGIN_OPENER_POLICY": headers.ALWAYS["Cross-Origin-Opener-Policy"],
        "X_FRAME_OPTIONS": headers.ALWAYS["X-Frame-Options"],
        "CONTENT_SECURITY_POLICY": {"DIRECTIVES": headers.POLICY},
    }

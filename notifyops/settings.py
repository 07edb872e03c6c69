"""Django's settings. Everything that may differ between installations is read from the environment by env.py."""

from __future__ import annotations

import math
import os
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from notifyops import dsn, env, installation, keep, logs, own_apps, proxy, safety
from notifyops.databases import databases

BASE_DIR: Final = Path(__file__).resolve().parent.parent

# --- The installation -------------------------------------------------------------------------------------------
NOTIFYOPS_HOME = env.home(env.Environment(os.environ), checkout=BASE_DIR)
NOTIFYOPS_INSTALLATION = installation.read(NOTIFYOPS_HOME)
# A command in another terminal must see the same site as the processes that run; its own variables still win.
_env = env.Environment(installation.settings_of(NOTIFYOPS_INSTALLATION, os.environ))
NOTIFYOPS_SITE = _env.text("NOTIFYOPS_SITE", "local", pattern=env.SITE, allowed=env.SITE_SAYS)
NOTIFYOPS_SITE_MODE = _env.choice("NOTIFYOPS_SITE_MODE", "sandbox", ("off", "sandbox", "redirect", "live"))
NOTIFYOPS_REDIRECT_TO = env.redirect_to(_env, site_mode=NOTIFYOPS_SITE_MODE)
NOTIFYOPS_REDIRECT_PHONE = _env.text(
    "NOTIFYOPS_REDIRECT_PHONE", pattern=r"\+[1-9][0-9]{7,14}", allowed="a number such as +447700900123"
)
NOTIFYOPS_REDIRECT_CHAT = _env.text(
    "NOTIFYOPS_REDIRECT_CHAT", pattern=r"-?[1-9][0-9]{0,15}|@[A-Za-z][A-Za-z0-9_]{3,31}", allowed="a number or an @name"
)
NOTIFYOPS_PORT = _env.whole("NOTIFYOPS_PORT", 8000, low=1, high=65535)
# The part that this process plays in the database: worker, web or owner.
NOTIFYOPS_ROLE = _env.choice("NOTIFYOPS_ROLE", "web", ("worker", "web", "owner"))
NOTIFYOPS_ROLES = dsn.role_names(NOTIFYOPS_SITE)

# --- Delivery ---------------------------------------------------------------------------------------------------
NOTIFYOPS_PROVIDER_TIMEOUT_S = _env.number("NOTIFYOPS_PROVIDER_TIMEOUT_S", 10, low=0.5, high=120)
NOTIFYOPS_LEASE_S = _env.number("NOTIFYOPS_LEASE_S", 60, low=5, high=3600)
NOTIFYOPS_RETRY_DELAYS_S = _env.delays("NOTIFYOPS_RETRY_DELAYS_S", (60, 300), high=604800)
NOTIFYOPS_RETRY_AFTER_CAP_S = _env.number("NOTIFYOPS_RETRY_AFTER_CAP_S", 3600, low=0, high=86400)
# Resend keeps an idempotency key for 24 hours (see the adapter): never more.
NOTIFYOPS_KEY_WINDOW_S = _env.number("NOTIFYOPS_KEY_WINDOW_S", 86400, low=10, high=86400)
NOTIFYOPS_KEY_MARGIN_S = _env.number("NOTIFYOPS_KEY_MARGIN_S", 1800, low=0, high=86400)
NOTIFYOPS_POLL_MAX_MS = _env.whole("NOTIFYOPS_POLL_MAX_MS", 250, low=10, high=60000)
NOTIFYOPS_CONCURRENCY = _env.whole("NOTIFYOPS_CONCURRENCY", 32, low=1, high=1000)
NOTIFYOPS_LOOPS = _env.whole("NOTIFYOPS_LOOPS", 2, low=1, high=64)
NOTIFYOPS_BREAKER_FAILURES = _env.whole("NOTIFYOPS_BREAKER_FAILURES", 3, low=1, high=1000)
NOTIFYOPS_BREAKER_COOLDOWN_S = _env.number("NOTIFYOPS_BREAKER_COOLDOWN_S", 30, low=0.1, high=86400)
NOTIFYOPS_LOOKUP_PER_S = _env.number("NOTIFYOPS_LOOKUP_PER_S", 3, low=0.1, high=100)
NOTIFYOPS_UNDO_S = _env.number("NOTIFYOPS_UNDO_S", 8, low=0, high=300)
env.agree(
    timeout_s=NOTIFYOPS_PROVIDER_TIMEOUT_S,
    lease_s=NOTIFYOPS_LEASE_S,
    window_s=NOTIFYOPS_KEY_WINDOW_S,
    margin_s=NOTIFYOPS_KEY_MARGIN_S,
)

# --- The provider and the alerts --------------------------------------------------------------------------------
NOTIFYOPS_SANDBOX_PORT = _env.whole("NOTIFYOPS_SANDBOX_PORT", 0, low=1, high=65535)
NOTIFYOPS_RESEND_BASE_URL = env.resend_base_url(
    _env,
    site_mode=NOTIFYOPS_SITE_MODE,
    sandbox_url=NOTIFYOPS_INSTALLATION.sandbox_url if NOTIFYOPS_INSTALLATION else "",
    sandbox_port=NOTIFYOPS_SANDBOX_PORT,
)
# Of accounts of kind smtp that name no server of their own; providers/smtp.py says what the schemes mean.
NOTIFYOPS_SMTP_BASE_URL = _env.url("NOTIFYOPS_SMTP_BASE_URL", schemes=("smtp", "smtps", "smtp+cleartext"))
_KEY: Final = {"pattern": r"[\x21-\x7e]{3,200}", "allowed": "3 to 200 visible ASCII characters, such as re_…"}
NOTIFYOPS_RESEND_API_KEY = _env.secret("NOTIFYOPS_RESEND_API_KEY", **_KEY)
NOTIFYOPS_RESEND_LOOKUP_KEY = _env.secret("NOTIFYOPS_RESEND_LOOKUP_KEY", **_KEY)
NOTIFYOPS_RESEND_WEBHOOK_SECRETS = _env.words(
    "NOTIFYOPS_RESEND_WEBHOOK_SECRETS", pattern=r"whsec_[A-Za-z0-9+/=_-]{8,200}", allowed="a secret such as whsec_…"
)
# Of one event: 75 tags of 512 characters, 50 addresses of 254 and a subject of 998 are 52 kB; real ones are below 3 kB.
NOTIFYOPS_RECEIPT_BYTES = 65_536
# Of one call of the API: a batch of 1,000 with 4 kB of data each.
DATA_UPLOAD_MAX_MEMORY_SIZE = 4_194_304
NOTIFYOPS_ALERT_TELEGRAM_TOKEN = _env.secret(
    "NOTIFYOPS_ALERT_TELEGRAM_TOKEN", pattern=r"[0-9]+:[A-Za-z0-9_-]+", allowed="a bot token such as 123456:ABC…"
)
NOTIFYOPS_ALERT_TELEGRAM_CHAT_ID = _env.text(
    "NOTIFYOPS_ALERT_TELEGRAM_CHAT_ID", pattern=r"-?[0-9]{1,20}|@[A-Za-z0-9_]{4,64}", allowed="a number or an @name"
)
NOTIFYOPS_ALERT_WEBHOOK_URL = _env.url("NOTIFYOPS_ALERT_WEBHOOK_URL")
# Where webhooks may go beside the open internet, and without TLS: to networks of our own, or (yes) anywhere.
NOTIFYOPS_WEBHOOK_NETWORKS = env.networks(_env, "NOTIFYOPS_WEBHOOK_NETWORKS")
NOTIFYOPS_WEBHOOK_PRIVATE = _env.choice("NOTIFYOPS_WEBHOOK_PRIVATE", "no", ("no", "yes"))
# All calls of accounts of kind webhook, instead of their recipients: a stand-in on this machine.
NOTIFYOPS_WEBHOOK_BASE_URL = _env.url("NOTIFYOPS_WEBHOOK_BASE_URL")
# Of accounts of these kinds that name no address of their own: a stand-in on this machine, out of live and redirect.
NOTIFYOPS_TWILIO_BASE_URL = _env.url("NOTIFYOPS_TWILIO_BASE_URL")
NOTIFYOPS_TELEGRAM_BASE_URL = _env.url("NOTIFYOPS_TELEGRAM_BASE_URL")
# A text of more parts is refused before it is sent: each part costs as much as a message.
NOTIFYOPS_SMS_PARTS = _env.whole("NOTIFYOPS_SMS_PARTS", 3, low=1, high=10)
# The same of accounts of kind webpush; and how long a push service keeps what no browser has taken yet (RFC 8030, TTL).
NOTIFYOPS_WEBPUSH_BASE_URL = _env.url("NOTIFYOPS_WEBPUSH_BASE_URL")
NOTIFYOPS_PUSH_TTL_S = _env.whole("NOTIFYOPS_PUSH_TTL_S", 2_419_200, low=0, high=2_419_200)
# Where attachments may be fetched from beside the open internet, and without TLS.
NOTIFYOPS_ATTACHMENT_NETWORKS = env.networks(_env, "NOTIFYOPS_ATTACHMENT_NETWORKS")
NOTIFYOPS_PUBLIC_URL = _env.url("NOTIFYOPS_PUBLIC_URL")

# --- The database -----------------------------------------------------------------------------------------------
_urls = env.database_urls(_env, known=NOTIFYOPS_INSTALLATION.database if NOTIFYOPS_INSTALLATION else {})
NOTIFYOPS_DATABASE_IS_NAMED = bool(_urls)
NOTIFYOPS_DATABASE_PLACE = dsn.place(_urls[NOTIFYOPS_ROLE]) if _urls else f"{NOTIFYOPS_HOME} (nothing runs there)"
_IN_CLUSTER: Final = NOTIFYOPS_ROLE == "worker"
# Of a process that serves: how many connections its threads share; 0: each request opens its own, as commands do.
_SERVES: Final = _env.text("NOTIFYOPS_PROCESS") == "served"
NOTIFYOPS_WEB_POOL = _env.whole("NOTIFYOPS_WEB_POOL", 32 if _SERVES else 0, low=0, high=500)
DATABASES: dict[str, dict[str, Any]] = databases(
    _urls.get(NOTIFYOPS_ROLE, ""),
    owner_url=_urls.get("owner", ""),
    in_cluster=_IN_CLUSTER,
    serves=_SERVES,
    pool=NOTIFYOPS_WEB_POOL,
)
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# --- Background work --------------------------------------------------------------------------------------------
# A loop task lives this long, then queues its successor.
NOTIFYOPS_LOOP_BUDGET_S = 50
_WORKERS: Final = NOTIFYOPS_LOOPS + 3  # the loops, the chores, and one spare on each side of a hand-over
_QUEUE_LIMIT: Final = 4  # small: a stop finishes all that is fetched, and idle servers must not be robbed
# SIGALRM must never fall into a call: budget, one call, and room to record it.
_TASK_TIMEOUT_S: Final = max(90, NOTIFYOPS_LOOP_BUDGET_S + math.ceil(NOTIFYOPS_PROVIDER_TIMEOUT_S) + 30)
Q_CLUSTER: Final[dict[str, Any]] = {
    "name": "notifyops",
    "orm": "default",
    "workers": _WORKERS,
    "queue_limit": _QUEUE_LIMIT,
    "bulk": 1,
    "poll": 0.2,
    "guard_cycle": 1,
    "timeout": _TASK_TIMEOUT_S,
    # The clock of a redelivery runs while a task waits in the local queue, so it covers the whole queue.
    "retry": math.ceil(_TASK_TIMEOUT_S * (1 + _QUEUE_LIMIT / _WORKERS)) + 60,
    "ack_failures": True,
    "max_attempts": 1,
    "save_limit": -1,
    "catch_up": False,
    "recycle": 50,
    "max_rss": 400_000,  # KB, peak
    "ALT_CLUSTERS": {},  # must exist, or Q_CLUSTER_NAME in the environment breaks every command
}

# --- Django -----------------------------------------------------------------------------------------------------
SECRET_KEY = _env.secret("NOTIFYOPS_SECRET_KEY", pattern=r".{32,}", allowed="at least 32 characters long")
if not SECRET_KEY:
    SECRET_KEY = keep.token(NOTIFYOPS_HOME / "secret-key", prefix="kept-")
DEBUG = False
ALLOWED_HOSTS = ["127.0.0.1", "localhost", "[::1]", *env.hosts(_env, public_url=NOTIFYOPS_PUBLIC_URL)]
CSRF_TRUSTED_ORIGINS = env.origins(NOTIFYOPS_PUBLIC_URL)
INSTALLED_APPS = [
    "notifications",  # before django_q and the rest: its qcluster, migrate and flush stand in front of theirs
    "reviews",
    "django_q",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django_htmx",
    "django_filters",
    "csp",
    "axes",
    "django_otp",
    "django_otp.plugins.otp_totp",
    "django_otp.plugins.otp_static",
]
INSTALLED_APPS += own_apps.named(_env, ours=INSTALLED_APPS)
MIDDLEWARE = [
    "csp.middleware.CSPMiddleware",  # outermost, so that static files and errors carry it as well
    "notifyops.headers.middleware",
    "notifyops.proxy.middleware",  # before all that ask who the client is, or whether it came by TLS
    "notifications.api.problems.middleware",  # before all that may answer an error below /api/v1 in its own words
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "reviews.zone.Zone",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django_otp.middleware.OTPMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "reviews.signin.gate.Gate",
    "axes.middleware.AxesMiddleware",  # last, as it asks for
]
_CONTEXT: Final = (
    "django.template.context_processors.request",
    "django.contrib.auth.context_processors.auth",
    "django.contrib.messages.context_processors.messages",
    "django.template.context_processors.i18n",
    "reviews.theme.context",
    "reviews.zone.context",
)
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {"context_processors": list(_CONTEXT)},
    }
]
ROOT_URLCONF = "notifyops.urls"
ASGI_APPLICATION = "notifyops.asgi.application"
WSGI_APPLICATION = "notifyops.wsgi.application"
LOGIN_URL = "/login/"
LOGIN_REDIRECT_URL = "/reviews/"
LOGOUT_REDIRECT_URL = "/login/"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("UserAttributeSimilarityValidator", "MinimumLengthValidator", "CommonPasswordValidator")
]
# Five wrong passwords for one name from one address, then a quarter of an hour of rest.
AXES_FAILURE_LIMIT = 5
AXES_COOLOFF_TIME = timedelta(minutes=15)
NOTIFYOPS_SECOND_FACTOR = safety.second_factor(_env, site_mode=NOTIFYOPS_SITE_MODE)
# How old the second factor may be when a lead does what cannot be taken back.
NOTIFYOPS_STEP_UP_S = _env.whole("NOTIFYOPS_STEP_UP_S", 900, low=30, high=86_400)
NOTIFYOPS_SESSION_IDLE_S = _env.whole("NOTIFYOPS_SESSION_IDLE_S", 7200, low=60, high=604_800)
SESSION_COOKIE_AGE = NOTIFYOPS_SESSION_S = _env.whole("NOTIFYOPS_SESSION_S", 43_200, low=60, high=1_209_600)
NOTIFYOPS_TRUSTED_PROXIES = proxy.trusted(_env)
# Who may read /metrics from elsewhere.
NOTIFYOPS_METRICS_TOKEN = _env.secret("NOTIFYOPS_METRICS_TOKEN", pattern=r"[!-~]{16,200}", allowed="16 to 200 signs")
# Cookies, headers, TLS, and the apps that lock logins and check codes: each named in safety.py.
globals().update(
    safety.settings(site=NOTIFYOPS_SITE, site_mode=NOTIFYOPS_SITE_MODE, is_behind_proxy=bool(NOTIFYOPS_TRUSTED_PROXIES))
)
LANGUAGES = [("en", "English"), ("zh-hans", "简体中文")]
LANGUAGE_CODE = NOTIFYOPS_LANGUAGE = _env.choice("NOTIFYOPS_LANGUAGE", "en", ("en", "zh-hans"))
LOCALE_PATHS = [BASE_DIR / place / "locale" for place in ("notifications", "reviews", "reviews/signin")]
USE_I18N = True
FORMAT_MODULE_PATH = "notifyops.formats"
USE_TZ = True
TIME_ZONE = "UTC"
STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
WHITENOISE_USE_FINDERS = True  # no collectstatic step to forget
_IS_COMMAND: Final = _env.text("NOTIFYOPS_PROCESS") == "command"
LOGGING = logs.configuration(commands_log=NOTIFYOPS_HOME / "logs" / "commands.log" if _IS_COMMAND else None)

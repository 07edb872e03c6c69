"""What each request passes before its page: the session's age, the second factor, a database that answers."""

from __future__ import annotations

from typing import Any, Final

from django.conf import settings
from django.contrib import admin
from django.contrib.auth import SESSION_KEY, get_user, logout
from django.contrib.auth.models import User
from django.contrib.sessions.backends.db import SessionStore
from django.core.exceptions import PermissionDenied
from django.core.signing import BadSignature, Signer
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils.cache import add_never_cache_headers, patch_vary_headers
from django.utils.deprecation import MiddlewareMixin
from django_otp.middleware import OTPMiddleware

from reviews.access import to_login, to_page, unavailable
from reviews.signin import errors, proof

# Where nobody works before the second factor; all else has its own rule, or none to guard.
GUARDED: Final = ("reviews", "admin")
# The way in and out, and a list of words.
OPEN: Final = frozenset({"admin:login", "admin:logout", "admin:jsi18n"})
# When this browser was last seen; a cookie, since opening a page writes nothing to the database.
SEEN: Final = "seen"
# A new cookie no more than once a minute.
SEEN_STEP_S: Final = 60


class Gate(MiddlewareMixin):
    """Behind the session, the login and the second factor of the request; before its view."""

    def process_view(self, request: HttpRequest, _view: Any, _args: Any, _kwargs: Any) -> HttpResponse | None:
        """Give the page that stands in the way, or None."""
        if settings.SESSION_COOKIE_NAME not in request.COOKIES or request.path_info.startswith("/api/"):
            return None
        if request.resolver_match is None or request.resolver_match.url_name in ("healthz", "readyz", "metrics"):
            return None
        try:
            return self._judge(request)
        except (OperationalError, InterfaceError) as error:
            return unavailable(request, error)

    def _judge(self, request: HttpRequest) -> HttpResponse | None:
        if not request.user.is_authenticated:
            return None
        if is_over(request):
            logout(request)
            return to_login(request) if is_guarded(request) else None
        proof.mark(request)
        request.has_person = True  # type: ignore[attr-defined]
        if is_guarded(request) and proof.is_wanted(request):
            return to_page(request, "second_factor")
        if _namespace(request) == "admin" and not admin.site.has_permission(request):
            # Django's own answer is its login, which leads who is logged in back here, for ever.
            raise PermissionDenied
        if not is_guarded(request):
            return None
        is_change = request.method not in ("GET", "HEAD", "OPTIONS") and _namespace(request) == "admin"
        if is_change and not proof.is_recent(request.user):
            # What was typed stays in the page before this one.
            return render(request, "signin/again.html", {"back": request.get_full_path()}, status=403)
        return None

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """Say 503 in words where the database failed under any page that has no words of its own."""
        if isinstance(error, OperationalError | InterfaceError) and not request.path_info.startswith("/api/"):
            return unavailable(request, error)
        return None

    def process_response(self, request: HttpRequest, answer: HttpResponseBase) -> HttpResponseBase:
        """Note that the browser was seen; keep what is for a person's eyes, and fragments, out of shared caches."""
        answer = errors.in_words(request, answer)
        if not is_guarded(request):
            return answer
        if isinstance(answer, HttpResponse):
            patch_vary_headers(answer, ("HX-Request",))
            if not answer.has_header("Cache-Control"):
                add_never_cache_headers(answer)
        if getattr(request, "has_person", False) and _is_awake(request) and request.user.is_authenticated:
            _note_seen(request, answer)
        return answer


def begin(sender: type[User], request: HttpRequest, user: User, **_more: Any) -> None:
    """Write into a session that has just begun when that was, and whether it is to show a second factor first."""
    from reviews.signin import devices

    request.session[proof.BEGAN] = proof.now()
    request.session.pop(proof.SHOWN, None)
    request.session[proof.WANTED] = devices.has_one(user)


def is_guarded(request: HttpRequest) -> bool:
    """Tell whether the address belongs to the console or the admin."""
    match = getattr(request, "resolver_match", None)
    return match is not None and _namespace(request) in GUARDED and match.view_name not in OPEN


def is_over(request: HttpRequest) -> bool:
    """Tell whether the session is too old, or was not used for too long."""
    began, now = request.session.get(proof.BEGAN), proof.now()
    if not isinstance(began, int) or now - began > settings.NOTIFYOPS_SESSION_S:
        return True
    return bool(now - max(began, _seen_at(request)) > settings.NOTIFYOPS_SESSION_IDLE_S)


def still_stands(request: HttpRequest, permission: str) -> bool:
    """Judge anew, from the database, whether the person of an answer that goes on may have it; writes nothing.

    The session may be over or gone, the password changed, the person switched off, the permission withdrawn.
    """
    again = HttpRequest()
    again.COOKIES = request.COOKIES
    again.session = SessionStore(request.session.session_key)
    again.user = get_user(again)
    OTPMiddleware(lambda _request: HttpResponse())(again)
    if not again.user.is_authenticated or is_over(again) or proof.is_wanted(again):
        return False
    return again.user.has_perm(permission)


def _namespace(request: HttpRequest) -> str:
    match = request.resolver_match
    return match.namespaces[0] if match is not None and match.namespaces else ""


def _is_awake(request: HttpRequest) -> bool:
    """Tell whether a person asked, and not a page by itself: what htmx fetches may be polled, and a stream goes on."""
    is_quiet = request.headers.get("HX-Request") == "true" and request.method == "GET"
    return not is_quiet and "text/event-stream" not in request.headers.get("Accept", "")


def _signer(request: HttpRequest) -> Signer:
    # Good for this login alone; not for its key, which changes when the second factor is shown.
    return Signer(salt=f"reviews.signin.seen:{request.session.get(SESSION_KEY)}:{request.session.get(proof.BEGAN)}")


def _seen_at(request: HttpRequest) -> int:
    try:
        return int(_signer(request).unsign(request.COOKIES.get(SEEN, "")))
    except (BadSignature, ValueError):
        return 0


def _note_seen(request: HttpRequest, answer: HttpResponseBase) -> None:
    now = proof.now()
    if now - _seen_at(request) >= SEEN_STEP_S:
        answer.set_cookie(
            SEEN, _signer(request).sign(str(now)), max_age=settings.NOTIFYOPS_SESSION_S,
            secure=settings.SESSION_COOKIE_SECURE, httponly=True, samesite="Lax",
        )  # fmt: skip

"""What every answer carries, whoever gives it: a page, an error, a file, a refusal before Django has begun."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from inspect import iscoroutinefunction
from typing import Any, Final

from django.http import HttpRequest, HttpResponseBase
from django.utils.decorators import sync_and_async_middleware

# The content policy: nothing inline, nothing from elsewhere, nobody frames us.
POLICY: Final[dict[str, list[str]]] = {
    "default-src": ["'none'"],
    "script-src": ["'self'"],
    "style-src": ["'self'"],
    "connect-src": ["'self'"],
    "img-src": ["'self'", "data:"],
    "font-src": ["'self'"],
    "form-action": ["'self'"],
    "base-uri": ["'none'"],
    "frame-ancestors": ["'none'"],
}
# Django writes some of these itself, on the answers that reach its middlewares; where one stands it is left alone.
ALWAYS: Final[dict[str, str]] = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": (
        "accelerometer=(), camera=(), display-capture=(), geolocation=(), gyroscope=(), magnetometer=(), "
        "microphone=(), midi=(), payment=(), publickey-credentials-get=(), usb=()"
    ),
}
Answer = Callable[[HttpRequest], Any]


def policy() -> str:
    """Give the content policy as one header."""
    return "; ".join(f"{name} {' '.join(sources)}" for name, sources in POLICY.items())


@sync_and_async_middleware
def middleware(get_response: Answer) -> Answer:
    """Add what is missing; the outermost but one, so that errors and static files carry it as well."""
    if iscoroutinefunction(get_response):

        async def later(request: HttpRequest) -> HttpResponseBase:
            waiting: Awaitable[HttpResponseBase] = get_response(request)
            return _completed(await waiting)

        return later

    def now(request: HttpRequest) -> HttpResponseBase:
        return _completed(get_response(request))

    return now


def _completed(answer: HttpResponseBase) -> HttpResponseBase:
    for name, value in ALWAYS.items():
        answer.headers.setdefault(name, value)
    return answer

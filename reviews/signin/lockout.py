"""What whoever gave too many wrong passwords sees; the counting is django-axes', by name and address together."""

from __future__ import annotations

import logging
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import add_never_cache_headers

log = logging.getLogger(__name__)


def page(request: HttpRequest, _answer: HttpResponse | None, _credentials: dict[str, Any] | None) -> HttpResponse:
    """Answer 429 in words. It is the same for names that nobody has, and for right passwords too."""
    log.warning("login locked", extra={"action": "login_locked", "path": request.path})
    rest = int(settings.AXES_COOLOFF_TIME.total_seconds())
    answer = render(request, "signin/locked.html", {"minutes": -(-rest // 60)}, status=429)
    answer["Retry-After"] = str(rest)
    add_never_cache_headers(answer)
    return answer


def address(request: HttpRequest) -> str | None:
    """Give the client's address, as the proxy middleware has left it; None by a UNIX socket without a proxy."""
    return request.META.get("REMOTE_ADDR") or None


def nobody(*_about: Any) -> str:
    """Give what django-axes' own log lines call a client: they say neither name nor address."""
    return "a client"

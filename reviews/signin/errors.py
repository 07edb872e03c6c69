"""Django's own error pages name the person in their head: where the database cannot say who that is, 503 it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.urls import Resolver404, resolve, reverse
from django.utils.cache import add_never_cache_headers
from django.views import defaults

from reviews.access import unavailable

# They answer programs, which read no page.
_FOR_PROGRAMS: Final = frozenset({"healthz", "readyz", "metrics"})


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Give the page for 403: who one is, that it is not for this account, and the way to come as somebody else."""
    back = request.get_full_path() if request.method in ("GET", "HEAD") else reverse("reviews:queue")
    facts = {"back": back, "is_admin": request.path_info.startswith("/admin/")}
    return _given(request, lambda: render(request, "403.html", facts, status=403))


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Give the page for 404."""
    return _given(request, lambda: defaults.page_not_found(request, exception))


def in_words(request: HttpRequest, answer: HttpResponseBase) -> HttpResponseBase:
    """Give a bare 405 words and a way back, such as where somebody typed the address that a form sends to."""
    if answer.status_code != 405 or not isinstance(answer, HttpResponse) or answer.content:
        return answer
    match = request.resolver_match
    if match is None or match.url_name in _FOR_PROGRAMS or request.path_info.startswith("/api/"):
        return answer
    if request.method == "HEAD" or request.headers.get("HX-Request") == "true":
        return answer
    facts = {"back": request.path if "GET" in answer.get("Allow", "") else way_up(request.path)}
    page = _given(request, lambda: render(request, "405.html", facts, status=405))
    page["Allow"] = answer.get("Allow", "")
    add_never_cache_headers(page)
    return page


def way_up(path: str) -> str:
    """Give the relative way to the nearest page above an address; it names nothing, so that it tells nothing either."""
    above, steps = path.rstrip("/").rpartition("/")[0] + "/", int(path.endswith("/"))
    while above != "/" and not _is_page(above):
        above, steps = above.rstrip("/").rpartition("/")[0] + "/", steps + 1
    return "../" * steps or "./"


def _is_page(path: str) -> bool:
    try:
        resolve(path)
    except Resolver404:
        return False
    return True


def _given(request: HttpRequest, page: Callable[[], HttpResponse]) -> HttpResponse:
    try:
        return page()
    except (OperationalError, InterfaceError) as error:
        return unavailable(request, error)

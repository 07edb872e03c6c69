"""Django's own error pages name the person in their head: where the database cannot say who that is, 503 it is."""

from __future__ import annotations

from collections.abc import Callable

from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.views import defaults

from reviews.access import unavailable


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Give the page for 403."""
    return _given(request, lambda: defaults.permission_denied(request, exception))


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Give the page for 404."""
    return _given(request, lambda: defaults.page_not_found(request, exception))


def _given(request: HttpRequest, page: Callable[[], HttpResponse]) -> HttpResponse:
    try:
        return page()
    except (OperationalError, InterfaceError) as error:
        return unavailable(request, error)

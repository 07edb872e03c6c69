"""Who may see a console page, and what stands there when the database is slow or away."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, Final, ParamSpec
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.db import InterfaceError, OperationalError, transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import resolve_url
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _

from reviews.standing import Standing, read_standing

P = ParamSpec("P")
View = Callable[Concatenate[HttpRequest, P], HttpResponse]
PageView = Callable[Concatenate[HttpRequest, Standing, P], HttpResponse]

_QUERY_CANCELED: Final = "57014"
_NO_HTMX_SWAP: Final = "text/plain; charset=utf-8"


def login_needed(view: View[P]) -> View[P]:
    """Send strangers to the login, and answer 503 in words where the database does not answer in time.

    htmx follows a redirect silently and would put the login into the page: it is told to load the page instead.
    """

    @wraps(view)
    def wrapped(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        try:
            if request.user.is_authenticated:
                return view(request, *args, **kwargs)
            return _to_login(request)
        except (OperationalError, InterfaceError) as error:
            return _unavailable(request, error)

    return wrapped


def console_page(view: PageView[P]) -> View[P]:
    """Let those in who may see cases; read the header's facts and the page in one transaction of bounded statements."""

    @wraps(view)
    def wrapped(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        if not request.user.has_perm("reviews.view_case"):
            raise PermissionDenied
        with transaction.atomic():
            return view(request, read_standing(), *args, **kwargs)

    return wrapped


def _to_login(request: HttpRequest) -> HttpResponse:
    page = _full_page(request)
    if request.headers.get("HX-Request") != "true":
        return redirect_to_login(page)
    login = f"{resolve_url(settings.LOGIN_URL)}?{urlencode({'next': page})}"
    return HttpResponse(status=401, headers={"HX-Redirect": login})


def _full_page(request: HttpRequest) -> str:
    """Give the page to come back to: never the address of a fragment or a verb."""
    shown = urlsplit(request.headers.get("HX-Current-URL", ""))
    if shown.path.startswith("/reviews/"):
        return f"{shown.path}?{shown.query}" if shown.query else shown.path
    if request.method in ("GET", "HEAD"):
        return request.get_full_path()
    intent_id = (request.resolver_match.kwargs if request.resolver_match else {}).get("intent_id")
    return reverse("reviews:case", args=[intent_id]) if intent_id is not None else reverse("reviews:queue")


def _unavailable(request: HttpRequest, error: Exception) -> HttpResponse:
    """Say 503 without asking the database for anything; never show an empty table instead."""
    if getattr(error.__cause__, "sqlstate", None) == _QUERY_CANCELED:
        sentence = _("This list is too broad to read within a second: add a filter.")
    else:
        sentence = _("The database does not answer. Nothing was changed; try again in a moment.")
    headers = {"Retry-After": "5", "Cache-Control": "no-store"}
    if request.headers.get("HX-Request") == "true":
        return HttpResponse(sentence, status=503, headers=headers, content_type=_NO_HTMX_SWAP)
    page = render_to_string("503.html", {"sentence": sentence, "again": request.get_full_path()})
    return HttpResponse(page, status=503, headers=headers)

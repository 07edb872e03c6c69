"""Who may see a console page, and what stands there when the database is slow or away."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
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
from django.utils.cache import patch_vary_headers
from django.utils.http import urlencode
from django.utils.translation import gettext as _

from notifications.live import sse
from notifications.live.hub import HUB
from reviews import theme
from reviews.replies import END_OF_POLLING
from reviews.standing import Standing, read_standing

P = ParamSpec("P")
View = Callable[Concatenate[HttpRequest, P], HttpResponse]
PageView = Callable[Concatenate[HttpRequest, Standing, P], HttpResponse]

# A statement that took too long, and a lock that was not to be had.
_TOOK_TOO_LONG: Final = ("57014", "55P03")
# Asked for by pages that wait, not by a click.
POLLED: Final = frozenset({"answers", "outcome", "beat", "bulk", "live"})
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
            return to_login(request)
        except (OperationalError, InterfaceError) as error:
            return unavailable(request, error)

    return wrapped


def console_page(view: PageView[P]) -> View[P]:
    """Let those in who may see cases; read the header's facts and the page in one transaction of bounded statements."""

    @wraps(view)
    def wrapped(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        if not request.user.has_perm("reviews.view_case"):
            raise PermissionDenied
        mark = HUB.mark()  # before anything is read
        with transaction.atomic():
            return view(request, replace(read_standing(), mark=mark), *args, **kwargs)

    return wrapped


def to_login(request: HttpRequest) -> HttpResponse:
    """Lead to the login, and from there back to the page."""
    return to_page(request, settings.LOGIN_URL)


def to_page(request: HttpRequest, place: str) -> HttpResponse:
    """Lead to a page, named or by its address, that leads back to this one. Nothing that was asked for is done."""
    page = _full_page(request)
    if sse.wanted(request):
        # A stream that follows to a page of HTML is an error in the browser; this one ends, and its page asks why.
        return HttpResponse(status=204, headers={"Vary": "Accept, Cookie"})
    if request.headers.get("HX-Request") != "true":
        answer: HttpResponse = redirect_to_login(page, resolve_url(place))
    elif request.resolver_match and request.resolver_match.url_name in POLLED:
        # Nobody clicked: the page keeps what was typed in it, and the next click leads on.
        answer = HttpResponse(status=END_OF_POLLING, headers={"HX-Reswap": "none"})
    else:
        there = f"{resolve_url(place)}?{urlencode({'next': page})}"
        answer = HttpResponse(status=401, headers={"HX-Redirect": there})
    patch_vary_headers(answer, ("HX-Request",))
    return answer


def _full_page(request: HttpRequest) -> str:
    """Give the page to come back to: never the address of a fragment or a verb."""
    shown = urlsplit(request.headers.get("HX-Current-URL", ""))
    if shown.path.startswith("/reviews/"):
        return f"{shown.path}?{shown.query}" if shown.query else shown.path
    if request.method in ("GET", "HEAD"):
        return request.get_full_path()
    if request.path_info.startswith("/admin/"):
        return request.path
    intent_id = (request.resolver_match.kwargs if request.resolver_match else {}).get("intent_id")
    return reverse("reviews:case", args=[intent_id]) if intent_id is not None else reverse("reviews:queue")


def unavailable(request: HttpRequest, error: Exception) -> HttpResponse:
    """Say 503 without asking the database for anything; never show an empty table instead."""
    is_slow = getattr(error.__cause__, "sqlstate", None) in _TOOK_TOO_LONG
    if is_slow and request.method not in ("GET", "HEAD"):
        sentence = _(
            "The database took too long, perhaps since somebody else holds this. Nothing was changed; try again."
        )
    elif is_slow:
        sentence = _(
            "This list is too broad to read within a second: add a narrower filter, such as a code, a type or an ID."
        )
    else:
        sentence = _("The database does not answer. Nothing was changed; try again in a moment.")
    headers = {"Retry-After": "5", "Cache-Control": "no-store"}
    if request.headers.get("HX-Request") == "true":
        return HttpResponse(sentence, status=503, headers=headers, content_type=_NO_HTMX_SWAP)
    facts = {"sentence": sentence, "again": request.get_full_path(), **theme.context(request)}
    page = render_to_string("503.html", facts)
    return HttpResponse(page, status=503, headers=headers)

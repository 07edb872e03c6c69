"""`/reviews/live`: a stream of hints for a page that is open, and the small answer to what is new for it."""

from __future__ import annotations

from functools import partial
from typing import Final, cast

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.cache import add_never_cache_headers, patch_vary_headers
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from notifications.live import hub, seats, sse
from reviews import news
from reviews.access import console_page, login_needed
from reviews.live_sources import CASES, SITE
from reviews.person import from_user
from reviews.signin import gate
from reviews.standing import Standing

_TOPICS: Final = frozenset({CASES, SITE})
_MAY: Final = "reviews.view_case"


@require_GET
@login_needed
def live(request: HttpRequest) -> HttpResponse:
    """Give the stream where the browser asks for one, else what is new for the page that the query names."""
    answer = _stream(request) if sse.wanted(request) else _news(request)
    patch_vary_headers(answer, ("Accept",))
    return answer


def _stream(request: HttpRequest) -> HttpResponse:
    """Open a stream: 204 where this server has none, 429 or 503 where there is no room; the page then asks instead."""
    if not request.user.has_perm(_MAY):
        raise PermissionDenied
    if not sse.can_stream(request):
        return HttpResponse(status=204)
    try:
        seat = hub.HUB.seat(str(request.user.pk))
    except seats.Full as full:
        return _refused(full)
    except hub.Ending:
        return _plain(_("The server is about to end."), 503)
    listener = sse.Listener(_TOPICS, partial(gate.still_stands, request, _MAY), sse.after(request))
    return cast("HttpResponse", sse.answer(sse.Stream(seat, listener)))  # all that is done with it is to hand it on


def _refused(full: seats.Full) -> HttpResponse:
    if full.is_own:
        said = _("You have %(n)d live pages open already; this one asks every 20 seconds instead.")
    else:
        said = _("%(n)d live pages are open on this server already; this one asks every 20 seconds instead.")
    return _plain(said % {"n": full.most}, 429 if full.is_own else 503)


def _plain(sentence: str, status: int) -> HttpResponse:
    headers = {"Retry-After": "120", "Cache-Control": "no-store"}
    return HttpResponse(sentence, status=status, headers=headers, content_type="text/plain; charset=utf-8")


@console_page
def _news(request: HttpRequest, standing: Standing) -> HttpResponse:
    """Say in a sentence and in numbers what is new since the page was read: 400 where the query names no page."""
    try:
        asked = news.read_asked(request.GET)
    except news.Unreadable:
        return _plain(_("The query names no page of the console."), 400)
    answer = JsonResponse(news.read(asked, standing, from_user(request.user)))
    add_never_cache_headers(answer)
    return answer

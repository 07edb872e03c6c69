"""The pages of a plan and of a run in bulk, and what a person says of them. No GET changes anything."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import urlencode
from uuid import UUID, uuid4

from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from notifications.models import Run
from reviews import groups_page, listing, news, queue, times
from reviews.access import console_page, login_needed
from reviews.bulk import deeds, follow, limits, order, page, plan
from reviews.person import from_user
from reviews.refusals import Refused, UnreadableForm
from reviews.replies import fragment_or_page, wants_fragment
from reviews.standing import Standing, read_standing

logger = logging.getLogger(__name__)
_NUMBER: Final = re.compile(r"[0-9]{1,18}")
_DO: Final = re.compile(r"(retry|close)-(selected|all)")


@require_safe
@login_needed
@console_page
def groups(request: HttpRequest, standing: Standing) -> HttpResponse:
    """List what is in review by error code and account."""
    found = groups_page.read(standing)
    return fragment_or_page(request, "groups", found | {"live": news.of_groups(found["groups"])})


@require_http_methods(["GET", "HEAD", "POST"])
@login_needed
def new(request: HttpRequest) -> HttpResponse:
    """Offer a plan for what a filter matches; a POST makes it, and leads to its page."""
    if request.method != "POST":
        return _offer(request, _given(request.GET))
    try:
        wish, person = _wish(request.POST), from_user(request.user)
        with deeds.refusals_kept("plan", person), transaction.atomic():
            bulk = plan.make(wish, person, read_standing().now)
    except Refused as refused:
        _log_refused(request, refused)
        return _offer(request, _given(QueryDict(request.POST.get("query", ""))), refused=refused)
    code = request.POST.get("reason_code", "")
    here = reverse("reviews:bulk", args=[bulk.pk])
    return _see(f"{here}?{urlencode({'reason_code': code})}" if code in order.REASONS[bulk.verb] else here)


@console_page
def _offer(
    request: HttpRequest, standing: Standing, query: QueryDict, *, refused: Refused | None = None
) -> HttpResponse:
    """Show the filter in words, how many it matches now, and what may be planned for them."""
    kept = plan.kept_query(query.urlencode())
    found: dict[str, Any] = {"standing": standing, "query": kept, "token": str(uuid4()), "refused": refused}
    try:
        filters = plan.filter_of(kept, standing.now, from_user(request.user).identity)
        count = queue.count_capped(filters.cases())
        found |= {"chips": listing.chips(filters, QueryDict(kept)), "counted": count}
        found["count"] = f"{queue.COUNT_CAP:,}+" if count > queue.COUNT_CAP else f"{count:,}"
    except Refused as unreadable:
        found["refused"] = refused or unreadable
        found["problems"] = listing.problems_of(plan.asked_of(kept, standing.now))
    found["most"] = most = limits.limit_of(from_user(request.user))
    # A plan takes no more than the person may decide together; the count itself is capped above all that anybody may.
    found["planned"] = min(found.get("counted", 0), most)
    found["reason_code"] = request.GET.get("reason_code", "")
    status = found["refused"].status if found["refused"] else 200
    return fragment_or_page(request, "bulk_new", found, status=status)


def _given(query: QueryDict) -> QueryDict:
    given = query.copy()
    given.pop("reason_code", None)
    return given


def _wish(data: QueryDict) -> plan.Wish:
    """Read the form of the queue or of the offer. Raises UnreadableForm."""
    said = _DO.fullmatch(data.get("do", ""))
    ids = [one for one in data.getlist("id") if _NUMBER.fullmatch(one)]
    if said is None or len(ids) != len(data.getlist("id")):
        raise UnreadableForm
    if said[2] == "selected":
        return plan.Wish(said[1], _uuid(data), tuple(map(int, ids)))
    return plan.Wish(said[1], _uuid(data), query=data.get("query", ""))


@require_safe
@login_needed
@console_page
def show(request: HttpRequest, standing: Standing, bulk_id: int) -> HttpResponse:
    """Show a plan, or how far its run is; htmx asks again and again, and says what it shows."""
    return _page(request, standing, bulk_id)


@require_POST
@login_needed
def start(request: HttpRequest, bulk_id: int) -> HttpResponse:
    """Order the plan to be carried out: 303 to its page. A refusal keeps what was typed."""
    data = request.POST
    said = order.Start(
        token=_uuid(data),
        reason_code=data.get("reason_code", ""),
        reason=data.get("reason", ""),
        rate=_whole(data, "rate"),
        canary=_whole(data, "canary"),
        max_bad=_whole(data, "max_bad"),
        typed=data.get("typed", ""),
    )
    person = from_user(request.user)
    try:
        with deeds.refusals_kept("start", person, bulk_id), transaction.atomic():
            bulk, is_new = order.start(bulk_id, said, person, read_standing().now)
    except Refused as refused:
        return _refused(request, bulk_id, refused)
    if not is_new:
        at = times.clock(bulk.since) if bulk.since else ""
        notice = _("Already started by you at %(at)s; nothing was started twice.") % {"at": at}
        return _after(request, bulk_id, notice=notice)
    messages.success(request, _("Ordered. A worker begins within seconds; what comes of it shows below."))
    return _see(reverse("reviews:bulk", args=[bulk_id]))


@require_POST
@login_needed
def steer(request: HttpRequest, bulk_id: int, word: str) -> HttpResponse:
    """Pause, resume or cancel a run: 303 back to its page, which says what came of it."""
    if word not in ("pause", "resume", "cancel"):
        raise Http404
    person = from_user(request.user)
    try:
        with deeds.refusals_kept(word, person, bulk_id), transaction.atomic():
            is_done = order.steer(bulk_id, word, person, read_standing().now)
    except Refused as refused:
        return _refused(request, bulk_id, refused)
    if is_done:
        messages.success(request, _("Done. What was ordered already stays ordered."))
    else:
        messages.warning(request, _("Nothing was changed: this run is not in a state for that any more."))
    return _see(reverse("reviews:bulk", args=[bulk_id]))


def _refused(request: HttpRequest, bulk_id: int, refused: Refused) -> HttpResponse:
    _log_refused(request, refused)
    if refused.status == 404:
        raise Http404
    return _after(request, bulk_id, refused=refused, typed=request.POST)


@console_page
def _after(request: HttpRequest, standing: Standing, /, bulk_id: int, **told: Any) -> HttpResponse:
    return _page(request, standing, bulk_id, **told)


def _page(request: HttpRequest, standing: Standing, bulk_id: int, **told: Any) -> HttpResponse:
    try:
        bulk = order.find(bulk_id)
    except Refused as unknown:
        raise Http404 from unknown
    found = page.read(bulk, from_user(request.user), standing, request.GET)
    typed = told.get("typed") or {"reason_code": request.GET.get("reason_code", ""), "rate": "5", "max_bad": "20"}
    status = told["refused"].status if told.get("refused") else 200
    found |= told | {"typed": typed, "plain_query": _plain(request.GET)}
    found["bad"] = told["refused"].field if told.get("refused") else ""
    shown = request.GET.get("shown", "")
    if bulk.run is None or not shown or not wants_fragment(request):
        return fragment_or_page(request, "bulk", found, status=status)
    return _followed(request, bulk.run, found, shown)


def _followed(request: HttpRequest, run: Run, found: dict[str, Any], shown: str) -> HttpResponse:
    """Give an open page what is new: 204 where nothing is, the progress while the run goes on, and else the whole."""
    if follow.is_progress_alone(run, shown):
        return fragment_or_page(request, "bulk_progress", found)
    if shown == found["shown"]:
        return HttpResponse(status=204)
    answer = fragment_or_page(request, "bulk", found)
    answer["HX-Retarget"] = "#bulk"
    return answer


def _plain(query: QueryDict) -> str:
    plain = query.copy()
    plain.pop("shown", None)
    return plain.urlencode()


def _log_refused(request: HttpRequest, refused: Refused) -> None:
    words = {"action": "bulk_refused", "by": from_user(request.user).name, "why": refused.word}
    logger.warning("bulk refused: %s", refused.word, extra=words)


def _see(url: str) -> HttpResponse:
    response = HttpResponseRedirect(url)
    response.status_code = 303
    return response


def _uuid(data: QueryDict) -> UUID | None:
    return _read(UUID, data.get("action_token", ""))


def _whole(data: QueryDict, name: str) -> int | None:
    given = data.get(name, "")
    return int(given) if _NUMBER.fullmatch(given) else None


def _read(kind: Callable[[str], UUID], given: str) -> UUID | None:
    try:
        return kind(given)
    except ValueError:
        return None

"""The console's pages and its verbs. Each view: permission → fetch → action → page or fragment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST, require_safe

from reviews import actions, case, listing, news, overview
from reviews.access import console_page, login_needed
from reviews.forms import Typed, read_order, typed_in
from reviews.person import from_user
from reviews.refusals import Refused, UnknownCase
from reviews.replies import (
    END_OF_POLLING,
    back_to,
    fragment_or_page,
    queue_query,
    queue_url,
    remember_queue,
    wants_fragment,
)
from reviews.standing import Standing


@require_safe
@login_needed
@console_page
def queue(request: HttpRequest, standing: Standing) -> HttpResponse:
    """Show the queue: what needs review, by what stops being safe first."""
    return remember_queue(request, queue_page(request, standing, request.GET))


def queue_page(
    request: HttpRequest,
    standing: Standing,
    query: QueryDict,
    told: Mapping[str, Any] | None = None,
    *,
    status: int = 200,
) -> HttpResponse:
    """Give the queue that the query filters; `told` is what a form on it came to."""
    found = listing.read(query, standing, from_user(request.user))
    more = {"live": news.of_queue(query, found), "overview": overview.read(standing, found)}
    return fragment_or_page(request, "queue", found | more | dict(told or {}), status=status)


@require_safe
@login_needed
@console_page
def show(request: HttpRequest, standing: Standing, intent_id: int) -> HttpResponse:
    """Show one case, whatever its state."""
    return _case_page(request, standing, intent_id)


@require_safe
@login_needed
@console_page
def answers(request: HttpRequest, standing: Standing, intent_id: int) -> HttpResponse:
    """Give a page that waits the provider's answer and what it allows: 204 until then, and 286 ends the waiting."""
    if not wants_fragment(request):
        return redirect("reviews:case", intent_id)
    if case.awaits_answer(intent_id, standing):
        return HttpResponse(status=204)
    try:
        found = case.read(intent_id, from_user(request.user), standing)
    except UnknownCase as unknown:
        raise Http404 from unknown
    return fragment_or_page(request, "news", found, status=END_OF_POLLING)


@require_safe
@login_needed
@console_page
def outcome(request: HttpRequest, standing: Standing, intent_id: int) -> HttpResponse:
    """Give a page that waits for an attempt the case anew: 204 until that has ended, and 286 ends the waiting."""
    if not wants_fragment(request):
        return redirect("reviews:case", intent_id)
    if case.is_moving(intent_id, standing):
        return HttpResponse(status=204)
    return _case_page(request, standing, intent_id, Told(case.moved_notice(intent_id, standing)), status=END_OF_POLLING)


@require_POST
@sensitive_post_parameters("address")
@login_needed
def decide(request: HttpRequest, intent_id: int, verb: str) -> HttpResponse:
    """Carry out one verb: 303 back to the page, or the case anew for htmx. A refusal keeps what was typed.

    The action itself checks the permission, and records who was refused.
    """
    try:
        done = actions.perform(verb, intent_id, read_order(request.POST), from_user(request.user))
    except UnknownCase as unknown:
        raise Http404 from unknown
    except Refused as refused:
        typed = typed_in(verb, request.POST, refused)
        return _after(request, intent_id, Told(refused=refused, typed=typed))
    if done.repeated or wants_fragment(request):
        return _after(request, intent_id, Told(case.done_notice(done)))
    return back_to(request, intent_id, case.done_notice(done))


@dataclass(frozen=True, slots=True)
class Told:
    """What a decision's answer says above the case: that it was done, or why not."""

    notice: str = ""
    refused: Refused | None = None
    typed: Typed | None = None


@console_page
def _after(request: HttpRequest, standing: Standing, intent_id: int, told: Told) -> HttpResponse:
    """Show the case as it is now, after a decision or its refusal."""
    return _case_page(request, standing, intent_id, told)


def _case_page(
    request: HttpRequest, standing: Standing, intent_id: int, told: Told | None = None, *, status: int = 200
) -> HttpResponse:
    told = told or Told()
    try:
        found = case.read(intent_id, from_user(request.user), standing, told.typed)
    except UnknownCase as unknown:
        raise Http404 from unknown
    found["live"] = news.of_case(found["intent"])
    found |= {"notice": told.notice, "refused": told.refused, "queue_url": queue_url(request)}
    found["queue_query"] = queue_query(request).urlencode()
    return fragment_or_page(request, "case", found, status=told.refused.status if told.refused else status)

"""Pages and verbs of several people at one queue: next, neighbours, presence, saved views."""

from __future__ import annotations

import re
from typing import Any, Final

from django.contrib import messages
from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from notifications.models import Intent
from reviews import handing, holds, saved_views
from reviews.access import console_page, login_needed
from reviews.forms import read_order
from reviews.person import from_user
from reviews.refusals import Refused
from reviews.replies import queue_query, queue_url
from reviews.standing import Standing, read_standing
from reviews.views import queue_page

# Room for 200 pasted IDs.
_LONGEST_QUERY: Final = 60_000
# Django refuses to redirect to more than 16,384 characters.
_LONGEST_REDIRECT: Final = 16_000
_NUMBER: Final = re.compile(r"[0-9]{1,18}")


@require_POST
@login_needed
def take_next(request: HttpRequest) -> HttpResponse:
    """Take the next free case of the list that the form names: 303 to it, or back to the queue where none is free."""
    query, leaving = _query(request), request.POST.get("leaving", "")
    try:
        number = int(leaving) if _NUMBER.fullmatch(leaving) else None
        done = handing.take_next(query, read_order(request.POST), from_user(request.user), number)
    except Refused as refused:
        return _back(request, query, refused=refused)
    if done is None:
        messages.warning(request, _("No free case matches this list: others have what is left, or nothing is left."))
        return _see(_queue(query))
    if not done.repeated:
        messages.success(request, _("Taken: the case is yours for 15 minutes, and longer while you work on its page."))
    return _see(reverse("reviews:case", args=[done.intent_id]))


@require_safe
@login_needed
@console_page
def neighbour(request: HttpRequest, standing: Standing, intent_id: int, way: str) -> HttpResponse:
    """Lead to the case before or behind this one in the queue as this browser saw it last; take nothing."""
    intent = Intent.objects.filter(pk=intent_id).first()
    if intent is None:
        raise Http404
    try:
        found = handing.neighbour(intent, queue_query(request), from_user(request.user), backwards=way == "before")
    except Refused:
        found = None
    if found is not None:
        return HttpResponseRedirect(reverse("reviews:case", args=[found]))
    messages.info(
        request,
        _("The list ends here: there is no case before this one.")
        if way == "before"
        else _("The list ends here: there is no case behind this one."),
    )
    return HttpResponseRedirect(queue_url(request))


@require_POST
@login_needed
def beat(request: HttpRequest, intent_id: int) -> HttpResponse:
    """Note that this person has the case open, renew what is theirs, and say who else is there."""
    if not request.user.has_perm("reviews.view_case"):
        raise PermissionDenied
    person = from_user(request.user)
    with transaction.atomic():
        now = read_standing().now
        if not Intent.objects.filter(pk=intent_id).exists():
            raise Http404
        holds.beat(intent_id, person, now)
        context = {"others": holds.others_at(intent_id, person, now), "is_beat": True}
        held = holds.of(intent_id)
    if held is not None and held.stands(now):
        context |= {"held": held, "is_mine": not held.keeps_out(person, now)}
    return render(request, "reviews/_present.html", context)


@require_POST
@login_needed
def save_view(request: HttpRequest) -> HttpResponse:
    """Keep the list of the form's query under a name: 303 back to it. A refusal shows the list with what was typed."""
    query = _query(request)
    share = request.POST.get("share") == "yes"
    try:
        view = saved_views.save(request.POST.get("name", ""), query.urlencode(), from_user(request.user), share=share)
    except Refused as refused:
        if refused.status == 403:
            raise PermissionDenied(str(refused.sentence)) from None
        told = {"refused": refused, "bad": refused.field, "typed_name": request.POST.get("name", ""), "shared": share}
        return _not_saved(request, query, told)
    messages.success(request, _("Saved as “%(name)s”.") % {"name": view.name})
    return _see(view.url)


@console_page
def _not_saved(request: HttpRequest, standing: Standing, query: QueryDict, told: dict[str, Any]) -> HttpResponse:
    return queue_page(request, standing, query, told, status=told["refused"].status)


@require_POST
@login_needed
def delete_view(request: HttpRequest, view_id: int) -> HttpResponse:
    """Delete a view: 303 back to the queue."""
    query = _query(request)
    try:
        name = saved_views.delete(view_id, from_user(request.user))
    except saved_views.UnknownView as unknown:
        raise Http404 from unknown
    except Refused as refused:
        return _back(request, query, refused=refused)
    messages.success(request, _("The view “%(name)s” is deleted; no case has changed.") % {"name": name})
    return _see(_queue(query))


def _query(request: HttpRequest) -> QueryDict:
    """Give the list that the form is about; never a part of it, which would be another list."""
    text = request.POST.get("query", "")
    if len(text) > _LONGEST_QUERY:
        raise SuspiciousOperation("the form's query is longer than any address of the queue")
    return QueryDict(text)


def _back(request: HttpRequest, query: QueryDict, *, refused: Refused) -> HttpResponse:
    """Lead back with the sentence that says why not; who lacks the permission gets 403."""
    if refused.status == 403:
        raise PermissionDenied(str(refused.sentence))
    messages.error(request, str(refused.sentence))
    return _see(_queue(query))


def _queue(query: QueryDict) -> str:
    """Give the list's address; the whole queue's where it is longer than a redirect may be."""
    text = query.urlencode()
    is_sendable = text and len(text) < _LONGEST_REDIRECT
    return f"{reverse('reviews:queue')}?{text}" if is_sendable else reverse("reviews:queue")


def _see(url: str) -> HttpResponse:
    response = HttpResponseRedirect(url)
    response.status_code = 303
    return response

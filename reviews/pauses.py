"""The page of pauses: what is not sent now, and the plain forms by which a lead pauses, resumes or closes a circuit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.cache import add_never_cache_headers
from django.utils.functional import Promise
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_POST, require_safe

from notifications.models import NotificationTypeRow, Pause, ProviderAccount
from notifications.pausing import PauseRefused, close_circuit, pause, resume, standing
from notifications.policy.reasons import MAX_REASON, MIN_REASON
from reviews import times
from reviews.access import console_page, login_needed
from reviews.deed_words import PAUSE_REASONS
from reviews.person import from_user
from reviews.refusals import NotProven, Sentence
from reviews.standing import Standing
from reviews.words import PAUSED

MAY_PAUSE: Final = "notifications.pause_sending"
MAY_CLOSE: Final = "notifications.change_provideraccount"
NEWEST: Final = 20
SCOPES: Final[dict[str, Promise]] = {
    "type": _("a notification type"),
    "workspace": _("a workspace"),
    "account": _("a provider account"),
}
# Of a pause that stands or is over nothing is explained below.
REASONS: Final[dict[str, Sentence]] = {**PAUSE_REASONS, "other": _("Another reason, explained below")}
# The spans on offer, in minutes; the longest is the longest that there may be.
SPANS: Final = (15, 60, 120, 240, 480, 720, 1440)


@require_safe
@login_needed
@console_page
def show(request: HttpRequest, standing: Standing) -> HttpResponse:
    """Show what is paused and what was, with the forms for those who may use them."""
    return _page(request, standing)


@require_POST
@login_needed
def begin(request: HttpRequest) -> HttpResponse:
    """Pause what the form names: 303 back to the page, or the page with the sentence that says what to mend."""
    given = request.POST
    minutes = given.get("minutes", "")
    span = timedelta(minutes=int(minutes)) if minutes.isascii() and minutes.isdigit() and len(minutes) < 6 else None

    def work() -> Promise:
        reason = given.get("reason_code", ""), given.get("reason", "")
        name = given.get("name", "").strip()
        made = pause(given.get("scope", ""), name, span=span or timedelta(), reason=reason, actor=_actor(request))
        return format_lazy(_("Paused until {until}."), until=times.clock(made.ends_at, "%Y-%m-%d %H:%M"))

    return _done(request, MAY_PAUSE, work)


@require_POST
@login_needed
def end(request: HttpRequest, pause_id: int) -> HttpResponse:
    """End a pause before its time."""

    def work() -> Promise:
        resume(pause_id, reason=request.POST.get("reason", ""), actor=_actor(request))
        return _("Resumed. What is due goes out within a second.")

    return _done(request, MAY_PAUSE, work)


@require_POST
@login_needed
def close(request: HttpRequest, account_id: int) -> HttpResponse:
    """Close an account's circuit, so that it is called again."""
    if not request.user.has_perm(MAY_CLOSE):  # before it is looked up: who may not learns nothing
        raise PermissionDenied
    account = ProviderAccount.objects.filter(pk=account_id).first()
    if account is None:
        raise Http404

    def work() -> Promise:
        close_circuit(account, reason=request.POST.get("reason", ""), actor=_actor(request))
        return _("The account is called again, slowly at first.")

    return _done(request, MAY_CLOSE, work)


def _done(request: HttpRequest, permission: str, work: Callable[[], Promise]) -> HttpResponse:
    if not request.user.has_perm(permission):
        raise PermissionDenied
    try:
        if not from_user(request.user).is_proven:
            raise NotProven
        told = work()
    except (PauseRefused, NotProven) as refused:
        return _refused(request, refused)
    messages.success(request, str(told))
    response = HttpResponseRedirect(reverse("reviews:pauses"))
    response.status_code = 303
    return response


@console_page
def _refused(request: HttpRequest, standing: Standing, refused: PauseRefused | NotProven) -> HttpResponse:
    """Show the page anew; what was typed stays, and the field at fault says so in its own form."""
    found = request.resolver_match.kwargs if request.resolver_match else {}
    form = next(((kind, number) for kind, number in found.items()), ("pause", 0))
    typed = request.POST if form[0] == "pause" else {}
    bad = {"bad_form": form[0], "bad_number": form[1], "bad": refused.field, "again": request.POST.get("reason", "")}
    bad["bad_of_pause"] = refused.field if form[0] == "pause" else ""
    return _page(request, standing, refused=refused, typed=typed, status=422, **bad)


def _page(request: HttpRequest, now: Standing, *, status: int = 200, **more: Any) -> HttpResponse:
    typed: Mapping[str, str] = more.get("typed", {})
    over = Pause.objects.order_by("-pk").exclude(resumed_at__isnull=True, ends_at__gt=now.now)
    context = {
        "standing": now,
        "pauses": [_told(one) for one in standing(now.now)],
        "over": [_told(one) for one in over[:NEWEST]],
        "may_pause": request.user.has_perm(MAY_PAUSE),
        "may_close": request.user.has_perm(MAY_CLOSE),
        "scopes": SCOPES.items(),
        "reasons": REASONS.items(),
        "spans": [(minutes, _span(minutes)) for minutes in SPANS],
        "names": [*_names(NotificationTypeRow), *_names(ProviderAccount)],
        "least": MIN_REASON,
        "most": MAX_REASON,
        **more,
        "typed": typed,
    }
    response = render(request, "reviews/pauses.html", context, status=status)
    add_never_cache_headers(response)
    return response


@dataclass(frozen=True, slots=True)
class Told:
    """A pause, and the words for what is paused and why."""

    pause: Pause
    what: Sentence
    why: Sentence


def _told(pause: Pause) -> Told:
    return Told(pause, PAUSED[pause.scope], PAUSE_REASONS[pause.reason_code])


def _names(model: type[NotificationTypeRow | ProviderAccount]) -> list[str]:
    return list(model._default_manager.order_by("name").values_list("name", flat=True))


def _span(minutes: int) -> str | Promise:
    if minutes < 60:
        return format_lazy(_("{n} minutes"), n=minutes)
    return _("1 hour") if minutes == 60 else format_lazy(_("{n} hours"), n=minutes // 60)


def _actor(request: HttpRequest) -> str:
    return from_user(request.user).name

"""Long work on pages: what ran, how far it is, and a lead's word to pause or cancel it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe

from notifications import run_wishes, works
from notifications.models import Run, RunItem
from notifications.models.run import UNFINISHED
from reviews.access import console_page, login_needed
from reviews.bulk.models import BulkRun
from reviews.bulk.order import KIND
from reviews.bulk.words import MIXED
from reviews.person import from_user
from reviews.replies import fragment_or_page, wants_fragment
from reviews.standing import Standing
from reviews.words import RUNS, VERBS, Badge

SHOWN: Final = 50
STEER: Final = "notifications.steer_run"


@require_safe
@login_needed
@console_page
def index(request: HttpRequest, standing: Standing) -> HttpResponse:
    """List the newest runs."""
    runs = list(Run.objects.order_by("-pk")[:SHOWN])
    short = works.shortfalls([run.pk for run in runs])
    names = _names(runs)
    newest = [_told(run, short.get(run.pk, {})) | {"title": names.get(run.pk, run.title)} for run in runs]
    return fragment_or_page(request, "runs", {"standing": standing, "runs": newest, "limit": SHOWN})


@require_safe
@login_needed
@console_page
def show(request: HttpRequest, standing: Standing, run_id: int) -> HttpResponse:
    """Show one run; htmx fetches its progress again and again while it is running."""
    run = Run.objects.filter(pk=run_id).first()
    if run is None:
        raise Http404
    if run.kind == KIND:
        return redirect("reviews:bulk", int(run.key))
    items = list(RunItem.objects.filter(run=run).order_by("place")[:SHOWN])
    may = {"may_pause": run.state == "running", "may_cancel": run.state in UNFINISHED}
    found = {"standing": standing, "told": _told(run, {}), "items": items, "limit": SHOWN}
    found |= may if request.user.has_perm(STEER) else {}
    if not wants_fragment(request) or run.state == "running":
        return fragment_or_page(request, "run", found)
    # It does not go on: what may be said of it goes with its progress.
    answer = fragment_or_page(request, "run_whole", found)
    answer["HX-Retarget"] = "#run"
    return answer


@require_POST
@login_needed
def steer(request: HttpRequest, run_id: int, word: str) -> HttpResponse:
    """Ask a run to pause or to cancel: 303 back to its page, which says what came of it."""
    if not request.user.has_perm(STEER):
        raise PermissionDenied
    if word not in ("pause", "cancel") or not Run.objects.filter(pk=run_id).exists():
        raise Http404
    if run_wishes.wish(run_id, word, from_user(request.user).name):
        messages.success(request, _("Asked. A step that has begun is finished first, and what is done stays done."))
    else:
        messages.warning(request, _("Nothing was changed: this run is not in a state for that any more."))
    response = HttpResponseRedirect(reverse("reviews:run", args=[run_id]))
    response.status_code = 303
    return response


def _names(runs: list[Run]) -> dict[int, str]:
    """Name the runs in bulk as their own pages do: a run keeps what it was called where it was ordered."""
    verbs = BulkRun.objects.filter(run__in=[run.pk for run in runs if run.kind == KIND])
    name = _("%(verb)s in bulk, number %(n)s")
    found = verbs.values_list("run_id", "verb", "pk")
    return {run_id: name % {"verb": VERBS[verb], "n": number} for run_id, verb, number in found if run_id is not None}


def _told(run: Run, short: Mapping[str, int]) -> dict[str, Any]:
    """Give a run with its badge, and how far it is: None where the whole is not known.

    `short`: what of it did not come to what was ordered, by what became of it.
    """
    run.failed_count += short.get("came_back", 0)  # shown, never saved
    done = run.done_count + run.step_done_count
    share = None if not run.total_count else min(100, 100 * done // run.total_count)
    return {"run": run, "badge": _badge(run, short), "share": share, "counts": sorted(run.tally.items())}


def _badge(run: Run, short: Mapping[str, int]) -> Badge:
    if run.state == "done" and short:
        return MIXED
    if run.state == "done" and run.failed_count:
        word = ngettext("Done, %(count)d failed", "Done, %(count)d failed", run.failed_count)
        return Badge(word % {"count": run.failed_count}, "triangle-alert", "warn")
    return RUNS[run.state]

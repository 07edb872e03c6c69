"""The words of plans and runs in bulk. *Ordered* is not *accepted*, and that is not *delivered*."""

from __future__ import annotations

from typing import Final

from django.utils.translation import gettext_lazy as _

from notifications.models import Run
from reviews.bulk import judge
from reviews.bulk.models import BulkRun
from reviews.hints import meaning
from reviews.refusals import Sentence
from reviews.words import ENTRIES, RUNS, Badge

OUTCOMES: Final[dict[str, Badge]] = {
    "left": Badge(_("Left"), "clock", "calm"),
    "released": Badge(_("Ordered, outcome not known yet"), "loader", "busy"),
    "accepted": Badge(_("Accepted by provider"), "check", "good"),
    "delivered": Badge(_("Delivered"), "check-check", "good"),
    "came_back": Badge(_("Accepted, and came back"), "undo-2", "bad"),
    "closed": Badge(_("Closed"), "archive", "good"),
    "failed": Badge(_("Failed again"), "x", "bad"),
    "skipped": Badge(_("Skipped"), "skip-forward", "warn"),
    "moved": Badge(_("Moved by somebody else"), "users-round", "warn"),
    "excluded": Badge(_("Not in the run"), "ban", "calm"),
}
VERBS: Final[dict[str, Sentence]] = {"retry": _("Retry"), "close": _("Close")}
RISKS: Final[dict[str, Sentence]] = {"none": _("none"), "low": _("low")}
_STOPPED: Final[dict[str, Sentence]] = {
    "rule:outcomes": _("It paused by its stop rule: too many of the last outcomes were bad. Look at these first."),
    "rule:site": _(
        "It paused by itself: this database was restored or copied. Let the recovery end, then look at what is left."
    ),
    "rule:breaker": _("It paused by its stop rule: a provider account that it needs is not called now."),
}
_FAILED: Final[dict[str, Sentence]] = {
    "not_permitted": _("It stopped: who ordered it may not do so any more. Another person can plan what is left."),
}
_PLANNED: Final = Badge(_("Planned, nothing is done yet"), "clipboard-list", "calm")
MIXED: Final = Badge(_("Ended, and not all of it went well"), "triangle-alert", "warn")


def badge(bulk: BulkRun, *, is_clean: bool) -> Badge:
    """Give how a run stands. `is_clean`: every case of it came to what was ordered."""
    if bulk.run is None:
        return _PLANNED
    if bulk.run.state == "done" and not is_clean:
        return MIXED
    return RUNS[bulk.run.state]


def why_stopped(run: Run | None) -> Sentence:
    """Say why a run does not go on, where it was no person's wish."""
    if run is None or run.state in ("running", "done", "cancelled"):
        return ""
    if run.state == "failed":
        return _FAILED.get(run.code, _("It stopped by a fault, which stands in the log of the workers."))
    return _STOPPED.get(run.wished_by, "")


def why(outcome: str, code: str) -> Sentence:
    """Say why a case was left out, skipped, or did not come to what was ordered."""
    if outcome in ("excluded", "skipped"):
        return judge.why(code)
    if outcome == "moved":
        return ENTRIES.get(code, code)
    return meaning(code) or code

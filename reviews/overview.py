"""Whether everything is all right, in one line above the queue: delivery, what waits for a person, what runs out."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext_lazy

from notifications.policy.overall import Overall, overall
from notifications.policy.windows import Protection
from reviews import hints
from reviews.refusals import Sentence
from reviews.standing import Standing
from reviews.words import Badge


@dataclass(frozen=True, slots=True)
class Overview:
    """`delivery` and `waiting` in a word each; `soonest` is when the next key stops protecting, `left` until then."""

    delivery: Badge
    why: Sentence
    waiting: Badge | None
    soonest: datetime | None
    left: Sentence


def read(standing: Standing, facts: dict[str, Any]) -> Overview:
    """Judge by what the page has read already: no query. `facts` are those of `listing.read`.

    What waits is told where the list is the whole queue; what runs out first, where its first page is shown as well.
    """
    delivery, why = _delivery(standing)
    is_whole = not facts["chips"] and not facts["problems"]
    is_first = is_whole and not facts["previous_url"] and facts["sort"] == "safe"
    soonest = next((row.intent.safe_until for row in facts["rows"] if row.protection == Protection.OPEN), None)
    if not is_first:
        soonest = None
    left = hints.span(soonest - standing.now) if soonest else ""
    return Overview(delivery, why, _waiting(facts) if is_whole else None, soonest, left)


def _delivery(standing: Standing) -> tuple[Badge, Sentence]:
    """The worst that holds decides, by the judgement that `notify status` has as well."""
    found = overall(
        workers=standing.workers_alive,
        circuits=len(standing.circuits),
        pauses=len(standing.pauses),
        mode=standing.mode,
        troubled=bool(standing.trouble),
    )
    if found is Overall.STANDS_STILL:
        why = _("see above") if standing.trouble else _("no worker is alive")
        return Badge(_("Delivery stands still"), "circle-x", "bad"), why
    if found is Overall.HELD_UP:
        count = len(standing.circuits)
        why = ngettext_lazy("%(n)d provider account is not called", "%(n)d provider accounts are not called", count)
        return Badge(_("Delivery is held up"), "triangle-alert", "bad"), why % {"n": count}
    if found is Overall.OFF:
        return Badge(_("Delivery is off"), "power-off", "calm"), _("the site mode is off")
    if found is Overall.PAUSED:
        why = ngettext_lazy("%(n)d pause holds a part of it", "%(n)d pauses hold a part of it", len(standing.pauses))
        return Badge(_("Delivery is paused in part"), "pause", "warn"), why % {"n": len(standing.pauses)}
    return Badge(_("Delivery runs"), "circle-check", "good"), _("workers are alive, every account is called")


def _waiting(facts: dict[str, Any]) -> Badge:
    if not facts["counted"]:
        return Badge(_("Nothing waits for a person"), "circle-check", "good")
    word = ngettext_lazy("%(count)s case waits for a person", "%(count)s cases wait for a person", facts["counted"])
    return Badge(word % {"count": facts["count"]}, "inbox", "warn")

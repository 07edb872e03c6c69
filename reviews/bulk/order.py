"""Starting, pausing, resuming and cancelling a bulk run: what a person says of it. The worker only carries it out."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.db.models.functions import Now
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from notifications import run_wishes
from notifications.models import Run
from notifications.models.run import UNFINISHED
from reviews.bulk import deeds, limits, outcomes
from reviews.bulk.models import RATES, BulkRun
from reviews.person import UNREAD, Person
from reviews.reasons import CODES, check_reason, no_such_reason
from reviews.refusals import ChangedMeanwhile, NotAllowedNow, NotPermitted, NotProven, Refused, UnknownCase

KIND: Final = "bulk"
# A plan is about cases as they were: after an hour most of its list would be skipped.
GOOD_FOR: Final = timedelta(hours=1)
# A run may rest over a night and no longer: letting it go on orders what is left, for the reason of the first day.
RESUMED_FOR: Final = timedelta(days=1)
# From this many on the number is typed.
TYPED_ABOVE: Final = limits.FEW
CANARIES: Final = range(1, 201)
STOPS: Final = (5, 10, 20, 50)
# Evidence is about one message, fresh for minutes, and used once: no reason for many.
REASONS: Final = {
    "retry": tuple(code for code in CODES["retry"] if code != "evidence_not_sent"),
    "close": CODES["close"],
}


class NotConfirmed(Refused):
    """The order lacks the token of its plan's page, or the number that this page asks for."""

    word = "not_confirmed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """What the plan's form says. None stands for what could not be read."""

    token: UUID | None
    reason_code: str = ""
    reason: str = ""
    rate: int | None = 5
    canary: int | None = 5
    max_bad: int | None = 20
    typed: str = ""


def start(bulk_id: int, said: Start, person: Person, now: datetime) -> tuple[BulkRun, bool]:
    """Order the plan to be carried out; tell whether it was ordered by now, and not by this form before.

    The caller has opened the transaction. Raises Refused, and writes nothing then.
    """
    bulk = find(bulk_id, lock=True)
    if bulk.actor != person.name:
        raise NotPermitted(_("Only who made this plan may start it: plan it anew in your own name."))
    if said.token is None or said.token != bulk.start_token:
        raise NotConfirmed(_("This order does not come from the plan's page: open the plan, and start it there."))
    if bulk.run_id is not None:
        return bulk, False
    limits.check(bulk.verb, person, bulk.eligible_count)
    if bulk.eligible_count > limits.FEW and not person.is_proven:
        raise NotProven
    _check(bulk, said, now)
    bulk.reason_code, bulk.reason = _checked_reason(bulk, said)
    bulk.rate, bulk.canary, bulk.max_bad = said.rate or 0, said.canary or 0, said.max_bad or 0
    bulk.since = now
    # Nobody works on it yet: the first start makes the epoch 1.
    title = f"bulk {bulk.pk}: {bulk.verb} {bulk.eligible_count} cases ({bulk.reason_code})"
    bulk.run = Run.objects.create(
        kind=KIND, key=str(bulk.pk), title=title, started_by=person.name, epoch=0, total_count=bulk.eligible_count
    )
    bulk.save(update_fields=["reason_code", "reason", "rate", "canary", "max_bad", "since", "run"])
    how = {"cases": bulk.eligible_count, "rate": bulk.rate, "canary": bulk.canary, "max_bad": bulk.max_bad}
    why = {"reason_code": bulk.reason_code, "reason": bulk.reason}
    deeds.keep("start", bulk, person, token=bulk.start_token, after=how, **why)
    return bulk, True


def _check(bulk: BulkRun, said: Start, now: datetime) -> None:
    _check_site()
    if now - bulk.planned_at > GOOD_FOR:
        raise ChangedMeanwhile(_("This plan is more than an hour old: make a new one, the cases may have moved since."))
    if not bulk.eligible_count:
        raise NotAllowedNow(_("No case of this plan is eligible: there is nothing to start."), word="none_chosen")
    if bulk.eligible_count > TYPED_ABOVE and said.typed.strip().replace(",", "") != str(bulk.eligible_count):
        sentence = _("Type the number {count}, to be sure that you mean so many cases.")
        raise NotConfirmed(format_lazy(sentence, count=bulk.eligible_count), field="typed")
    if said.rate not in RATES:
        rates = format_lazy(_("Choose a rate of: {rates} a second."), rates=", ".join(map(str, RATES)))
        raise NotAllowedNow(rates, word="bounds", field="rate")
    if said.canary not in CANARIES or said.max_bad not in STOPS:
        raise NotAllowedNow(
            format_lazy(
                _("Choose a canary of 1 to {most} cases, and a stop above {stops} percent."),
                most=CANARIES[-1],
                stops=", ".join(map(str, STOPS)),
            ),
            word="bounds",
            field="max_bad" if said.canary in CANARIES else "canary",
        )


def _checked_reason(bulk: BulkRun, said: Start) -> tuple[str, str]:
    if said.reason_code and said.reason_code not in REASONS[bulk.verb]:
        raise no_such_reason(REASONS[bulk.verb])
    return check_reason(bulk.verb, said.reason_code, said.reason)


def steer(bulk_id: int, word: str, person: Person, now: datetime) -> bool:
    """Pause, resume or cancel a run; tell whether there was one to do that with. Raises Refused.

    The caller has opened the transaction.
    """
    bulk = find(bulk_id, lock=True)
    if not limits.may_steer(bulk, person):
        raise NotPermitted(_("Only who ordered this run, or a lead, may stop it or let it go on."))
    if bulk.run is None:
        return False
    before = {"run": bulk.run.state}
    is_done = (
        _resumed(bulk, bulk.run.pk, person, now)
        if word == "resume"
        else run_wishes.wish(bulk.run.pk, word, person.name)
    )
    if is_done:
        deeds.keep(word, bulk, person, before=before)
    return is_done


def _resumed(bulk: BulkRun, run_id: int, person: Person, now: datetime) -> bool:
    _check_resumed(bulk, person, now)
    resting = Run.objects.filter(pk=run_id, state__in=[state for state in UNFINISHED if state != "running"])
    going = {"state": "running", "code": "", "wish": "", "wished_by": person.name, "beat_at": Now(), "ended_at": None}
    is_resumed = bool(resting.update(**going))
    if is_resumed:
        # What went wrong before was looked at: the canary begins anew, and the stop rule counts from here.
        BulkRun.objects.filter(pk=bulk.pk).update(since=now)
    return is_resumed


def _check_resumed(bulk: BulkRun, person: Person, now: datetime) -> None:
    """Ask for what a start asks: whoever lets a run go on orders the cases that are left."""
    limits.check(bulk.verb, person, bulk.eligible_count)
    if bulk.eligible_count > limits.FEW and not person.is_proven:
        raise NotProven
    if now - bulk.planned_at > RESUMED_FOR:
        raise ChangedMeanwhile(_("The plan of this run is more than a day old: cancel it, and plan what is left anew."))
    _check_site()


def _check_site() -> None:
    """Refuse what a worker would pause at once."""
    if outcomes.site_trouble():
        sentence = _("This database was restored or copied, or is another site's: its recovery comes first.")
        raise NotAllowedNow(sentence, word="site")


# The cluster reads it too, whose login sees nothing of how people log in.
_READ: Final = BulkRun.objects.select_related("run", "user").defer(*(f"user__{field}" for field in UNREAD))


def find(bulk_id: int, *, lock: bool = False) -> BulkRun:
    """Give the plan or run. Raises UnknownCase."""
    # Beside the rows that a batch adds under it: nobody waits here for a worker's transaction.
    rows = BulkRun.objects.select_for_update(no_key=True) if lock else _READ
    found = rows.filter(pk=bulk_id).first()
    if found is None:
        raise UnknownBulk
    return found


class UnknownBulk(UnknownCase):
    """There is no such plan or run."""

    def __init__(self) -> None:
        Refused.__init__(self, _("There is no such plan or run; check its number."))

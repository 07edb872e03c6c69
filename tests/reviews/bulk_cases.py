"""Bulk runs in a test: planned and started as people do it, and carried out here as the cluster does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection, transaction

from notifications.cli import seed
from notifications.models import Intent
from notifications.states import NextAction, Outcome, State
from reviews.bulk import carry, order, plan
from reviews.bulk.models import BulkItem, BulkRun
from reviews.person import Person, from_user
from reviews.reading import now
from tests.reviews.cases import NOT_SENT, go_on, make_case, make_person


def who(name: str) -> Person:
    """Give one of the people, made where there is none yet."""
    return from_user(User.objects.filter(username=name).first() or make_person(name))


def make_cases(count: int, steps: Any = NOT_SENT, **story: Any) -> list[Intent]:
    """Make like cases."""
    return [make_case(steps, **story) for _ in range(count)]


def planned(cases: Sequence[Intent] = (), name: str = "lena", verb: str = "retry", query: str | None = None) -> BulkRun:
    """Plan for these cases, or for all that the filter matches."""
    wish = plan.Wish(verb, uuid4(), tuple(case.pk for case in cases), query)
    with transaction.atomic():
        return plan.make(wish, who(name), now())


def started(bulk: BulkRun, name: str = "lena", **said: Any) -> BulkRun:
    """Start a plan; what is not said is a reason that fits, a rate of 200, a canary of five."""
    code = "provider_recovered" if bulk.verb == "retry" else "duplicate"
    given: dict[str, Any] = {
        "token": bulk.start_token,
        "reason_code": code,
        "rate": 200,
        "typed": str(bulk.eligible_count),
    } | said
    with transaction.atomic():
        return order.start(bulk.pk, order.Start(**given), who(name), now())[0]


def steered(bulk: BulkRun, word: str, name: str = "lena") -> bool:
    with transaction.atomic():
        return order.steer(bulk.pk, word, who(name), now())


def carried(bulk: BulkRun, until: Callable[[], bool] = lambda: False) -> BulkRun:
    """Let this process carry the run on as a worker of the cluster, until it ends or `until` says so."""
    with role("worker"):
        carry.carry(bulk.pk, until)
    return BulkRun.objects.select_related("run").get(pk=bulk.pk)


@contextmanager
def role(name: str) -> Iterator[None]:
    """Be another role in the block: what a worker carries out, no web process may, and the other way round."""
    before = str(connection.settings_dict["USER"])
    connection.close()
    connection.settings_dict["USER"] = settings.NOTIFYOPS_ROLES[name]
    try:
        yield
    finally:
        connection.close()
        connection.settings_dict["USER"] = before


def outcomes(bulk: BulkRun) -> dict[str, int]:
    """Count the cases of a run by what became of them."""
    found: dict[str, int] = {}
    for outcome in BulkItem.objects.filter(bulk=bulk).values_list("outcome", flat=True):
        found[outcome] = found.get(outcome, 0) + 1
    return found


ACCEPTS = seed.attempt(Outcome.ACCEPTED, None, State.ACCEPTED, http_status=200)
FAILS = seed.attempt(Outcome.NOT_SENT, "not_sent.dns", State.NEEDS_REVIEW, failure=None,
                     next_action=NextAction.RETRY_SAME_KEY)  # fmt: skip


class Provider:
    """Plays the loop that makes the ordered attempts: a run asks it each time whether it must be let go of.

    Of the `fails` first ones it makes failures. `seen` are the intents in the order of their attempts.
    """

    def __init__(self, bulk: BulkRun, *, fails: int = 0, then: Callable[[Provider], bool] = lambda _: False) -> None:
        self.bulk, self.fails, self.then = bulk, fails, then
        self.seen: list[int] = []
        self.most_waiting = 0

    def __call__(self) -> bool:
        released = BulkItem.objects.filter(bulk=self.bulk, outcome="released")
        due = Intent.objects.filter(pk__in=released.values("intent_id"), state="retry").order_by("pk")
        self.most_waiting = max(self.most_waiting, len(due))
        for intent in due:
            self.seen.append(intent.pk)
            claim, result = FAILS if len(self.seen) <= self.fails else ACCEPTS
            if result.facts["to_state"] == State.ACCEPTED:
                result = seed.Step(result.kind, {**result.facts, "provider_message_id": f"made-up-{intent.pk}"})
            go_on(intent, seed.Step(claim.kind, claim.facts), result)
        return self.then(self)

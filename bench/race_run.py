"""Races decisions in the role that its environment names: cases made by the door, two threads a pair; prints JSON."""

from __future__ import annotations

import json
import sys
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final
from uuid import uuid4

import django

_TEXT: Final = "Looked at it together with the owner."
_REASONS: Final = {
    "retry": "code_fixed",
    "close": "duplicate",
    "reopen": "new_information",
    "approve": "content_checked",
    "adopt": "evidence_found",
    "decline": "no_longer_needed",
    "withdraw": "sent_in_error",
}
# Two remarks are two remarks, and each lead may take a case from the other: raced by the same form alone.
_SAME_FORM: Final = ("note", "take_over")
# They move no case.
_STILL: Final = ("note", "query", "take", "release", "take_over")


@dataclass(frozen=True, slots=True)
class Raced:
    """One pair: the verb, the case as it stood before, and what the two heard."""

    verb: str
    before: Any
    answers: tuple[str, str]


def main(argv: list[str]) -> int:
    """Race as many pairs as the command line says, and count."""
    django.setup()
    from reviews.models import VERBS

    people, pairs = _people(), int(argv[0])
    with ThreadPoolExecutor(2) as pool:
        raced = [
            _race(pool, VERBS[n % len(VERBS)], people, has_same_form=n // len(VERBS) % 2 == 0) for n in range(pairs)
        ]
    done = [_done(one) for one in raced]
    answers = Counter(answer for one in raced for answer in one.answers)
    verbs, doubled, undone = len({one.verb for one in raced}), sum(n > 1 for n in done), sum(n < 1 for n in done)
    print(json.dumps({"pairs": pairs, "verbs": verbs, "doubled": doubled, "undone": undone, "answers": answers}))
    return 0


def _race(pool: ThreadPoolExecutor, verb: str, people: list[Any], *, has_same_form: bool) -> Raced:
    from reviews import actions
    from reviews.refusals import Refused

    before, line = _case(verb, people[0]), threading.Barrier(2)
    has_same_form = has_same_form or verb in _SAME_FORM
    orders = [_order(verb, before)] * 2 if has_same_form else [_order(verb, before), _order(verb, before)]
    who = [people[0]] * 2 if has_same_form else people

    def decide(n: int) -> str:
        line.wait(timeout=30)
        try:
            return "repeated" if actions.perform(verb, before.pk, orders[n], who[n]).repeated else "done"
        except Refused as refused:
            return refused.word

    first, second = pool.map(decide, range(2))
    return Raced(verb, before, (first, second))


def _done(one: Raced) -> int:
    """Count how often it was done, by the record and by the log; the larger counts."""
    from notifications.models import Intent, LogEntry
    from reviews.models import Note, Review

    about = {"intent_id": one.before.pk}
    kept = Note.objects.filter(**about) if one.verb == "note" else Review.objects.filter(
        **about, action=one.verb, seq_seen=one.before.seq, outcome="done")  # fmt: skip
    moves = LogEntry.objects.filter(**about, seq__gt=one.before.seq).exclude(kind="evidence").count()
    heirs = Intent.objects.filter(supersedes_id=one.before.pk).count()
    return max(kept.count(), 0 if one.verb in _STILL else moves, heirs)


def _people() -> list[Any]:
    from django.contrib.auth.models import Group, User

    from reviews.person import from_user

    for name in ("lena", "bob"):
        person, _is_new = User.objects.get_or_create(username=name)
        person.groups.add(Group.objects.get(name="Leads"))
    return [from_user(User.objects.get(username=name)) for name in ("lena", "bob")]


def _order(verb: str, intent: Any) -> Any:
    from reviews.record import Order

    return Order(
        token=uuid4(), seq=intent.seq, reason_code=_REASONS.get(verb, ""), reason=_TEXT, confirmed=True,
        address="bea@example.com" if verb == "correct" else "", typed=intent.report_id, minutes=15,
    )  # fmt: skip


def _case(verb: str, person: Any) -> Any:
    """Make a case in which the verb is allowed."""
    from notifications.cli import seed
    from notifications.models import Intent
    from notifications.states import DeliveryStatus, Found, Known, NextAction
    from reviews import actions
    from reviews.person import from_host

    bounced = seed.receipt(DeliveryStatus.BOUNCED, Known.BOUNCED, NextAction.CORRECT_ADDRESS)
    steps = {
        "query": seed.unknown_thrice(),
        "adopt": (*seed.window_over(), *seed.contradiction(f"one-{uuid4()}", f"two-{uuid4()}")),
        "correct": seed.accepted(1, bounced),
        "resend": (*seed.window_over(), seed.evidence(Found.INCONCLUSIVE)),
        "approve": (),
        "decline": (),
    }
    kind = "report_approved" if verb in ("approve", "decline") else "report_ready"
    story = seed.Story(f"race-{uuid4()}", steps.get(verb, seed.refused_thrice()), type=kind)
    intent_id = seed.play(story, using="owner", recipient="ana@example.com")
    before = {"resume": "wait", "reopen": "close", "undo": "retry", "release": "take", "take_over": "take"}.get(verb)
    if intent_id is None:
        raise SystemExit("a case of the race was there before")
    if before:
        by = from_host() if verb == "take_over" else person
        actions.perform(before, intent_id, _order(before, Intent.objects.get(pk=intent_id)), by)
    return Intent.objects.get(pk=intent_id)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

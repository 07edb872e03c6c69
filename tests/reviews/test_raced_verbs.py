"""Every verb raced: the same form twice at once, and two people at once, over connections of their own."""

from __future__ import annotations

from functools import partial
from typing import Any
from uuid import uuid4

import pytest

from notifications.cli import seed
from notifications.models import Intent, LogEntry, Question
from reviews.models import VERBS, Note, Review
from tests.reviews import cases
from tests.reviews.cases import login, make_case, post
from tests.reviews.test_permissions import EXPLAINED, MORE, REASON, case_for
from tests.reviews.test_races import all_at_once

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
PAIRS = 3
# Two remarks are two remarks, and each lead may take a case from the other.
EACH_FOR_ITSELF = ("note", "take_over")
HOLDS = ("take", "release", "take_over", "note", "query", "unblock")


def a_case(verb: str) -> Intent:
    """Make a case in which the verb is allowed; no two adopt the same message."""
    if verb != "adopt":
        return case_for(verb, "lena")
    return make_case((*cases.WINDOW_OVER, *seed.contradiction(f"one-{uuid4()}", f"two-{uuid4()}")))


def forms(verb: str, intent: Intent) -> dict[str, Any]:
    more = {"typed": intent.report_id, "confirmed": "yes"} if verb == "resend" else MORE.get(verb, {})
    return {"reason_code": REASON.get(verb, ""), "reason": EXPLAINED, **more}


def assert_done_once(verb: str, before: Intent, *, tries: int) -> None:
    """Say that one decision stands on record, and moved the case once."""
    rows = Review.objects.filter(intent_id=before.pk, action=verb, seq_seen=before.seq, outcome="done")
    done = Note.objects.filter(intent_id=before.pk).count() if verb == "note" else rows.count()
    assert done == 1, (verb, done, tries)
    moves = LogEntry.objects.filter(intent_id=before.pk, seq__gt=before.seq).exclude(kind="evidence").count()
    assert moves == (0 if verb in HOLDS else 1), (verb, moves)
    assert Intent.objects.filter(supersedes_id=before.pk).count() == (1 if verb == "correct" else 0)
    asked = Question.objects.filter(intent_id=before.pk, wanted_at__isnull=False).count()
    assert asked == (1 if verb == "query" else 0)


@pytest.mark.parametrize("verb", VERBS)
def test_the_same_form_twice_at_once_is_one_decision(verb: str) -> None:
    clients = [login("lena"), login("lena")]
    for _ in range(PAIRS):
        intent = a_case(verb)
        token = str(uuid4())
        sent = [partial(post, client, intent, verb, action_token=token, **forms(verb, intent)) for client in clients]
        assert sorted(all_at_once(sent)) == [200, 303], verb
        assert_done_once(verb, intent, tries=2)


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb not in EACH_FOR_ITSELF])
def test_two_people_at_once_are_one_decision_and_one_refusal(verb: str) -> None:
    clients = [login("lena"), login("bob_lead")]
    for _ in range(PAIRS):
        intent = a_case(verb)
        statuses = sorted(all_at_once([partial(post, one, intent, verb, **forms(verb, intent)) for one in clients]))
        assert statuses[0] == 303, (verb, statuses)
        assert statuses[1] in (409, 422), (verb, statuses)
        assert_done_once(verb, intent, tries=2)
        assert Review.objects.filter(intent_id=intent.pk, action=verb, outcome="refused").count() == 1

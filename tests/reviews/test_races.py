"""Double clicks and two people at once, with real connections and the web role."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any
from uuid import uuid4

import pytest
from django.db import connections

from notifications.models import Intent, LogEntry
from reviews.models import ApprovalRequest, Note, Review
from tests.reviews import cases
from tests.reviews.cases import login, make_case, post

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


def all_at_once(calls: Sequence[Callable[[], Any]]) -> list[int]:
    """Run the calls in threads of their own; give the HTTP statuses."""

    def one(call: Callable[[], Any]) -> int:
        try:
            status: int = call().status_code
            return status
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(one, calls))


def test_twenty_posts_of_one_form_are_one_retry() -> None:
    intent = make_case()
    clients = [login("olga") for _ in range(20)]
    token = str(uuid4())
    statuses = all_at_once(
        [partial(post, c, intent, "retry", reason_code="code_fixed", action_token=token) for c in clients]
    )
    assert sorted(statuses) == [200] * 19 + [303]
    assert Review.objects.filter(intent_id=intent.pk).count() == 1
    assert LogEntry.objects.filter(intent_id=intent.pk, kind="retried").count() == 1


def test_twenty_posts_of_one_note_are_one_note() -> None:
    intent = make_case()
    clients = [login("olga") for _ in range(20)]
    token = str(uuid4())
    statuses = all_at_once(
        [partial(post, c, intent, "note", reason="Asked the owner of it.", action_token=token) for c in clients]
    )
    assert sorted(statuses) == [200] * 19 + [303]
    assert Note.objects.filter(intent_id=intent.pk).count() == 1


def test_of_two_people_who_decide_at_once_one_wins_and_the_other_is_told() -> None:
    intent = make_case()
    olga, lena = login("olga"), login("lena")
    statuses = all_at_once(
        [
            lambda: post(olga, intent, "retry", reason_code="code_fixed"),
            lambda: post(lena, intent, "close", reason_code="duplicate"),
        ]
    )
    assert sorted(statuses) == [303, 409]
    assert Intent.objects.get(pk=intent.pk).seq == intent.seq + 1
    assert sorted(Review.objects.filter(intent_id=intent.pk).values_list("outcome", flat=True)) == ["done", "refused"]


def test_one_token_sent_for_two_cases_at_once_decides_one_of_them() -> None:
    first, second = make_case(), make_case()
    clients = [login("olga"), login("olga")]
    token = str(uuid4())
    statuses = all_at_once(
        [
            partial(post, c, i, "close", reason_code="duplicate", action_token=token)
            for c, i in zip(clients, (first, second), strict=True)
        ]
    )
    assert sorted(statuses) == [303, 422]
    states = Intent.objects.filter(pk__in=[first.pk, second.pk]).values_list("state", flat=True)
    assert sorted(states) == ["closed", "needs_review"]


def test_a_retry_that_a_worker_has_taken_cannot_be_undone(as_role) -> None:
    intent = make_case()
    client = login("olga")
    post(client, intent, "retry", reason_code="code_fixed")
    retried = Intent.objects.get(pk=intent.pk)
    with as_role("worker") as worker:
        worker.execute("SET notifyops_test.shift = '10 seconds'")
        taken = worker.execute(
            "SELECT refused FROM notifyops_private.append_v1('claimed', jsonb_build_array(jsonb_build_object("
            "'id', %s::bigint, 'to_state', 'sending', 'delay_s', 60)), worker_ => 'w')",
            [intent.pk],
        ).fetchone()
    assert taken == (None,)
    assert post(client, retried, "undo").status_code == 409
    assert post(client, Intent.objects.get(pk=intent.pk), "undo").status_code == 422
    assert Intent.objects.get(pk=intent.pk).state == "sending"


def test_twenty_posts_of_one_correction_owe_one_notification() -> None:
    intent = make_case(cases.BOUNCED)
    clients = [login("lena") for _ in range(20)]
    fields = {"address": "bea@example.com", "reason": "A letter was missing.", "action_token": str(uuid4())}
    statuses = all_at_once([partial(post, c, intent, "correct", **fields) for c in clients])
    assert sorted(statuses) == [200] * 19 + [303]
    assert Intent.objects.filter(supersedes_id=intent.pk).count() == 1


def test_of_two_leads_who_correct_at_once_one_wins_and_the_other_is_told() -> None:
    intent = make_case(cases.BOUNCED)
    calls: list[Callable[[], Any]] = [
        partial(post, login(name), intent, "correct", address=f"{name}@example.com", reason="A letter was missing.")
        for name in ("lena", "bob_lead")
    ]
    assert sorted(all_at_once(calls)) == [303, 409]
    assert Intent.objects.filter(supersedes_id=intent.pk).count() == 1


def test_of_two_who_confirm_and_decline_at_once_one_wins() -> None:
    intent = make_case(cases.UNDECIDED, "r-1")
    asked = post(login("lena"), intent, "resend", typed="r-1", confirmed="yes", reason="Agreed with the owner.")
    assert asked.status_code == 303
    row = Intent.objects.get(pk=intent.pk)
    statuses = all_at_once(
        [
            partial(post, login("bob_lead"), row, "approve", confirmed="yes"),
            partial(post, login("lena"), row, "decline", reason_code="no_longer_needed"),
        ]
    )
    assert sorted(statuses) == [303, 409]
    outcome = ApprovalRequest.objects.get(intent_id=intent.pk).outcome
    assert (Intent.objects.get(pk=intent.pk).state == "retry") is (outcome == "confirmed")

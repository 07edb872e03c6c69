"""H-CON-3: an operator retries what has used up its attempts. A real call is made, once, and shown as a new attempt."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.db import connection

if TYPE_CHECKING:
    from tests.delivery.workplace import Workplace

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
KEY = "report-ready/demo-001"
ATTEMPTS = "SELECT attempt, trigger, outcome, code FROM notifyops.attempts WHERE id = %s ORDER BY attempt"
LOST = ("auto", "unknown", "resend.500.application_error")


def attempts() -> list[tuple[object, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(ATTEMPTS, [KEY])
        rows: list[tuple[object, ...]] = cursor.fetchall()
        return rows


def deliver(place: Workplace) -> None:
    place.run(place.shop(retry_delays_s=(0.1, 0.2)))


@pytest.mark.parametrize(
    ("recovers", "state", "fourth"),
    [
        (True, "accepted", ("manual", "accepted", "resend.accepted")),
        (False, "needs_review", ("manual", *LOST[1:])),
    ],
    ids=["provider-recovered", "provider-still-down"],
)
def test_a_retry_at_three_of_three_makes_one_real_call(
    place: Workplace, recovers: bool, state: str, fourth: tuple[str, ...]
) -> None:
    from reviews import actions
    from reviews.person import from_user
    from tests.reviews.cases import login, make_person, order

    intent = place.enqueue()
    place.sandbox.fault(kind="status", status=500, times=3 if recovers else None)
    deliver(place)
    row, story = place.intent(intent), place.log(intent)
    assert (row.state, row.attempt_count, row.failure_count, row.failure_limit) == ("needs_review", 3, 3, 3)
    assert [made[1:] for made in attempts()] == [LOST] * 3

    olga = from_user(make_person("olga"))
    actions.perform("retry", intent, order(row, "provider_recovered"), olga)
    place.later(9)  # the time for an undo is over
    deliver(place)

    row = place.intent(intent)
    assert (row.state, row.attempt_count) == (state, 4)
    assert [made[1:] for made in attempts()] == [LOST] * 3 + [fourth]
    assert place.log(intent)[: len(story)] == story
    assert place.kinds(intent)[len(story) :] == ["retried", "claimed", "result"]
    assert place.sandbox.ledger(KEY).http_requests == 4
    assert len({request["body_sha256"] for request in place.sandbox.requests(KEY)}) == 1
    if not recovers:
        # One attempt was bought, and not another ladder of three.
        place.later(3600)
        assert place.turn() == []
        assert (row.known, row.next_action) == ("unknown", "query_provider")
    page = login("olga").get(f"/reviews/{intent}/").content.decode()
    assert "1 of them manual" in page

"""What was decided in the last day, and what came of it: told from the log and not from the order."""

from __future__ import annotations

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from notifications.cli import seed
from notifications.models import Intent
from notifications.states import DeliveryStatus, NextAction, Outcome, State
from tests.reviews import cases
from tests.reviews.cases import go_on, login, make_case
from tests.reviews.deciding import decide, now, put_on

pytestmark = [pytest.mark.django_db(databases=["default", "owner"]), pytest.mark.role("owner")]


def page(query: str = "", who: str = "olga") -> str:
    return str(login(who).get(f"/reviews/watching/{query}").content.decode())


def row_of(intent: Intent, html: str) -> str:
    rows = re.findall(r'<tr role="row">\s*<td.*?</tr>', html, re.DOTALL)
    (found,) = [row for row in rows if f'href="/reviews/{intent.pk}/"' in row]
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", found))


def worked(intent: Intent, *steps: seed.Step) -> None:
    """Let a worker take up the retry, once its time for an undo is over."""
    put_on(30.0)
    go_on(now(intent), *steps)


def test_a_queued_retry_is_not_called_accepted_until_the_log_says_so() -> None:
    intent = make_case()
    decide("retry", intent, "olga", "code_fixed", text="")
    told = row_of(intent, page())
    assert "Retry queued" in told
    assert "Accepted" not in told
    worked(intent, *seed.accepted(1))
    told = row_of(intent, page())
    assert "Accepted by provider" in told
    assert "No receipt yet" in told
    go_on(now(intent), seed.receipt(DeliveryStatus.DELIVERED))
    assert "Delivered" in row_of(intent, page())


def test_a_retry_that_failed_again_says_how() -> None:
    intent = make_case()
    decide("retry", intent, "olga", "code_fixed", text="")
    worked(intent, *seed.attempt(Outcome.NOT_SENT, "not_sent.dns", State.NEEDS_REVIEW, failure=None,
                                 next_action=NextAction.RETRY_SAME_KEY))  # fmt: skip
    told = row_of(intent, page())
    assert "Not sent" in told
    assert "not_ sent. dns" in told
    assert "Needs review" in told


def test_mine_and_everybodys_are_told_apart_takes_are_left_out_and_a_day_is_the_end() -> None:
    first, second = make_case(), make_case()
    decide("take", first, "olga", text="")
    decide("close", first, "olga", "duplicate", text="")
    decide("close", second, "lena", "duplicate", text="")
    everybody, mine = page(), page("?who=mine")
    assert "2 decisions" in everybody
    assert "1 decision<" in mine
    assert f'href="/reviews/{second.pk}/"' not in mine
    assert "Take this case" not in everybody
    put_on(24 * 3600.0 + 60)
    assert "Nobody has decided anything in the last 24 hours." in page()


def test_the_sums_count_by_what_the_cases_are_now() -> None:
    for number in range(3):
        intent = make_case()
        decide("retry", intent, "olga", "code_fixed", text="")
        if number:
            put_on(30.0)
            go_on(now(intent), *seed.accepted(10 + number))
            put_on(0.0)
    html = page()
    retries = re.search(r">Retry</td>(.*?)</tr>", html, re.DOTALL)
    assert retries
    assert re.findall(r">(\d+)</td>", retries[1]) == ["3", "0", "2", "1", "0", "0", "0"]


def test_a_page_takes_three_queries_beside_the_logins() -> None:
    for _ in range(3):
        decide("close", make_case(cases.UNKNOWN), "olga", "duplicate", text="")
    client = login("vera")
    with CaptureQueriesContext(connection) as caught:
        client.get("/reviews/watching/")
    ours = [one["sql"] for one in caught if not re.search(r"SAVEPOINT|django_session|auth_", one["sql"])]
    assert len(ours) <= 3, ours


def test_an_attempt_and_its_delivery_are_credited_to_the_order_that_made_them() -> None:
    intent = make_case()
    decide("retry", intent, "olga", "code_fixed", text="")
    decide("undo", now(intent), "olga", "clicked_by_mistake", text="")
    decide("retry", now(intent), "olga", "code_fixed", text="")
    worked(intent, *seed.accepted(1), seed.receipt(DeliveryStatus.DELIVERED))
    html = page()
    retries = re.search(r">Retry</td>(.*?)</tr>", html, re.DOTALL)
    undone = re.search(r">Undo the retry</td>(.*?)</tr>", html, re.DOTALL)
    assert retries
    assert undone
    assert re.findall(r">(\d+)</td>", retries[1]) == ["2", "1", "0", "0", "0", "0", "1"]
    assert re.findall(r">(\d+)</td>", undone[1]) == ["1", "0", "0", "0", "0", "0", "1"]
    attempts = re.findall(r'data-label="The attempt after it">(.*?)</td>', html, re.DOTALL)
    told = [re.sub(r"<[^>]+>", "", one).strip() for one in attempts]
    assert "Accepted" in told[0]
    assert told[2] == "none: it was undone"
    assert html.count("by a later decision") == 2

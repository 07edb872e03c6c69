"""Asking Twilio "did you get this?": what proves an answer, and what never does."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from notifications.providers.base import LookupBudget, LookupQuery, LookupResult
from notifications.providers.twilio_lookup import TwilioLookup
from notifications.providers.twilio_message import frozen_text, read_text
from notifications.states import DeliveryStatus, Found
from tests.providers.candidate_twilio import CANDIDATE, REPORTS, SECRET, TO
from tests.providers.text_service import TextService, running_service

pytestmark = pytest.mark.slow
QUICK = LookupBudget(per_s=None)


@pytest.fixture
def service() -> Iterator[TextService]:
    with running_service() as running:
        yield running


def body_of(text: str = "Q3 is ready.", *, to: str = TO, intent: int = 17) -> bytes:
    tags = {"site": "test", "intent": str(intent), "generation": "1"}
    message = replace(CANDIDATE.message, short=text, to=to, tags=tags)
    return frozen_text(message, reports_to=REPORTS.url, most_parts=3)


def taken(service: TextService, frozen: bytes, *, ago_s: float = 0.0, **changes: Any) -> str:
    """Let the provider accept the bytes, and give the message's id."""
    read = read_text(frozen)
    assert read is not None
    made = service.take({name: read.field(name) for name in ("To", "From", "Body")})
    made |= {"date_created": format_datetime(service.now - timedelta(seconds=ago_s))} | changes
    return str(made["sid"])


def question(
    ref: int, body: bytes | None, *, provider_id: str | None = None, ago_s: float = 0.0, settled: bool = True
) -> LookupQuery:
    at = datetime.now(UTC) - timedelta(seconds=ago_s)
    return LookupQuery(ref, body, provider_id, at - timedelta(seconds=30), at, settled)


def asked(
    service: TextService, *queries: LookupQuery, budget: LookupBudget = QUICK, url: str = ""
) -> dict[int, tuple[Found, str | None]]:
    return {one.ref: (one.answer, one.code) for one in results(service, queries, budget, url)}


def results(
    service: TextService, queries: Sequence[LookupQuery], budget: LookupBudget = QUICK, url: str = ""
) -> list[LookupResult]:
    async def ask() -> list[LookupResult]:
        lookup = TwilioLookup(base_url=url or service.url, secret=SECRET, timeout_s=5.0)
        try:
            return [result async for result in lookup.lookup(queries, budget)]
        finally:
            await lookup.close()

    found = asyncio.run(ask())
    assert len({one.ref for one in found}) == len(found)
    return found


def test_the_one_message_of_these_words_to_this_number_in_these_minutes_is_found(service: TextService) -> None:
    sid = taken(service, body_of(), status="delivered")
    taken(service, body_of("Q2 is ready."))
    taken(service, body_of(), ago_s=3600)
    taken(service, body_of(to="+15550003333"))
    taken(service, body_of(), direction="inbound")
    (found,) = results(service, [question(1, body_of())])
    assert (found.answer, found.method, found.ids, found.status) == (
        *(Found.FOUND, "scan", (sid,), DeliveryStatus.DELIVERED),
    )


def test_what_is_absent_is_not_found_whatever_else_went_to_the_number(service: TextService) -> None:
    taken(service, body_of("Something else."))
    assert asked(service, question(1, body_of()), question(2, body_of(to="+15550003333"))) == {
        1: (Found.NOT_FOUND, None),
        2: (Found.NOT_FOUND, None),
    }


@pytest.mark.parametrize("count", [1, 2])
def test_where_nobody_can_tell_two_messages_apart_nothing_is_proven(service: TextService, count: int) -> None:
    """Two questions of the same words, with one message or with two."""
    for _ in range(count):
        taken(service, body_of())
    both = question(1, body_of(intent=17)), question(2, body_of(intent=18))
    assert asked(service, *both) == dict.fromkeys((1, 2), (Found.INCONCLUSIVE, "lookup.unproven"))


@pytest.mark.parametrize("shown", ["", "Q3 is 'ready'.", "Q3  is ready"])
def test_a_text_that_the_provider_emptied_or_rewrote_is_no_proof_of_absence(service: TextService, shown: str) -> None:
    taken(service, body_of("Q3 is ‘ready’."), body=shown)
    assert asked(service, question(1, body_of("Q3 is ‘ready’."))) == {1: (Found.INCONCLUSIVE, "lookup.unproven")}


def test_absence_needs_the_time_in_which_the_provider_settles(service: TextService) -> None:
    assert asked(service, question(1, body_of(), settled=False)) == {1: (Found.INCONCLUSIVE, "lookup.not_settled")}
    taken(service, body_of())
    assert asked(service, question(1, body_of(), settled=False)) == {1: (Found.FOUND, None)}


def test_one_list_answers_all_questions_about_a_number_page_by_page(service: TextService) -> None:
    service.page_size = 3
    for number in range(8):
        if number != 5:
            taken(service, body_of(f"Text {number}."))
    answers = asked(service, *(question(number, body_of(f"Text {number}.")) for number in range(8)))
    assert {ref for ref, (answer, _) in answers.items() if answer is not Found.FOUND} == {5}
    assert answers[5] == (Found.NOT_FOUND, None)
    assert len(service.asked) == 3


def test_the_list_is_read_no_further_than_a_day_before_the_attempt(service: TextService) -> None:
    service.page_size = 2
    for _ in range(6):
        taken(service, body_of("Old."), ago_s=90_000)
    assert asked(service, question(1, body_of())) == {1: (Found.NOT_FOUND, None)}
    assert len(service.asked) == 1


def test_the_cap_of_pages_is_inconclusive_and_never_not_found(service: TextService) -> None:
    service.page_size = 1
    for _ in range(5):
        taken(service, body_of("Other."))
    few = LookupBudget(pages=2, per_s=None)
    assert asked(service, question(1, body_of()), budget=few) == {1: (Found.INCONCLUSIVE, "lookup.page_cap")}


def test_what_cannot_be_read_proves_no_absence(service: TextService) -> None:
    for broken in ({"sid": "x"}, {"date_created": "today"}, {"to": None}):
        service.messages.clear()
        taken(service, body_of("Other."), **{"to": TO} | broken)
        service.reading = (200, {"messages": service.messages, "next_page_uri": None})
        assert asked(service, question(1, body_of())) == {1: (Found.INCONCLUSIVE, "lookup.malformed")}


ELSEWHERE = "/2010-04-01/Accounts/x/Messages.json?To=%2B15550009999"


@pytest.mark.parametrize(
    ("status", "fields", "answer"),
    [
        (200, {}, (Found.INCONCLUSIVE, "lookup.malformed")),
        (200, {"messages": {}, "next_page_uri": None}, (Found.INCONCLUSIVE, "lookup.malformed")),
        (200, {"messages": [], "next_page_uri": 7}, (Found.INCONCLUSIVE, "lookup.malformed")),
        (200, {"messages": [], "next_page_uri": ELSEWHERE}, (Found.INCONCLUSIVE, "lookup.malformed")),
        (200, {"messages": [], "next_page_uri": f"/x?To=%2B{TO[1:]}"}, (Found.INCONCLUSIVE, "lookup.malformed")),
        (401, {"code": 20003}, (Found.UNAVAILABLE, "lookup.refused")),
        (429, {"code": 20429}, (Found.UNAVAILABLE, "lookup.rate_limited")),
        (404, {"code": 20404}, (Found.UNAVAILABLE, "lookup.refused")),
        (500, {}, (Found.UNAVAILABLE, "lookup.unreachable")),
    ],
)
def test_a_list_that_is_none_proves_nothing(
    service: TextService, status: int, fields: dict[str, Any], answer: tuple[Found, str]
) -> None:
    service.reading = (status, fields)
    assert asked(service, question(1, body_of())) == {1: answer}


def test_by_its_id_it_is_found_with_its_fate_or_absent(service: TextService) -> None:
    sid = taken(service, body_of(), status="undelivered", error_code=30005)
    (found,) = results(service, [question(1, body_of(), provider_id=sid)])
    assert (found.answer, found.method, found.ids, found.status) == (
        *(Found.FOUND, "id", (sid,), DeliveryStatus.BOUNCED),
    )
    absent = "SM" + "f" * 32
    assert asked(service, question(1, None, provider_id=absent)) == {1: (Found.NOT_FOUND, None)}
    soon = question(1, None, provider_id=absent, settled=False)
    assert asked(service, soon) == {1: (Found.INCONCLUSIVE, "lookup.not_settled")}
    for wrong in ("../Calls", "SM1", ""):
        assert asked(service, question(1, None, provider_id=wrong)) == {1: (Found.INCONCLUSIVE, "lookup.malformed")}
    assert asked(service, question(1, None)) == {1: (Found.UNAVAILABLE, "lookup.erased")}


@pytest.mark.parametrize(
    ("status", "error", "fate"),
    [("delivered", None, "delivered"), ("sent", None, "none"), ("undelivered", None, "soft_bounced"),
     ("undelivered", 30003, "soft_bounced"), ("failed", None, "failed"), ("failed", 30007, "failed"),
     ("failed", 21610, "suppressed"), ("canceled", None, "failed"), (None, 30005, "none"), ("new word", 30005, "none")],
)  # fmt: skip
def test_each_status_is_a_fate(service: TextService, status: str | None, error: int | None, fate: str) -> None:
    sid = taken(service, body_of(), status=status, error_code=error)
    (found,) = results(service, [question(1, None, provider_id=sid)])
    assert found.status == fate


def test_a_login_that_does_not_see_our_messages_proves_no_absence(service: TextService) -> None:
    ours, now = taken(service, body_of("Witness."), ago_s=7200), datetime.now(UTC)
    span = (now - timedelta(hours=2, minutes=1), now - timedelta(hours=2))
    good = LookupBudget(per_s=None, witness=ours, taken=span, as_of=now)
    assert asked(service, question(1, body_of()), budget=good) == {1: (Found.NOT_FOUND, None)}
    for changed, code in (
        ({"witness": "SM" + "e" * 32}, "lookup.other_account"),
        ({"witness": "no-sid"}, "lookup.no_witness"),
        ({"taken": (now, now)}, "lookup.clock_apart"),
    ):
        budget = replace(good, **changed)
        assert asked(service, question(1, body_of()), budget=budget) == {1: (Found.INCONCLUSIVE, code)}
    service.reading = (401, {})
    assert asked(service, question(1, body_of()), budget=good) == {1: (Found.UNAVAILABLE, "lookup.refused")}


def test_a_list_dated_ahead_of_our_clock_proves_no_absence(service: TextService) -> None:
    taken(service, body_of("Other."), ago_s=-900)
    budget = LookupBudget(per_s=None, as_of=datetime.now(UTC))
    assert asked(service, question(1, body_of()), budget=budget) == {1: (Found.INCONCLUSIVE, "lookup.clock_apart")}


def test_where_our_time_is_over_nothing_is_answered(service: TextService) -> None:
    assert asked(service, question(1, body_of()), budget=LookupBudget(seconds=0.0, per_s=None)) == {}

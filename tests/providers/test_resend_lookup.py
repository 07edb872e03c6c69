"""Asking "did you get this?": what proves an answer, and what never does."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from notifications.providers.base import LookupBudget
from notifications.providers.resend_lookup import ResendLookup
from notifications.sandbox.app import RunningSandbox, running_sandbox
from notifications.states import DeliveryStatus, Found
from tests.postgres import free_port
from tests.providers.inquiries import QUICK, asked, body_of, mail_ids, post, question, reads

pytestmark = pytest.mark.slow

LIST = r"^GET /emails "
ONE = r"^GET /emails/"


@pytest.fixture
def sandbox() -> Iterator[RunningSandbox]:
    with running_sandbox(delivery_delay_s=3600.0) as running:
        yield running


def fault(sandbox: RunningSandbox, match: str = LIST, **rule: Any) -> None:
    sandbox.fault(match=match, **{"times": None, **rule})


def test_a_scan_finds_a_message_by_its_tags_among_others_to_the_same_person(sandbox: RunningSandbox) -> None:
    for number in (1, 2, 3):
        post(sandbox, body_of(number))
    result = asked(sandbox, [question(2, body_of(2))])[2]
    assert (result.answer, result.method, result.ids) == (Found.FOUND, "scan", (mail_ids(sandbox)[1],))


def test_what_is_absent_is_not_found_and_a_sent_neighbour_is_no_proof(sandbox: RunningSandbox) -> None:
    post(sandbox, body_of(1))
    post(sandbox, body_of(2, generation=2))
    answers = asked(sandbox, [question(2, body_of(2)), question(3, body_of(3, to="bob@example.com"))])
    assert {ref: (one.answer, one.code) for ref, one in answers.items()} == {
        2: (Found.NOT_FOUND, None),
        3: (Found.NOT_FOUND, None),
    }


def test_absence_needs_the_time_in_which_a_provider_settles(sandbox: RunningSandbox) -> None:
    result = asked(sandbox, [question(1, body_of(1), settled=False)])[1]
    assert (result.answer, result.code) == (Found.INCONCLUSIVE, "lookup.not_settled")
    post(sandbox, body_of(1))
    assert asked(sandbox, [question(1, body_of(1), settled=False)])[1].answer is Found.FOUND


@pytest.mark.parametrize(
    ("ahead_s", "code"), [(200, None), (400, "lookup.clock_apart"), (86_400, "lookup.clock_apart")]
)
def test_a_list_dated_ahead_of_our_clock_proves_no_absence(
    sandbox: RunningSandbox, ahead_s: float, code: str | None
) -> None:
    """A message that was accepted stands outside the time in which it is looked for."""
    sandbox.clock(ahead_s)
    post(sandbox, body_of(8, to="bob@example.com"))
    budget = LookupBudget(per_s=None, as_of=datetime.now(UTC))
    result = asked(sandbox, [question(7, body_of(7))], budget)[7]
    assert (result.answer, result.code) == (Found.INCONCLUSIVE if code else Found.NOT_FOUND, code)


def test_what_is_found_is_found_whatever_the_clocks_say(sandbox: RunningSandbox) -> None:
    post(sandbox, body_of(7))
    sandbox.clock(3_600)
    post(sandbox, body_of(8, to="bob@example.com"))
    budget = LookupBudget(per_s=None, as_of=datetime.now(UTC))
    assert asked(sandbox, [question(7, body_of(7))], budget)[7].answer is Found.FOUND


def test_one_scan_answers_many_and_reads_each_mail_once(sandbox: RunningSandbox) -> None:
    for number in range(250):
        if number % 5:
            post(sandbox, body_of(number))
    answers = asked(sandbox, [question(number, body_of(number)) for number in range(250)])
    assert {ref for ref, one in answers.items() if one.answer is Found.NOT_FOUND} == set(range(0, 250, 5))
    assert sum(one.answer is Found.FOUND for one in answers.values()) == 200
    assert reads(sandbox) == (2, 200)


def test_a_scan_stops_where_the_list_has_passed_the_attempts_time(sandbox: RunningSandbox) -> None:
    for number in range(150):
        post(sandbox, body_of(number, to="others@example.com"))
    sandbox.clock(3600)
    post(sandbox, body_of(7))
    # The attempt was made an hour after the others: the first page goes back far enough.
    assert asked(sandbox, [question(7, body_of(7), ago_s=-3600)])[7].answer is Found.FOUND
    assert asked(sandbox, [question(8, body_of(8), ago_s=-3600)])[8].answer is Found.NOT_FOUND
    assert reads(sandbox) == (2, 2)


def test_the_page_cap_is_inconclusive_and_never_not_found(sandbox: RunningSandbox) -> None:
    for number in range(250):
        post(sandbox, body_of(number, to="others@example.com"))
    result = asked(sandbox, [question(999, body_of(999))], LookupBudget(pages=2, per_s=None))[999]
    assert (result.answer, result.code) == (Found.INCONCLUSIVE, "lookup.page_cap")
    assert (
        asked(sandbox, [question(999, body_of(999))], LookupBudget(pages=3, per_s=None))[999].answer is Found.NOT_FOUND
    )


def test_where_our_time_is_over_nothing_is_answered_but_what_was_found(sandbox: RunningSandbox) -> None:
    for number in range(3):
        post(sandbox, body_of(number))
    fault(sandbox, kind="delay", seconds=0.4)
    assert asked(sandbox, [question(5, body_of(5))], LookupBudget(seconds=0.2, per_s=None)) == {}


def test_by_id_it_is_found_or_absent(sandbox: RunningSandbox) -> None:
    post(sandbox, body_of(1))
    (mail_id,) = mail_ids(sandbox)
    found = asked(sandbox, [question(1, body_of(1), provider_id=mail_id), question(2, body_of(2), provider_id="gone")])
    assert (found[1].answer, found[1].method, found[1].ids) == (Found.FOUND, "id", (mail_id,))
    assert (found[2].answer, found[2].ids) == (Found.NOT_FOUND, ())
    # What is absent under its id is looked for in the list as well, by its tags.
    assert reads(sandbox) == (1, 3)
    other = asked(sandbox, [question(2, body_of(2), provider_id=mail_id)])[2]
    assert (other.answer, other.code) == (Found.INCONCLUSIVE, "lookup.unproven")


def test_what_is_absent_under_its_id_is_found_under_another_by_its_tags(sandbox: RunningSandbox) -> None:
    post(sandbox, body_of(1))
    result = asked(sandbox, [question(1, body_of(1), provider_id="gone")])[1]
    assert (result.answer, result.method, result.ids) == (Found.FOUND, "scan", tuple(mail_ids(sandbox)))


@pytest.mark.parametrize(
    ("event", "status"),
    [
        ("email.delivered", DeliveryStatus.DELIVERED),
        ("email.opened", DeliveryStatus.DELIVERED),
        ("email.bounced", DeliveryStatus.BOUNCED),
        ("email.complained", DeliveryStatus.COMPLAINED),
        ("email.delivery_delayed", DeliveryStatus.DEFERRED),
    ],
)
def test_what_the_provider_last_saw_comes_along(sandbox: RunningSandbox, event: str, status: DeliveryStatus) -> None:
    post(sandbox, body_of(1), "key-1")
    sandbox.emit(event, key="key-1")
    assert asked(sandbox, [question(1, body_of(1))])[1].status is status


def test_two_messages_of_one_key_are_both_named(sandbox: RunningSandbox) -> None:
    post(sandbox, body_of(1), "key-1")
    post(sandbox, body_of(1), "key-2")
    assert asked(sandbox, [question(1, body_of(1))])[1].ids == tuple(mail_ids(sandbox))


UNAVAILABLE = {
    "down": ({"kind": "status", "status": 503}, "lookup.unreachable"),
    "closed": ({"kind": "close"}, "lookup.unreachable"),
    "limited": ({"kind": "status", "status": 429, "name": "rate_limit_exceeded"}, "lookup.rate_limited"),
    "moved": ({"kind": "redirect"}, "lookup.refused"),
    "a 404 of some other server": ({"kind": "html", "status": 404}, "lookup.refused"),
}


@pytest.mark.parametrize(("rule", "code"), UNAVAILABLE.values(), ids=UNAVAILABLE)
@pytest.mark.parametrize("by_id", [True, False])
def test_what_cannot_be_asked_is_unavailable_and_never_not_found(
    sandbox: RunningSandbox, rule: dict[str, Any], code: str, by_id: bool
) -> None:
    fault(sandbox, ONE if by_id else LIST, **rule)
    result = asked(sandbox, [question(1, body_of(1), provider_id="some-id" if by_id else None)])[1]
    assert (result.answer, result.code) == (Found.UNAVAILABLE, code)


def test_with_a_sending_key_the_answer_is_unavailable(sandbox: RunningSandbox) -> None:
    result = asked(sandbox, [question(1, body_of(1))], key=sandbox.sending_key)[1]
    assert (result.answer, result.code) == (Found.UNAVAILABLE, "lookup.restricted_key")
    result = asked(sandbox, [question(1, body_of(1))], key="re_of_nobody")[1]
    assert (result.answer, result.code) == (Found.UNAVAILABLE, "lookup.refused")
    result = asked(sandbox, [question(1, body_of(1))], url=f"http://127.0.0.1:{free_port()}")[1]
    assert (result.answer, result.code) == (Found.UNAVAILABLE, "lookup.unreachable")


def test_a_key_that_does_not_see_a_known_message_proves_no_absence(sandbox: RunningSandbox) -> None:
    """The key of another team sees an honest list, in which nothing of ours stands."""
    post(sandbox, body_of(1))
    seeing = dataclasses.replace(QUICK, witness=mail_ids(sandbox)[0])
    assert asked(sandbox, [question(2, body_of(2))], seeing)[2].answer is Found.NOT_FOUND
    blind = dataclasses.replace(QUICK, witness="00000000-0000-4000-8000-000000000000")
    result = asked(sandbox, [question(2, body_of(2)), question(3, body_of(3), provider_id="gone")], blind)
    assert {(one.answer, one.code) for one in result.values()} == {(Found.INCONCLUSIVE, "lookup.other_account")}
    assert asked(sandbox, [question(1, body_of(1))], blind)[1].answer is Found.FOUND


def test_a_candidate_that_cannot_be_read_makes_absence_doubtful(sandbox: RunningSandbox) -> None:
    post(sandbox, body_of(1))
    fault(sandbox, ONE, kind="status", status=503)
    result = asked(sandbox, [question(1, body_of(1)), question(2, body_of(2, to="bob@example.com"))])
    assert (result[1].answer, result[1].code) == (Found.INCONCLUSIVE, "lookup.unproven")
    assert result[2].answer is Found.NOT_FOUND


def test_a_rate_limit_in_the_middle_ends_the_scan_and_keeps_what_was_found(sandbox: RunningSandbox) -> None:
    for number in range(20):
        post(sandbox, body_of(number))
    fault(sandbox, ONE, kind="status", status=429, name="rate_limit_exceeded", skip=10)
    answers = asked(sandbox, [question(number, body_of(number)) for number in range(20)])
    assert {(one.answer, one.code) for one in answers.values()} == {
        (Found.FOUND, None),
        (Found.UNAVAILABLE, "lookup.rate_limited"),
    }
    assert reads(sandbox)[1] <= 10 + 4, "after a 429 only what was under way"


def test_erased_content_cannot_be_looked_for(sandbox: RunningSandbox) -> None:
    result = asked(sandbox, [question(1, None), question(2, b"\xff not json")])
    assert {(one.answer, one.code) for one in result.values()} == {(Found.UNAVAILABLE, "lookup.erased")}


def test_calls_are_paced_and_leave_half_of_the_accounts_window(sandbox: RunningSandbox) -> None:
    sandbox.configure(rate_per_s=10)
    for number in range(30):
        post_slowly(sandbox, number)
    answers = asked(sandbox, [question(number, body_of(number)) for number in range(30)], LookupBudget(per_s=None))
    assert {one.answer for one in answers.values()} == {Found.FOUND}
    assert all(seen["status"] == 200 for seen in sandbox.requests() if seen["method"] == "GET")


def post_slowly(sandbox: RunningSandbox, number: int) -> None:
    sandbox.configure(rate_per_s=None)
    post(sandbox, body_of(number))
    sandbox.configure(rate_per_s=10)


def test_nothing_personal_is_kept_or_logged(sandbox: RunningSandbox, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    post(sandbox, body_of(1, subject="A canary in a subject"))
    result = asked(sandbox, [question(1, body_of(1, subject="A canary in a subject"))])[1]
    assert result.answer is Found.FOUND
    told = f"{result!r} {caplog.text}"
    assert "canary" not in told
    assert "ana@example.com" not in told


@pytest.mark.parametrize("key", ["", "with blank", "umlaut-ü"])
def test_a_key_that_no_header_can_carry_is_refused_without_repeating_it(key: str) -> None:
    with pytest.raises(ValueError, match="API key must be") as refused:
        ResendLookup(base_url="http://127.0.0.1:1", api_key=key)
    assert not key or key not in str(refused.value)

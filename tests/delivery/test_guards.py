"""What is asked before anything is sent: approval, expiry, the recipient's wish, the business's mind."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from notifications.delivery.judge import ASK_S
from notifications.states import EntryKind, State
from notifications.types import REPORT_ALARM, REPORT_READY, Registry
from tests.delivery.adapters import NovelFault
from tests.delivery.workplace import Workplace

pytestmark = pytest.mark.django_db(transaction=True)
KEY = "report-ready/demo-001"
_BLOCK = (
    "INSERT INTO notifyops_private.notifications_deliveryblock (channel, commitment, scope, reason) "
    "SELECT 'email', commitment, %s, %s FROM notifyops_private.notifications_content WHERE intent_id = %s"
)


def in_seconds(seconds: float) -> str:
    return (datetime.now(UTC) + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def lose_an_answer(place: Workplace) -> None:
    place.sandbox.fault(stage="after_accept", kind="close", times=1)
    place.turn()
    place.later(100)


def test_what_needs_approval_is_held_and_goes_out_once_released(place: Workplace) -> None:
    intent = place.enqueue(kind="report_approved")
    assert place.turn() == []
    row = place.intent(intent)
    assert (row.state, row.error_code, row.known, row.next_action) == (
        "needs_review",
        "awaiting_approval",
        "awaiting_approval",
        "approve",
    )
    assert place.person(EntryKind.RELEASED, intent, State.PENDING, by="lena").refused is None
    place.turn()
    assert place.kinds(intent) == ["held", "released", "claimed", "result"]
    assert (place.intent(intent).state, place.intent(intent).failure_count) == ("accepted", 0)


def test_what_expired_unsent_is_cancelled(place: Workplace) -> None:
    intent = place.enqueue(expires_at=in_seconds(60))
    place.later(120)
    assert place.turn() == []
    row = place.intent(intent)
    assert (row.state, row.error_code, row.known) == ("cancelled", "expired", "not_sent")
    assert place.sandbox.requests() == []


def test_what_expired_after_an_unknown_attempt_asks_a_person(place: Workplace) -> None:
    intent = place.enqueue(expires_at=in_seconds(60))
    lose_an_answer(place)
    assert place.turn() == []
    row = place.intent(intent)
    assert (row.state, row.error_code, row.known) == ("needs_review", "expired", "unknown")


BLOCKS = {
    "unsubscribed": ("cancelled", "unsubscribed", None),
    "opted_out": ("cancelled", "opted_out", None),
    "bounced": ("needs_review", "address_bounced", "correct_address"),
    "complained": ("needs_review", "address_complained", "ask_lead"),
}


@pytest.mark.parametrize(("reason", "expected"), BLOCKS.items(), ids=BLOCKS)
@pytest.mark.parametrize("scope", ["", "report_ready"])
def test_a_blocked_address_gets_nothing(
    place: Workplace, reason: str, expected: tuple[str, str, str | None], scope: str
) -> None:
    intent = place.enqueue()
    place.sql(_BLOCK, scope, reason, intent, role="worker")
    assert place.turn() == []
    row = place.intent(intent)
    assert (row.state, row.error_code, row.next_action) == expected
    assert (row.known, place.kinds(intent), place.sandbox.requests()) == ("not_sent", ["blocked"], [])


def test_a_block_of_another_type_or_address_stops_nothing(place: Workplace) -> None:
    intent = place.enqueue()
    place.sql(_BLOCK, "report_once", "unsubscribed", intent, role="worker")
    other = place.enqueue("demo-002", to="bea@example.com")
    place.sql(_BLOCK, "", "bounced", other, role="worker")
    place.turn()
    assert place.states() == {"demo-001": "accepted", "demo-002": "needs_review"}


@pytest.mark.parametrize("reason", BLOCKS)
def test_a_block_after_an_unknown_attempt_asks_a_person(place: Workplace, reason: str) -> None:
    intent = place.enqueue()
    lose_an_answer(place)
    place.sql(_BLOCK, "", reason, intent, role="worker")
    assert place.turn() == []
    row = place.intent(intent)
    assert (row.state, row.known, row.next_action) == ("needs_review", "unknown", "query_provider")


def test_a_superseded_notification_is_cancelled_by_the_newer_one(place: Workplace) -> None:
    old = place.enqueue()
    new = place.enqueue(supersedes=KEY, notification_id="report-ready/demo-001-b", data={"title": "Q3, mended"})
    place.turn()
    assert (place.intent(old).state, place.intent(new).state) == ("cancelled", "accepted")
    assert place.kinds(old) == ["superseded"]
    assert [request["key"] for request in place.sandbox.requests()] == ["report-ready/demo-001-b"]


def test_what_may_have_been_sent_is_not_superseded(place: Workplace) -> None:
    old = place.enqueue()
    lose_an_answer(place)
    place.enqueue(supersedes=KEY, notification_id="report-ready/demo-001-b")
    place.turn()
    assert place.intent(old).state == "accepted"
    assert place.sandbox.ledger(KEY).accepted == 1


def asked(answer: Callable[[str], bool], *, ambiguous: bool) -> Registry:
    """Give types whose application has an opinion on late sends."""
    types = Registry()
    types.add(replace(REPORT_ALARM if ambiguous else REPORT_READY, still_wanted=answer))
    return types


def test_what_the_business_no_longer_wants_is_not_sent_past_the_window(place: Workplace) -> None:
    intent, heard = place.enqueue(kind="report_alarm"), list[str]()

    def no_longer(report_id: str) -> bool:
        heard.append(report_id)
        return False

    lose_an_answer(place)
    place.later(86_400)
    assert place.turn(place.shop(types=asked(no_longer, ambiguous=True))) == []
    row = place.intent(intent)
    assert (row.state, row.error_code, row.known) == ("needs_review", "no_longer_wanted", "unknown")
    assert heard == ["demo-001"]


@pytest.mark.parametrize("wanted", [True, False])
def test_the_business_is_asked_before_a_persons_retry_too(place: Workplace, wanted: bool) -> None:
    intent = place.enqueue()
    place.sandbox.fault(kind="status", status=422, times=1)
    place.turn()
    place.person(EntryKind.RETRIED, intent, State.RETRY, delay_s=0)
    place.turn(place.shop(types=asked(lambda report_id: wanted, ambiguous=False)))
    row = place.intent(intent)
    assert (row.state, row.error_code) == (("accepted", None) if wanted else ("needs_review", "no_longer_wanted"))


def test_the_business_is_not_asked_about_an_ordinary_attempt(place: Workplace) -> None:
    place.enqueue()
    place.turn(place.shop(types=asked(lambda report_id: False, ambiguous=False)))
    assert place.states() == {"demo-001": "accepted"}


@pytest.mark.parametrize("fault", [RuntimeError("down"), NovelFault("boom")], ids=["error", "novel"])
def test_a_business_that_cannot_answer_has_not_said_yes(place: Workplace, fault: BaseException) -> None:
    def broken(report_id: str) -> bool:
        raise fault

    intent = place.enqueue(kind="report_alarm")
    lose_an_answer(place)
    place.later(86_400)
    other = place.enqueue("demo-002")
    types = asked(broken, ambiguous=True)
    types.add(REPORT_READY)
    place.turn(place.shop(types=types))
    assert (place.intent(intent).state, place.intent(other).state) == ("needs_review", "accepted")


@pytest.mark.slow  # waits for seconds of real time
def test_a_business_that_takes_too_long_to_answer_has_not_said_yes(place: Workplace) -> None:
    """The hook is asked inside the claim: one that hangs must hold up neither the claim nor the loop."""
    intent = place.enqueue(kind="report_alarm")
    lose_an_answer(place)
    place.later(86_400)

    def slow(report_id: str) -> bool:
        time.sleep(ASK_S + 0.5)
        return True

    place.turn(place.shop(types=asked(slow, ambiguous=True)))
    assert (place.intent(intent).state, place.intent(intent).error_code) == ("needs_review", "no_longer_wanted")


def test_a_withdrawn_notification_is_not_sent(place: Workplace) -> None:
    place.enqueue()
    place.sql("SELECT * FROM notifyops.cancel(%s, 'the report was wrong', '')", KEY, role="web")
    assert place.turn() == []
    assert place.states() == {"demo-001": "cancelled"}


def test_all_hooks_of_a_claim_are_asked_side_by_side(place: Workplace) -> None:
    """Each waits until all have been asked: one after the other, none would ever answer."""
    together = threading.Barrier(8)

    def asked_with_the_others(report_id: str) -> bool:
        together.wait(ASK_S / 2)
        return report_id != "demo-003"

    place.sandbox.fault(kind="status", status=422, times=8)
    intents = [place.enqueue(f"demo-00{number}") for number in range(8)]
    place.turn()
    for intent in intents:
        place.person(EntryKind.RETRIED, intent, State.RETRY, delay_s=0)
    place.turn(place.shop(types=asked(asked_with_the_others, ambiguous=False)))
    states = place.states()
    assert states.pop("demo-003") == "needs_review"
    assert set(states.values()) == {"accepted"}


@pytest.mark.slow
def test_a_hook_that_hangs_holds_up_the_others_no_longer_than_one_bound(place: Workplace) -> None:
    released = threading.Event()

    def hangs(report_id: str) -> bool:
        return report_id != "demo-000" or released.wait(60)

    place.sandbox.fault(kind="status", status=422, times=2)
    intents = [place.enqueue(f"demo-00{number}") for number in range(2)]
    place.turn()
    for intent in intents:
        place.person(EntryKind.RETRIED, intent, State.RETRY, delay_s=0)
    try:
        place.turn(place.shop(types=asked(hangs, ambiguous=False)))
    finally:
        released.set()
    assert place.states() == {"demo-000": "needs_review", "demo-001": "accepted"}

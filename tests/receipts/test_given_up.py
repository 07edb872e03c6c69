"""A doubt outlives generations: what two persons gave up for lost may be out, whatever became of what followed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest

from notifications import doctor, outbox
from notifications.models import DeliveryBlock
from notifications.states import DeliveryStatus, EntryKind, Found, State
from reviews.refusals import NotAllowedNow, NotPermitted
from tests.delivery.asking import DAY, KEY, ask, person_asks, says
from tests.delivery.test_resends import order, undecided
from tests.delivery.workplace import Workplace
from tests.receipts.post import PERMANENT, TRANSIENT, Provider, stands
from tests.receipts.test_arrived_before import of_the_first, resent, why
from tests.reviews.deciding import correct, decide

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
WAITS, REFUSED = "rate_limit_exceeded", "invalid_from_address"


def second(place: Workplace) -> int:
    """Give how many messages of the generations after the first one went out."""
    return sum(place.sandbox.ledger(f"{KEY}~g{place_}").accepted for place_ in (2, 3))


def alone(place: Workplace, intent: int) -> str | None:
    """Let one person retry; give the door's word of refusal."""
    return place.person(EntryKind.RETRIED, intent, State.RETRY, delay_s=0).refused


def sound() -> bool:
    return doctor.check_moved(0, limit=20_000)[0] == []


def overdue(provider: Provider) -> int:
    intent, _ = resent(provider, "monthly_quota_exceeded")
    provider.place.later(2 * DAY)
    provider.place.sql("SELECT count(*) FROM notifyops_private.close_circuit_v1(%s)", provider.place.account)
    provider.place.turn()
    assert why(intent) == ("needs_review", "not_sent", "order_overdue", "ask_lead")
    return intent


def refused(provider: Provider) -> int:
    intent, _ = resent(provider, REFUSED, 422)
    return intent


def undone(provider: Provider) -> int:
    intent, _ = resent(provider, WAITS)
    decide("undo", provider.place.intent(intent), "bob_lead", "clicked_by_mistake", shift_s=provider.place.shift_s)
    return intent


def reopened(provider: Provider) -> int:
    place = provider.place
    intent, _ = resent(provider, WAITS)
    decide("close", place.intent(intent), "olga", "no_longer_needed", shift_s=place.shift_s)
    place.later(30 * DAY)
    decide("reopen", place.intent(intent), "lena", "closed_by_mistake", shift_s=place.shift_s)
    return intent


@pytest.mark.parametrize("happened", [overdue, refused, undone, reopened])
def test_one_person_alone_sends_nothing_and_two_of_them_do(provider: Provider, happened) -> None:
    place, intent = provider.place, happened(provider)
    with pytest.raises(NotAllowedNow, match="no one person alone"):
        decide("retry", place.intent(intent), "olga", "owner_asked", shift_s=place.shift_s)
    assert alone(place, intent) == "given_up"
    with pytest.raises(NotPermitted):
        decide("resend", place.intent(intent), "olga", typed="demo-001", confirmed=True, shift_s=place.shift_s)
    place.later(120)
    place.turn()
    assert second(place) == 0
    order(place, intent)
    place.later(9)
    place.turn()
    assert (stands(intent)[0], second(place)) == ("accepted", 1)
    assert sound()


def test_a_second_order_is_overdue_by_its_own_time(provider: Provider) -> None:
    place, intent = provider.place, refused(provider)
    place.later(2 * DAY)
    order(place, intent)
    place.later(9)
    place.sandbox.fault(kind="status", status=429, name=WAITS, times=1)
    place.turn()
    assert place.intent(intent).generation == 3
    place.later(1900)
    place.turn()
    assert (stands(intent)[3], second(place)) == ("order_overdue", 0)
    assert alone(place, intent) == "given_up"


@contextmanager
def no_doubt(place: Workplace) -> Iterator[None]:
    """Let all guards see no doubt."""
    ((real,),) = place.sql("SELECT pg_get_functiondef('notifyops_private.doubted_v1(bigint, text)'::regprocedure)")
    place.sql(
        "CREATE OR REPLACE FUNCTION notifyops_private.doubted_v1(intent bigint, here text DEFAULT '') "
        "RETURNS boolean LANGUAGE sql STABLE SECURITY DEFINER AS 'SELECT false'"
    )
    try:
        yield
    finally:
        place.sql(real)


def test_the_claim_asks_as_well_where_the_order_passed(provider: Provider) -> None:
    place, intent = provider.place, refused(provider)
    with no_doubt(place):
        assert alone(place, intent) is None
    assert place.turn() == []
    assert stands(intent)[3] == "order_overdue"
    assert sound()


def test_once_the_old_one_came_back_one_person_is_enough(provider: Provider) -> None:
    place = provider.place
    intent, mail = resent(provider, REFUSED, 422)
    assert alone(place, intent) == "given_up"
    of_the_first(provider, "email.bounced", intent, mail, **TRANSIENT)
    assert alone(place, intent) is None
    place.turn()
    assert (stands(intent)[0], second(place)) == ("accepted", 1)
    assert sound()


def test_another_address_is_let_go_by_a_second_person(provider: Provider) -> None:
    place = provider.place
    intent, _ = resent(provider, "invalid_to_address", 422)
    new = correct(place.intent(intent), shift_s=place.shift_s).pk
    assert why(new) == ("needs_review", "awaiting_approval", "awaiting_approval", "approve")
    with pytest.raises(NotPermitted):
        decide("approve", place.intent(new), "lena", shift_s=place.shift_s)
    place.later(120)
    assert place.turn() == []
    decide("approve", place.intent(new), "bob_lead", shift_s=place.shift_s)
    place.turn()
    assert (stands(new)[0], place.sandbox.ledger(f"{KEY}~a2").accepted) == ("accepted", 1)
    assert place.log(new)[-2]["detail"]["possible_duplicate"] is True
    assert sound()


def test_an_expired_resend_is_a_case(provider: Provider, monkeypatch: pytest.MonkeyPatch) -> None:
    place, enqueue = provider.place, Workplace.enqueue
    ends = (datetime.now(UTC) + timedelta(hours=30)).isoformat()
    monkeypatch.setattr(Workplace, "enqueue", lambda *a, **more: enqueue(*a, **{**more, "expires_at": ends}))
    intent, _ = resent(provider, "daily_quota_exceeded")
    place.later(DAY)
    place.turn()
    assert why(intent) == ("needs_review", "unknown", "expired", "ask_lead")


def test_who_unsubscribes_while_it_waits_may_have_the_first_one(provider: Provider) -> None:
    place = provider.place
    intent, _ = resent(provider, WAITS)
    place.sql(
        "INSERT INTO notifyops_private.notifications_deliveryblock (channel, commitment, reason, scope, site_mode) "
        "SELECT DISTINCT 'email', commitment, 'unsubscribed', '', '' FROM notifyops_private.notifications_content"
    )
    place.later(120)
    place.turn()
    place.sql("DELETE FROM notifyops_private.notifications_deliveryblock")
    assert why(intent) == ("needs_review", "unknown", "unsubscribed", "ask_lead")


def test_what_may_be_out_is_not_superseded_and_not_simply_cancelled(provider: Provider) -> None:
    place = provider.place
    intent, _ = resent(provider, WAITS)
    newer = {"notification_id": "report-ready/demo-001-v2", "supersedes": KEY}
    place.enqueue("demo-001", data={"title": "Q3 again"}, **newer)
    assert stands(intent)[0] == "retry"
    assert outbox.cancel(KEY, "ordered in error").outcome == "cancelled_maybe_sent"
    row = place.intent(intent)
    assert (row.state, row.known) == ("cancelled", "unknown")


@pytest.mark.parametrize("status", [DeliveryStatus.BOUNCED, DeliveryStatus.COMPLAINED])
def test_what_a_look_up_says_of_the_old_one_blocks_the_address(provider: Provider, status: DeliveryStatus) -> None:
    place = provider.place
    intent = undecided(place)
    order(place, intent)
    place.later(9)
    place.sandbox.fault(kind="status", status=429, name=WAITS, times=1)
    person_asks(place, intent)
    told = says(Found.FOUND, place.sandbox.ledger(KEY).ids[0], status=status)
    told.before = place.turn
    ask(place, told)
    assert list(DeliveryBlock.objects.values_list("reason", flat=True)) == [status.value]
    place.later(120)
    place.turn()
    assert second(place) == 0


def test_after_a_stop_the_old_one_comes_back_and_the_case_is_about_that(provider: Provider) -> None:
    """Nobody has it then: the address can be corrected."""
    place = provider.place
    intent, mail = resent(provider, WAITS)
    of_the_first(provider, "email.sent", intent, mail)
    assert why(intent) == ("needs_review", "accepted", "arrived_before", "close_duplicate")
    of_the_first(provider, "email.bounced", intent, mail, **PERMANENT)
    assert why(intent) == ("needs_review", "bounced", "bounced", "correct_address")
    new = correct(place.intent(intent), shift_s=place.shift_s).pk
    place.later(9)
    place.turn()
    assert stands(new)[0] == "accepted"

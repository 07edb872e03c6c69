"""Types that want to be sure: what was accepted a day ago without a receipt is asked about."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from notifications.delivery.shop import Shop
from notifications.providers.base import LookupResult
from notifications.states import DeliveryStatus, Found, Known
from notifications.types import REPORT_READY, Registry
from tests.delivery.asking import DAY, Told, ask, evidence, lost, person_asks, says
from tests.delivery.workplace import Workplace

pytestmark = pytest.mark.django_db(transaction=True)
KEY = "report-ready/demo-001"


@pytest.fixture
def types() -> Registry:
    """Give the types, of which `report_ready` wants its receipt."""
    known = Registry()
    known.add(replace(REPORT_READY, confirm=True))
    return known


def accepted(place: Workplace, types: Registry) -> int:
    intent = place.enqueue()
    place.turn(place.shop(types=types))
    assert place.intent(intent).state == "accepted"
    return intent


def test_a_day_after_acceptance_the_provider_is_asked_and_a_delivery_ends_the_matter(
    place: Workplace, types: Registry
) -> None:
    intent = accepted(place, types)
    row = place.intent(intent)
    assert row.confirm_at is not None
    place.later(DAY - 60)
    assert ask(place, types=types) == 0
    place.sandbox.emit("email.delivered", key=KEY)
    place.later(120)
    assert ask(place, types=types) == 1
    row = place.intent(intent)
    assert (row.state, row.delivery_status, row.confirm_at) == ("accepted", "delivered", None)
    assert place.kinds(intent)[-2:] == ["evidence", "receipt"]
    assert place.log(intent)[-2]["detail"]["method"] == "id"
    place.later(30 * DAY)
    assert ask(place, types=types) == 0


def test_what_nobody_confirms_is_a_case(place: Workplace, types: Registry) -> None:
    intent = accepted(place, types)
    place.later(DAY + 1)
    assert ask(place, says(Found.NOT_FOUND), types=types) == 1
    row = place.intent(intent)
    assert (row.state, row.error_code, row.known) == ("needs_review", "not_confirmed", Known.ACCEPTED)
    assert place.kinds(intent)[-2:] == ["evidence", "unconfirmed"]


def test_a_provider_that_has_forgotten_everything_confirms_nothing_and_denies_nothing(
    place: Workplace, types: Registry
) -> None:
    intent = accepted(place, types)
    place.later(DAY + 1)
    place.sandbox.reset()
    ask(place, types=types)
    assert evidence(place, intent) == [("inconclusive", "lookup.other_account")]


def test_what_is_still_under_way_after_a_day_is_a_case_too(place: Workplace, types: Registry) -> None:
    intent = accepted(place, types)
    place.later(DAY + 1)
    ask(place, says(Found.FOUND, place.sandbox.ledger(KEY).ids[0], status=DeliveryStatus.DEFERRED), types=types)
    row = place.intent(intent)
    assert (row.state, row.error_code, row.delivery_status) == ("needs_review", "not_confirmed", "deferred")


def test_what_came_back_is_a_case_with_its_own_code(place: Workplace, types: Registry) -> None:
    intent = accepted(place, types)
    place.later(DAY + 1)
    place.sandbox.emit("email.bounced", key=KEY)
    ask(place, types=types)
    row = place.intent(intent)
    assert (row.state, row.error_code, row.known) == ("needs_review", "bounced", Known.BOUNCED)


def test_where_nobody_can_be_asked_a_person_hears_of_it_in_the_end(place: Workplace, types: Registry) -> None:
    intent = accepted(place, types)
    place.later(DAY + 1)
    silent = says(Found.UNAVAILABLE, code="lookup.unreachable")
    for wait_s in (60, 300, 1800, 7200, 28_800):
        ask(place, silent, types=types)
        assert place.intent(intent).state == "accepted"
        place.later(wait_s + 1)
    ask(place, silent, types=types)
    assert (place.intent(intent).state, place.intent(intent).error_code) == ("needs_review", "not_confirmed")
    # The first answer, and the one on which the case stands.
    assert evidence(place, intent) == [("unavailable", "lookup.unreachable")] * 2


def test_other_types_and_accounts_without_receipts_are_not_asked_about(place: Workplace, types: Registry) -> None:
    intent = place.enqueue("demo-002")
    place.turn()
    assert place.intent(intent).confirm_at is None
    other = place.enqueue("demo-003")
    shop: Shop = place.shop(types=types)
    shop.accounts = {key: replace(account, declares_receipts=False) for key, account in shop.accounts.items()}
    place.turn(shop)
    assert place.intent(other).confirm_at is None


def test_what_evidence_settled_waits_for_its_receipt_as_well(place: Workplace, types: Registry) -> None:
    place.sql("UPDATE notifyops_private.notifications_notificationtype SET loss_model = 'at_least_once'")
    intent = lost(place, arrived=True, kind="report_ready")
    place.later(DAY)
    place.turn(place.shop(types=types))
    assert place.intent(intent).error_code == "window_over"
    ask(place, says(Found.FOUND, "id-1"), types=types)
    assert place.intent(intent).state == "accepted"
    assert place.intent(intent).confirm_at is not None


def test_a_person_may_ask_about_an_accepted_message_and_moves_nothing(place: Workplace, types: Registry) -> None:
    intent = accepted(place, types)
    person_asks(place, intent)
    ask(place, types=types)
    assert place.intent(intent).state == "accepted"
    assert evidence(place, intent) == [("found", None)]


def not_again() -> Callable[[object], LookupResult]:
    raise AssertionError("nobody was to be asked")


def test_a_confirmed_one_is_not_asked_twice(place: Workplace, types: Registry) -> None:
    accepted(place, types)
    place.sandbox.emit("email.delivered", key=KEY)
    place.later(DAY + 1)
    ask(place, types=types)
    assert ask(place, Told(lambda _query: not_again()(None)), types=types) == 0

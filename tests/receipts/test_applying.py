"""What each event does to its intent: once, by severity and not by arrival, and nothing to other generations."""

from __future__ import annotations

import itertools
import json
import random
from typing import Any

import pytest

from notifications.models import DeliveryBlock, Intent, ProviderEvent
from notifications.states import EntryKind, State
from reviews.refusals import Refused
from tests.receipts.post import FAILED, PERMANENT, SUPPRESSED, TRANSIENT, Provider, kept, parked, stands
from tests.reviews.deciding import decide, now

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
REVIEW = "needs_review"
# What is said → state, delivery status, known, code, suggestion; and for what reason the address is blocked.
BAD: dict[str, tuple[str, dict[str, Any], tuple[str, ...], str | None]] = {
    "bounce": ("email.bounced", PERMANENT, (REVIEW, *["bounced"] * 3, "correct_address"), "bounced"),
    "soft bounce": ("email.bounced", TRANSIENT, (REVIEW, *["soft_bounced"] * 3, "retry_new_key"), None),
    "complaint": ("email.complained", {}, (REVIEW, *["complained"] * 3, "ask_lead"), "complained"),
    "suppression": ("email.suppressed", SUPPRESSED, (REVIEW, *["suppressed"] * 3, "correct_address"), "complained"),
    "failure": ("email.failed", FAILED, (REVIEW, "failed", "invalid", "failed", "find_cause"), None),
}


def blocks() -> list[str]:
    return list(DeliveryBlock.objects.values_list("reason", flat=True))


@pytest.mark.parametrize(
    ("event_type", "status"),
    [("email.delivered", "delivered"), ("email.opened", "delivered"), ("email.clicked", "delivered"),
     ("email.delivery_delayed", "deferred")],
)  # fmt: skip
def test_good_news_is_a_status_and_moves_nothing(provider: Provider, event_type: str, status: str) -> None:
    intent = provider.accepted()
    assert provider.say(event_type, intent) == 200
    assert (provider.apply(), parked()) == (1, 0)
    assert stands(intent) == ("accepted", status, None, None, None)
    entry = provider.place.log(intent)[-1]
    assert (entry["kind"], entry["detail"]["type"], entry["detail"]["says"]) == ("receipt", event_type, status)
    assert entry["detail"]["event"] == ProviderEvent.objects.get().pk
    assert blocks() == []


@pytest.mark.parametrize("case", BAD)
def test_bad_news_ask_a_person_and_stop_what_else_goes_to_the_address(provider: Provider, case: str) -> None:
    event_type, detail, standing, reason = BAD[case]
    intent = provider.accepted()
    waiting = provider.place.enqueue("demo-002")
    elsewhere = provider.place.enqueue("demo-003", to="bob@example.com")
    assert provider.say(event_type, intent, **detail) == 200
    provider.apply()
    assert stands(intent) == standing
    assert blocks() == ([reason] if reason else [])
    provider.place.turn()
    assert provider.place.intent(elsewhere).state == "accepted"
    assert provider.place.intent(waiting).state == ("needs_review" if reason else "accepted")
    if reason:
        assert provider.place.intent(waiting).error_code == f"address_{reason}"


@pytest.mark.parametrize("case", BAD)
def test_what_came_back_while_it_was_closed_is_a_case_of_that_once_reopened(provider: Provider, case: str) -> None:
    event_type, detail, standing, _ = BAD[case]
    intent = Intent.objects.get(pk=provider.accepted())
    decide("close", intent, code="no_longer_needed")
    assert provider.say(event_type, intent.pk, **detail) == 200
    provider.apply()
    assert stands(intent.pk)[:2] == ("closed", standing[1])
    decide("reopen", now(intent), code="closed_by_mistake")
    assert stands(intent.pk) == standing
    with pytest.raises(Refused, match="came back|has not said"):
        decide("adopt", now(intent), code="evidence_found")


def test_a_complaint_overrules_a_bounce_at_the_block_and_a_wish_is_never_overwritten(provider: Provider) -> None:
    first, second = provider.accepted("demo-001"), provider.accepted("demo-002")
    provider.say("email.bounced", first, **PERMANENT)
    provider.apply()
    provider.say("email.complained", second)
    provider.say("email.bounced", second, **PERMANENT)
    provider.apply()
    assert blocks() == ["complained"]
    provider.place.sql("UPDATE notifyops_private.notifications_deliveryblock SET reason = 'unsubscribed'")
    provider.say("email.complained", first)
    provider.apply()
    assert blocks() == ["unsubscribed"]


def test_a_soft_bounce_may_be_retried_and_that_is_a_new_message(provider: Provider) -> None:
    """The old key would be answered with the old message's id; its first attempt was even ambiguous."""
    place, intent = provider.place, provider.place.enqueue()
    place.sandbox.fault(stage="after_accept", kind="close", times=1)
    place.turn()
    place.later(100)
    place.turn()
    assert place.intent(intent).first_ambiguous_at is not None
    provider.say("email.bounced", intent, **TRANSIENT)
    provider.apply()
    place.later(90_000)
    assert place.person(EntryKind.RETRIED, intent, State.RETRY, delay_s=0).refused is None
    place.turn()
    row = place.intent(intent)
    assert (row.state, row.generation, row.delivery_status) == ("accepted", 2, "none")
    assert place.sandbox.ledger("report-ready/demo-001~g2").accepted == 1
    provider.say("email.bounced", intent, **TRANSIENT)
    provider.apply()
    assert stands(intent)[:2] == ("needs_review", "soft_bounced")


@pytest.mark.parametrize("order", list(itertools.permutations(range(4)))[::3])
def test_the_graver_word_wins_in_whatever_order_they_come(provider: Provider, order: tuple[int, ...]) -> None:
    """Delivered, then sent, delivered again, then bounced: final bounced, one row for each id (providers.md §8.6)."""
    intent = provider.accepted()
    said: list[tuple[str, dict[str, Any]]] = [
        ("email.delivered", {}), ("email.sent", {}), ("email.delivered", {}), ("email.bounced", PERMANENT),
    ]  # fmt: skip
    for place in order:
        assert provider.say(said[place][0], intent, **said[place][1]) == 200
        if random.Random(str(order)).random() < 0.5:
            provider.apply()
    provider.apply()
    assert stands(intent) == ("needs_review", "bounced", "bounced", "bounced", "correct_address")
    assert (kept(), parked()) == (4, 0)
    assert provider.place.kinds(intent).count("receipt") == 3


def test_of_all_words_the_gravest_stays(provider: Provider) -> None:
    rising: list[tuple[str, dict[str, Any], str]] = [
              ("email.delivery_delayed", {}, "deferred"), ("email.delivered", {}, "delivered"),
              ("email.bounced", TRANSIENT, "soft_bounced"), ("email.failed", FAILED, "failed"),
              ("email.suppressed", SUPPRESSED, "suppressed"), ("email.bounced", PERMANENT, "bounced"),
              ("email.complained", {}, "complained")]  # fmt: skip
    intent = provider.accepted()
    for event_type, detail, status in rising:
        provider.say(event_type, intent, **detail)
        provider.apply()
        assert stands(intent)[1] == status
    for event_type, detail, _ in rising:
        provider.say(event_type, intent, **detail)
    provider.apply()
    assert stands(intent) == ("needs_review", "complained", "complained", "complained", "ask_lead")


def test_a_repeat_under_another_id_is_one_line_and_what_is_opened_is_kept(provider: Provider) -> None:
    """H-WH-1."""
    intent = provider.accepted()
    body = json.dumps(provider.event("email.delivered", intent)).encode()
    for event_id in ("msg_1", "msg_1", "msg_2"):
        assert provider.post(body, event_id=event_id) == 200
    for event_type in ("email.opened", "email.clicked", "email.opened"):
        assert provider.say(event_type, intent) == 200
    provider.apply()
    assert provider.place.kinds(intent) == ["claimed", "result", "receipt", "receipt"]
    assert sorted(ProviderEvent.objects.values_list("type", flat=True)) == [
        *["email.clicked"], *["email.delivered"] * 2, *["email.opened"] * 2,
    ]  # fmt: skip
    assert stands(intent)[:2] == ("accepted", "delivered")


def test_fifty_events_of_one_message_are_applied_one_by_one(provider: Provider) -> None:
    intent = provider.accepted()
    for _ in range(50):
        provider.say("email.delivered", intent)
    # Of one message one event a pass, so that each is judged from where the one before it left the intent.
    assert (provider.apply(), provider.apply(), parked()) == (40, 10, 0)
    assert provider.place.kinds(intent).count("receipt") == 50


@pytest.mark.parametrize("verb", [EntryKind.CLOSED, EntryKind.WITHDRAWN])
def test_in_an_ended_case_a_receipt_is_a_status_and_nothing_else(provider: Provider, verb: EntryKind) -> None:
    place, intent = provider.place, provider.accepted()
    provider.say("email.bounced", intent, **TRANSIENT)
    provider.apply()
    end = State.CLOSED if verb is EntryKind.CLOSED else State.CANCELLED
    assert place.person(verb, intent, end).refused is None
    provider.say("email.complained", intent)
    provider.apply()
    assert stands(intent) == (end, "complained", "soft_bounced", "soft_bounced", "retry_new_key")
    assert blocks() == ["complained"]


def test_a_receipt_of_the_old_generation_does_not_touch_the_new_one(provider: Provider) -> None:
    place, intent = provider.place, provider.accepted()
    old = provider.event("email.delivered", intent)
    provider.say("email.bounced", intent, **TRANSIENT)
    provider.apply()
    assert place.person(EntryKind.RETRIED, intent, State.RETRY, delay_s=0).refused is None
    old_bounce = provider.event("email.bounced", intent, data=PERMANENT)
    place.turn()
    for event in (old, old | {"type": "email.complained"}, old | {"type": "email.opened"}):
        assert provider.post(json.dumps(event).encode()) == 200
    untagged = json.loads(json.dumps(old_bounce))
    untagged["data"]["tags"] = {}
    assert provider.post(json.dumps(untagged).encode()) == 200
    provider.apply()
    assert stands(intent)[:2] == ("accepted", "none")
    details = [entry["detail"] for entry in place.log(intent)[-2:]]
    assert [(one["type"], one["generation"]) for one in details] == [("email.delivered", 1), ("email.complained", 1)]
    assert blocks() == ["complained"]


@pytest.mark.parametrize("accepted", [True, False])
def test_two_ids_under_one_key_are_a_persons_matter(provider: Provider, *, accepted: bool) -> None:
    place, intent = provider.place, provider.accepted()
    if not accepted:
        provider.say("email.bounced", intent, **TRANSIENT)
        provider.apply()
    provider.say("email.delivered", intent, email_id="5e9d-another")
    provider.apply()
    assert stands(intent)[0] == "needs_review"
    assert stands(intent)[2:] == ("accepted", "second_message", "close_duplicate")
    assert place.log(intent)[-1]["detail"]["second"] == "5e9d-another"
    assert place.person(EntryKind.RETRIED, intent, State.RETRY, delay_s=0).refused == "known"
    provider.say("email.bounced", intent, **PERMANENT)
    provider.apply()
    assert stands(intent)[1:4] == ("bounced", "accepted", "second_message")

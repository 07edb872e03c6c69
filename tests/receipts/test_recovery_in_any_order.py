"""A recovery and the decisions of people, in every order: one message at most, approved, and not while it is held."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from itertools import permutations
from typing import Any, Final

import pytest

from notifications.doctor import check_moved
from notifications.models import Content, Intent, IntentKey
from reviews.refusals import Refused
from tests.delivery.asking import witnessed
from tests.delivery.recovering import forgotten_send, opened, round_of_questions, tended, trouble
from tests.delivery.workplace import Workplace
from tests.receipts.post import PERMANENT, Provider
from tests.reviews.deciding import NEW, decide

pytestmark = [pytest.mark.django_db(transaction=True, databases=["default", "owner"]), pytest.mark.slow]


def orders(*deeds: str) -> list[tuple[str, ...]]:
    """Give every order in which the provider is asked after the recovery was opened."""
    return [one for one in permutations(deeds) if one.index("open") < one.index("ask")]


class Play:
    """One notification's fate under deeds that may each be refused."""

    def __init__(self, place: Workplace, intent: int) -> None:
        self.place, self.first = place, intent
        self.done: list[str] = []

    def newest(self) -> Intent:
        """Give the one that goes on under the caller's key."""
        intent = self.place.intent(self.first)
        return Intent.objects.filter(notification_id__startswith=intent.notification_id).order_by("-id")[0]

    def deed(self, name: str) -> None:
        with contextlib.suppress(Refused):
            DEEDS[name](self)
            self.done.append(name)
        if trouble(self.place) is not None:
            assert self.place.turn() == [], f"nothing leaves while {trouble(self.place)}"

    def decide(self, verb: str, code: str = "", **more: Any) -> None:
        decide(verb, self.newest(), "lena", code, shift_s=self.place.shift_s, **more)

    def open(self) -> None:
        opened(self.place)
        tended(self.place)

    def ask(self) -> None:
        self.place.later(130)
        tended(self.place)
        round_of_questions(self.place)
        tended(self.place)

    def turn(self) -> None:
        self.place.later(9)
        self.place.turn()

    def end(self) -> None:
        """Let all time pass that anything waits for, and do what is due then."""
        for _ in range(3):
            self.place.later(3700)
            tended(self.place)
            round_of_questions(self.place)
            self.place.turn()
        assert trouble(self.place) is None


DEEDS: Final[dict[str, Callable[[Play], None]]] = {
    "open": Play.open,
    "ask": Play.ask,
    "wait": lambda play: play.decide("wait", text="", minutes=60),
    "approve": lambda play: play.decide("approve", "content_checked"),
    "correct": lambda play: play.decide("correct", address=NEW),
    "erase": lambda play: play.decide("withdraw", "privacy_request", erase=True),
    "turn": Play.turn,
}


def accepted(place: Workplace, intent: int) -> int:
    """Give how many messages of the caller's key the provider has really taken."""
    keys = IntentKey.objects.filter(key__startswith=place.intent(intent).notification_id).values_list("key", flat=True)
    return sum(place.sandbox.ledger(key).accepted for key in keys)


def held_to_the_rules(play: Play) -> None:
    for intent in Intent.objects.filter(notification_id__startswith=play.place.intent(play.first).notification_id):
        kinds = play.place.kinds(intent.pk)
        if intent.type == "report_approved" and "claimed" in kinds:
            assert "released" in kinds[: kinds.index("claimed")], kinds
    assert check_moved(0)[0] == []
    if "erase" in play.done:
        left = Content.objects.filter(recipient__isnull=False).values_list("intent__report_id", flat=True)
        assert list(left) == ["witness"]


@pytest.mark.parametrize("forgotten", [False, True], ids=["not sent", "sent in the lost time"])
@pytest.mark.parametrize("order", orders("open", "ask", "wait", "approve"), ids=" ".join)
def test_what_waits_for_approval(place: Workplace, order: Sequence[str], forgotten: bool) -> None:
    witnessed(place)
    play = Play(place, place.enqueue(kind="report_approved"))
    if forgotten:
        forgotten_send(place, play.first)
    for name in order:
        play.deed(name)
    play.end()
    row = place.intent(play.first)
    if forgotten or "approve" in play.done:
        assert (row.state, accepted(place, play.first)) == ("accepted", 1), place.kinds(play.first)
    else:
        assert (row.state, row.known, row.error_code) == ("needs_review", "awaiting_approval", "awaiting_approval")
    held_to_the_rules(play)


@pytest.mark.parametrize("order", orders("open", "ask", "approve", "erase"), ids=" ".join)
def test_what_waits_for_approval_and_is_erased(place: Workplace, order: Sequence[str]) -> None:
    witnessed(place)
    play = Play(place, place.enqueue(kind="report_approved"))
    for name in (*order, "turn"):
        play.deed(name)
    play.end()
    assert "erase" in play.done
    assert (place.intent(play.first).state, accepted(place, play.first)) == ("cancelled", 0), place.kinds(play.first)
    held_to_the_rules(play)


@pytest.mark.parametrize("order", orders("open", "ask", "correct", "erase"), ids=" ".join)
def test_what_bounced_and_gets_another_address(provider: Provider, order: Sequence[str]) -> None:
    place = provider.place
    witnessed(place)
    play = Play(place, provider.accepted())
    provider.say("email.bounced", play.first, **PERMANENT)
    provider.apply()
    for name in (*order, "turn"):
        play.deed(name)
    play.end()
    held_to_the_rules(play)
    assert accepted(place, play.first) == 1, "the one that bounced, as all was erased before another could leave"
    assert "erase" in play.done
    barred = order.index("open") < order.index("correct") < order.index("ask")
    erased = order.index("erase") < order.index("correct")
    assert ("correct" in play.done) is not (barred or erased)

"""H-IDEM-1: a mistyped address is corrected. A new key for the new content, one mail to the new address, once."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

if TYPE_CHECKING:
    from notifications.models import Intent
    from tests.delivery.workplace import Workplace
    from tests.receipts.post import Provider

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
KEY = "report-ready/demo-001"
TYPED, MEANT = "jane@exmaple.example.com", "jane@example.com"


def refused(provider: Provider) -> int:
    """Let the provider refuse the address with a 422."""
    place = provider.place
    intent = place.enqueue(to=TYPED)
    place.sandbox.fault(kind="status", status=422, name="invalid_to_address", times=1)
    place.turn()
    assert place.sandbox.ledger(KEY).accepted == 0
    return intent


def bounced(provider: Provider) -> int:
    """Let the receiving server refuse the address, by a receipt."""
    from tests.receipts.post import PERMANENT

    intent = provider.accepted(to=TYPED)
    provider.say("email.bounced", intent, **PERMANENT)
    provider.apply()
    return intent


def bodies(place: Workplace, key: str) -> set[str]:
    return {request["body_sha256"] for request in place.sandbox.requests(key)}


def corrected_by_a_double_click(place: Workplace, intent: int) -> Intent:
    """Send Lena's form twice, as a double click does; give the one notification that it made."""
    from notifications.models import Intent
    from tests.reviews.cases import login, post

    fields = {"address": MEANT, "reason": "A letter was missing in the domain.", "action_token": str(uuid4())}
    lena = login("lena")
    answers = [post(lena, place.intent(intent), "correct", **fields) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [303, 200]
    assert "Already done by you" in answers[1].content.decode()
    new = Intent.objects.get(supersedes_id=intent)
    assert new.notification_id == f"{KEY}~a2"
    return new


@pytest.mark.parametrize("way", [refused, bounced], ids=["422", "bounce by webhook"])
def test_a_corrected_address_gets_one_mail_under_a_key_of_its_own(provider: Provider, way: object) -> None:
    from notifications import outbox
    from notifications.models import LogEntry
    from reviews.models import Review
    from tests.reviews.cases import login, post

    assert callable(way)
    place, intent = provider.place, way(provider)
    story = place.log(intent)
    unexplained = post(login("lena"), place.intent(intent), "correct", address=MEANT)
    assert unexplained.status_code == 422, "a reason is mandatory"
    new = corrected_by_a_double_click(place, intent)
    assert place.turn() == [], "eight seconds for an undo"
    place.later(9)
    (sent,) = place.turn()

    assert (sent.lease.key, place.intent(new.pk).state) == (f"{KEY}~a2", "accepted")
    assert place.sandbox.ledger(f"{KEY}~a2").accepted == 1
    assert MEANT in place.sandbox.requests(f"{KEY}~a2")[0]["body"]
    assert len(bodies(place, KEY)) == len(bodies(place, f"{KEY}~a2")) == 1, "no key with two contents"
    assert place.log(intent)[: len(story)] == story, "the old attempts are kept"
    assert place.intent(intent).state == "closed"

    audit = Review.objects.get(intent_id=intent, action="correct", outcome="done")
    assert ((audit.before or {})["recipient"], (audit.after or {})["recipient"]) == ("j•••@e•••.com", "j•••@e•••.com")
    written = str(list(LogEntry.objects.values("detail", "reason_code"))) + str(list(Review.objects.values()))
    assert "jane@" not in written
    for pk, other in ((intent, new.pk), (new.pk, intent)):
        assert f'href="/reviews/{other}/"' in login("vera").get(f"/reviews/{pk}/").content.decode()
    assert f"in its place: {KEY}~a2" in "\n".join(outbox.explain(KEY))
    assert f"in the place of {KEY}" in outbox.explain(f"{KEY}~a2")[0]


def test_a_bounce_of_the_old_address_blocks_the_old_one_only(provider: Provider) -> None:
    place, intent = provider.place, bounced(provider)
    new = corrected_by_a_double_click(place, intent)
    late = provider.accepted("demo-002", to="ana@example.com")
    place.later(9)
    place.turn()
    assert place.intent(new.pk).state == "accepted"
    again = place.enqueue("demo-003", to=TYPED)
    place.turn()
    assert (place.intent(again).state, place.intent(again).next_action) == ("needs_review", "correct_address")
    assert place.intent(late).state == "accepted"


def test_an_undone_correction_sends_nothing(provider: Provider) -> None:
    from tests.reviews.deciding import decide

    place, intent = provider.place, refused(provider)
    new = corrected_by_a_double_click(place, intent)
    decide("undo", new, "lena", "clicked_by_mistake")
    place.later(9)
    assert place.turn() == []
    assert place.sandbox.ledger(f"{KEY}~a2").http_requests == 0

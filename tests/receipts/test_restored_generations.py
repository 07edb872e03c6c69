"""After a restore: a generation that is forgotten here keeps the known one back, and what came back stays so."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from notifications.models import DeliveryBlock
from notifications.providers.base import ListedPage
from notifications.states import DeliveryStatus, EntryKind, Found, State
from reviews.refusals import NotAllowedNow
from tests.delivery.asking import DAY, KEY, Told, past_the_window, retry, says, witnessed
from tests.delivery.recovering import forgotten_send, opened, recovered, round_of_questions, tended, trouble
from tests.delivery.test_resends import order, undecided
from tests.intake.notify_cli import notify
from tests.receipts.post import FAILED, TRANSIENT, Provider, parked, stands
from tests.receipts.test_after_a_restore import said
from tests.reviews.deciding import decide

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


class Unlisted(Told):
    """A look-up whose list cannot be read now."""

    async def listed(self, *_asked: object) -> AsyncIterator[ListedPage]:
        yield ListedPage((), "", code="lookup.refused")


def gone_anew(provider: Provider, event: str = "email.bounced", **why: Any) -> tuple[int, str]:
    """Give one that came back and that a person ordered anew just before the backup, and its first mail."""
    place, intent = provider.place, provider.accepted()
    mail = place.intent(intent).provider_message_id
    assert mail is not None
    provider.say(event, intent, **(why or TRANSIENT))
    provider.apply()
    assert place.person(EntryKind.RETRIED, intent, State.RETRY, delay_s=0).refused is None
    return intent, mail


def test_a_forgotten_second_generation_is_not_sent_again_by_itself(provider: Provider) -> None:
    """The claim made it after the backup was taken; the provider has it, and has nothing of the first one."""
    place = provider.place
    witnessed(place)
    intent = place.enqueue()
    place.sandbox.fault(kind="status", status=422, name="invalid_from_address", times=1)
    place.turn()
    assert place.person(EntryKind.RETRIED, intent, State.RETRY, delay_s=8).refused is None
    place.later(9)
    mail = forgotten_send(place, intent, generation=2)
    place.later(2 * DAY)
    recovered(place, ago_s=2 * DAY + 600)
    row = place.intent(intent)
    assert (row.state, row.error_code, row.known) == ("needs_review", "forgotten_message", "accepted")
    told = next(one for one in place.log(intent) if one["kind"] == "contradicted")
    assert (told["detail"]["ids"], told["detail"]["generation"]) == ([mail], 2)
    assert trouble(place) is None
    story = notify("explain", KEY).out
    assert "the provider showed a message of generation 2, which is forgotten here." in story
    place.turn()
    assert place.sandbox.ledger(f"{KEY}~g2").accepted == 1


def test_a_person_cannot_repeat_what_the_list_shows_in_a_later_generation(provider: Provider) -> None:
    """The provider says of the first generation that it has none, and that is true."""
    place = provider.place
    intent = past_the_window(place, arrived=False)
    place.later(300)
    forgotten_send(place, intent, generation=2)
    place.later(2 * DAY)
    recovered(place, ago_s=2 * DAY + 600)
    assert stands(intent)[:1] == ("needs_review",)
    assert retry(place, intent) == "forgotten"


def test_a_complaint_about_a_forgotten_generation_blocks_the_address(provider: Provider) -> None:
    place, intent = provider.place, provider.accepted()
    provider.say("email.bounced", intent, **TRANSIENT)
    provider.apply()
    mail = forgotten_send(place, intent, generation=2)
    recovered(place)
    tags = {"site": "test", "intent": str(intent), "generation": "2"}
    said(provider, "email.complained", intent, mail, tags=tags)
    provider.apply()
    assert list(DeliveryBlock.objects.values_list("site_mode", "reason")) == [("sandbox", "complained")]
    assert (stands(intent)[3], parked()) == ("forgotten_message", 0)


def test_a_forgotten_resend_that_was_complained_about_is_not_ordered_again(provider: Provider) -> None:
    place = provider.place
    intent = undecided(place)
    mail = forgotten_send(place, intent, generation=2)
    place.later(2 * DAY)
    unclear = says(Found.INCONCLUSIVE, code="lookup.page_cap")
    recovered(place, unclear, ago_s=2 * DAY + 3600)
    tags = {"site": "test", "intent": str(intent), "generation": "2"}
    said(provider, "email.complained", intent, mail, tags=tags)
    provider.apply()
    with pytest.raises(NotAllowedNow, match="forgotten here"):
        order(place, intent)
    place.later(9)
    place.turn()
    assert place.sandbox.ledger(f"{KEY}~g2").accepted == 1


def test_nothing_is_freed_before_the_list_was_read(provider: Provider) -> None:
    """The look-up's "no" is about the generation that is known here; the list may show a later one."""
    place = provider.place
    witnessed(place)
    intent = place.enqueue()
    recovered(place, Unlisted(says(Found.NOT_FOUND).answer))
    assert (place.intent(intent).state, place.intent(intent).error_code) == ("needs_review", "restored")
    assert trouble(place) is None, "the rest goes out meanwhile"
    place.later(61)
    round_of_questions(place)
    assert place.intent(intent).state == "pending"


@pytest.mark.parametrize(
    ("event", "why", "status", "known"),
    [
        ("email.bounced", TRANSIENT, DeliveryStatus.BOUNCED, "soft_bounced"),
        ("email.failed", FAILED, DeliveryStatus.FAILED, "invalid"),
    ],
)
def test_what_came_back_before_the_restore_is_not_adopted_after_it(
    provider: Provider, event: str, why: dict[str, Any], status: DeliveryStatus, known: str
) -> None:
    place = provider.place
    intent, mail = gone_anew(provider, event, **why)
    opened(place)
    tended(place)
    assert (stands(intent)[0], place.intent(intent).known) == ("needs_review", known)
    place.later(130)
    round_of_questions(place, says(Found.FOUND, mail, status=status))
    tended(place)
    assert trouble(place) is None
    assert (place.intent(intent).known, place.intent(intent).state) == (known, "needs_review")
    with pytest.raises(NotAllowedNow):
        decide("adopt", place.intent(intent), "lena", "evidence_found", shift_s=place.shift_s)
    assert stands(intent)[0] == "needs_review"
    decide("retry", place.intent(intent), "lena", "provider_recovered", shift_s=place.shift_s)
    place.later(9)
    place.turn()
    assert place.intent(intent).generation == 2, "a message that can arrive, not the first one's replay"

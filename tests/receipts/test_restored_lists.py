"""After a restore nothing is decided before the provider's list was read, and no case in review is left unasked."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from notifications.delivery import restore
from notifications.providers.base import ListedPage
from notifications.states import Found
from reviews.refusals import NotAllowedNow
from tests.delivery.asking import DAY, KEY, Told, says
from tests.delivery.recovering import forgotten_send, opened, round_of_questions, tended, trouble
from tests.receipts.post import TRANSIENT, Provider, stands
from tests.reviews.deciding import decide

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


class Long(Told):
    """A list of many pages: each round ends before its end."""

    async def listed(self, *_asked: object) -> AsyncIterator[ListedPage]:
        yield ListedPage((), "", done=False)


LONG = Long(says(Found.INCONCLUSIVE, code="lookup.page_cap").answer)


def retried_in_the_lost_time(provider: Provider) -> int:
    """Give one that came back, and that a person retried in the lost time: its second generation went out."""
    place, intent = provider.place, provider.accepted()
    provider.say("email.bounced", intent, **TRANSIENT)
    provider.apply()
    forgotten_send(place, intent, generation=2)
    place.later(2 * DAY)
    opened(place, 2 * DAY + 600)
    tended(place)
    return intent


def retry(provider: Provider, intent: int) -> None:
    place = provider.place
    decide("retry", place.intent(intent), "olga", "provider_recovered", shift_s=place.shift_s)


def test_the_recovery_does_not_end_while_a_list_is_being_read(provider: Provider) -> None:
    place, intent = provider.place, retried_in_the_lost_time(provider)
    place.later(130)
    round_of_questions(place, LONG)
    tended(place)
    assert trouble(place) == "recovering"
    with pytest.raises(NotAllowedNow, match="a recovery is open"):
        retry(provider, intent)
    round_of_questions(place)
    tended(place)
    assert (trouble(place), place.intent(intent).error_code) == (None, "forgotten_message")
    assert place.sandbox.ledger(f"{KEY}~g2").accepted == 1


def test_the_recovery_does_not_end_before_the_list_was_begun(provider: Provider) -> None:
    place, intent = provider.place, retried_in_the_lost_time(provider)
    place.later(130)
    place.sql("UPDATE notifyops_private.notifications_question SET asked_at = clock_timestamp()", role="worker")
    tended(place)
    assert (trouble(place), stands(intent)[0]) == ("recovering", "needs_review")


def test_a_list_that_does_not_end_keeps_back_the_older_cases_alone(provider: Provider) -> None:
    place, intent = provider.place, retried_in_the_lost_time(provider)
    place.later(130)
    round_of_questions(place, LONG)
    place.later(1800)
    round_of_questions(place, LONG)
    tended(place)
    assert trouble(place) is None, "the rest goes out after half an hour"
    with pytest.raises(NotAllowedNow, match="long list is still being read"):
        retry(provider, intent)
    place.later(DAY)
    retry(provider, intent)
    assert stands(intent)[0] == "retry", "for a day at most: then a person decides"


def test_a_list_that_shows_a_later_message_when_the_recovery_has_ended_still_stops_it(provider: Provider) -> None:
    place, intent = provider.place, retried_in_the_lost_time(provider)
    place.later(2000)
    round_of_questions(place, LONG)
    tended(place)
    assert trouble(place) is None
    round_of_questions(place)
    assert place.intent(intent).error_code == "forgotten_message"
    with pytest.raises(NotAllowedNow, match="forgotten here"):
        retry(provider, intent)


def test_an_account_that_nobody_here_can_read_does_not_keep_the_recovery_open(provider: Provider) -> None:
    place, intent = provider.place, retried_in_the_lost_time(provider)
    place.sql("UPDATE notifyops_private.notifications_question SET account_id = 4711", role="worker")
    place.later(130)
    round_of_questions(place)
    tended(place)
    assert trouble(place) is None, place.sql("SELECT * FROM notifyops_private.notifications_recoverylist")
    assert stands(intent)[0] == "needs_review"


def test_cases_in_review_are_asked_about_however_much_was_accepted(
    provider: Provider, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """MOST stands for 10,000: so many were accepted in the ten minutes before the restored point."""
    monkeypatch.setattr(restore, "MOST", 3)
    place = provider.place
    held = [place.enqueue(f"held-{n}", kind="report_approved") for n in range(4)]
    for n in range(4):
        provider.accepted(f"new-{n}")
    forgotten_send(place, held[0])
    key = str(place.intent(held[0]).notification_id)
    opened(place, 60)
    tended(place)
    asked = {row[0] for row in place.sql("SELECT intent_id FROM notifyops_private.notifications_question")}
    assert (set(held) <= asked, len(asked)) == (True, 7)
    assert "only the newest 3" in caplog.text
    place.later(130)
    round_of_questions(place)
    tended(place)
    assert (trouble(place), stands(held[0])[0]) == (None, "accepted")
    place.turn()
    assert place.sandbox.ledger(key).accepted == 1

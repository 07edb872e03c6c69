"""A recovery's end is read from the log, and what an earlier one has left over is asked about with its own time."""

from __future__ import annotations

import psycopg
import pytest

from notifications.states import Found
from tests.delivery.asking import DAY, KEY, says, witnessed
from tests.delivery.recovering import forgotten_send, opened, recovered, round_of_questions, tended, trouble
from tests.receipts.post import Provider, stands

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
_HURRY = "UPDATE notifyops_private.notifications_question SET asked_at = notifyops_private.clock_v1(), asked_count = 1"
_TELL = (
    "INSERT INTO notifyops_private.notifications_recoverylist (recovery_id, account_id, done_at) "
    "SELECT %s, a.id, notifyops_private.clock_v1() FROM notifyops_private.notifications_provideraccount a"
)


def test_what_the_first_one_left_over_is_looked_for_in_its_own_lost_time(provider: Provider) -> None:
    """Else the second one's scan would end before it, and its "no" would send a second message."""
    place = provider.place
    witnessed(place)
    intent = place.enqueue()
    mail = forgotten_send(place, intent)
    recovered(place, says(Found.INCONCLUSIVE, code="lookup.page_cap"))
    assert stands(intent)[3] == "restored"
    place.later(3 * DAY)
    recovered(place, ago_s=600)
    assert (stands(intent)[0], place.intent(intent).provider_message_id) == ("accepted", mail)
    place.turn()
    assert place.sandbox.ledger(KEY).accepted == 1


def test_a_second_recovery_waits_for_what_the_first_one_left_over(provider: Provider) -> None:
    place = provider.place
    intent = place.enqueue()
    recovered(place, says(Found.INCONCLUSIVE, code="lookup.page_cap"))
    place.later(DAY)
    opened(place)
    tended(place)
    tended(place)
    assert (trouble(place), stands(intent)[3]) == ("recovering", "restored")
    place.later(130)
    round_of_questions(place, says(Found.INCONCLUSIVE, code="lookup.page_cap"))
    tended(place)
    assert trouble(place) is None


@pytest.mark.parametrize("how", [_HURRY, "DELETE FROM notifyops_private.notifications_question"])
def test_a_workers_login_cannot_end_a_recovery_by_its_own_notes(provider: Provider, how: str) -> None:
    place = provider.place
    intent = place.enqueue()
    number = opened(place)
    tended(place)
    place.sql(how, role="worker")
    place.sql(_TELL, number, role="worker")
    tended(place)
    assert (trouble(place), stands(intent)[3]) == ("recovering", "restored")


def test_an_answer_that_proves_nothing_is_written_once_for_the_recovery_that_waits_for_it(provider: Provider) -> None:
    place = provider.place
    intent = place.enqueue()
    deaf = says(Found.UNAVAILABLE, code="lookup.no_key")
    for expected in (1, 2):
        recovered(place, deaf)
        assert trouble(place) is None
        place.later(61)
        round_of_questions(place, deaf)
        assert place.kinds(intent).count("evidence") == expected
        place.later(DAY)


def test_what_a_list_has_shown_is_neither_taken_back_nor_rewritten_by_a_worker(provider: Provider) -> None:
    for statement in ("UPDATE {} SET tag_generation = '0'", "DELETE FROM {}"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            provider.place.sql(statement.format("notifyops_private.notifications_unknownmail"), role="worker")


def test_a_restored_point_that_is_ahead_is_now(provider: Provider) -> None:
    """Keys of what was forgotten would seem to protect for longer than they do."""
    opened(provider.place, ago_s=-3 * DAY)
    ((is_past,),) = provider.place.sql("SELECT since <= started_at FROM notifyops_private.notifications_recovery")
    assert is_past

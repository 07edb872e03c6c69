"""A receipt and a look-up that name two messages of one key: whichever is first, a person hears of both."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from notifications.door import Entry, append_call
from notifications.states import EntryKind, Found, State
from tests.cluster.machine import eventually
from tests.delivery.asking import ask, evidence, lost, person_asks, says
from tests.delivery.workplace import sent_all
from tests.receipts.post import Provider, stands

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


def test_a_receipt_settles_while_the_look_up_finds_another(provider: Provider) -> None:
    place = provider.place
    intent = lost(place, arrived=True)
    place.later(180)
    told = says(Found.FOUND, "other-mail")

    def receipt() -> None:
        provider.say("email.sent", intent, email_id="first-mail")
        provider.apply()

    told.before = receipt
    ask(place, told)
    assert stands(intent)[0] == "needs_review"
    assert place.intent(intent).error_code == "second_message"
    assert place.intent(intent).provider_message_id == "first-mail"
    assert place.kinds(intent)[-3:] == ["settled", "evidence", "contradicted"]


def test_a_look_up_settles_while_the_receipt_of_another_is_under_way(provider: Provider) -> None:
    place = provider.place
    intent = lost(place, arrived=True)
    place.later(180)
    provider.say("email.delivered", intent, email_id="other-mail")
    ask(place, says(Found.FOUND, "first-mail"))
    assert stands(intent)[0] == "accepted"
    provider.apply()
    place.later(2)
    provider.apply()
    assert place.intent(intent).error_code == "second_message"
    assert stands(intent)[0] == "needs_review"


def test_a_receipt_that_commits_between_the_look_and_the_answer(provider: Provider) -> None:
    """The look saw no id; when the answer is to be written, the intent is the receipt's, and it is asked once more."""
    place = provider.place
    intent = lost(place, arrived=True)
    place.later(180)
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%%append_v1%%'"
    settled = Entry(id=intent, to_state=State.ACCEPTED, provider_message_id="first-mail", outcome="accepted")
    query, values = append_call(EntryKind.SETTLED, [settled], worker="receipts")
    with psycopg.connect(place.dsn()) as receipts, ThreadPoolExecutor(1) as pool:
        receipts.execute(query.encode(), values)
        asking = pool.submit(ask, place, says(Found.FOUND, "other-mail"))
        eventually(lambda: place.sql(waiting, role="postgres") == [(1,)], 30)
        receipts.commit()
        asking.result(60)
    assert evidence(place, intent) == []
    place.later(3)
    ask(place, says(Found.FOUND, "other-mail"))
    assert place.intent(intent).error_code == "second_message"
    assert place.intent(intent).provider_message_id == "first-mail"


def test_what_is_found_while_an_attempt_runs_is_asked_for_again_when_it_has_ended(provider: Provider) -> None:
    place = provider.place
    intent = lost(place, arrived=False)
    assert place.person(EntryKind.RETRIED, intent, State.RETRY, delay_s=0).refused is None
    (lease,) = place.claim()
    person_asks(place, intent)
    ask(place, says(Found.FOUND, "other-mail"))
    assert evidence(place, intent) == []
    place.record(place.play(sent_all(place.shop(), [lease])))
    assert stands(intent)[0] == "accepted"
    place.later(20)
    ask(place, says(Found.FOUND, "other-mail"))
    assert place.intent(intent).error_code == "second_message"

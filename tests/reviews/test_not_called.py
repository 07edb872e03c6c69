"""What a person orders while its account is not called: the sentence says when it is done, on page and terminal."""

from __future__ import annotations

import re
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connections

from notifications.models import Circuit
from notifications.pausing import pause
from reviews.done_words import done_sentence
from reviews.reading import now as read_now
from tests.reviews import cases
from tests.reviews.cases import login, make_case, post
from tests.reviews.deciding import NEW, decide

pytestmark = pytest.mark.django_db(transaction=True)
AGAIN = "The account “resend” is not called now: this is done when it is called again, %s."
SECONDS, WORKER = "within a minute", "by the next free worker"


def hold(account_id: int, **facts: Any) -> str:
    """Open the circuit; give a pattern of the time when it is called again, whose day may stand before it."""
    until = read_now().replace(microsecond=0) + timedelta(minutes=3)
    given = {"open_until": until, "reason": "outage", "code": "not_sent.refused"} | facts
    Circuit.objects.update_or_create(account_id=account_id, defaults=given)
    return rf"at (\S+ )?{until:%H:%M}(:{until:%S})? UTC"


def terminal(*argv: str) -> str:
    out = StringIO()
    call_command("review", *argv, stdout=out)
    return out.getvalue()


def test_a_question_to_an_account_that_is_not_called_says_when_it_is_asked() -> None:
    case = make_case(cases.WINDOW_OVER)
    at = hold(case.account_id)
    html = post(login("olga"), case, "query", headers={"HX-Request": "true"}).content.decode()
    assert re.search(AGAIN % at, html)
    assert SECONDS not in html
    other = make_case(cases.WINDOW_OVER)
    printed = terminal("query", str(other.pk))
    assert re.search(f"The question is queued. {AGAIN % at}", printed)
    assert SECONDS not in printed


def test_a_retry_says_when_as_well_and_plainly_once_the_account_is_called() -> None:
    case, later = make_case(cases.NOT_SENT), make_case(cases.NOT_SENT)
    at = hold(case.account_id)
    printed = terminal("retry", str(case.pk), "--reason-code", "provider_recovered")
    assert re.search(f"Retry queued: one attempt. {AGAIN % at}", printed)
    Circuit.objects.update(open_until=None, reason=None)
    assert WORKER in terminal("retry", str(later.pk), "--reason-code", "provider_recovered")


@pytest.mark.parametrize("reason", ["daily_quota", "config"])
def test_a_used_up_quota_or_a_refused_key_holds_up_sending_and_no_question(reason: str) -> None:
    case, unsent = make_case(cases.WINDOW_OVER), make_case(cases.NOT_SENT)
    at = hold(case.account_id, reason=reason)
    assert SECONDS in str(done_sentence(decide("query", case)))
    assert re.search(at, str(done_sentence(decide("retry", unsent, code="provider_recovered"))))


def test_until_a_person_mends_the_account_no_time_is_named() -> None:
    case = make_case(cases.NOT_SENT)
    hold(case.account_id, reason="monthly_quota")
    with connections[cases.owner()].cursor() as cursor:
        cursor.execute("UPDATE notifyops_private.notifications_circuit SET open_until = 'infinity'")
    assert "until a person has mended it" in str(done_sentence(decide("retry", case, code="provider_recovered")))


def test_a_wait_that_the_provider_asked_for_and_a_pause_are_told() -> None:
    case, paused = make_case(cases.WINDOW_OVER), make_case(cases.NOT_SENT, workspace="acme")
    waits = read_now() + timedelta(minutes=2)
    hold(case.account_id, open_until=None, reason=None, wait_until=waits)
    assert "when it is called again" in str(done_sentence(decide("query", case)))
    Circuit.objects.update(wait_until=None)
    pause("workspace", "acme", span=timedelta(hours=1), reason=("too_many", ""), actor="user:lena")
    assert "A pause holds it until" in str(done_sentence(decide("retry", paused, code="provider_recovered")))


def test_what_goes_to_another_address_promises_no_seconds() -> None:
    case = make_case(cases.RECIPIENT)
    at = hold(case.account_id)
    told = str(done_sentence(decide("correct", case, address=NEW)))
    assert re.search(at, told)
    assert "in a few seconds" not in told

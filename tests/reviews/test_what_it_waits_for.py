"""What is due and yet not sent says what it waits for, what was ended what may be out: on its page and in its story."""

from __future__ import annotations

import re
from datetime import timedelta
from html import unescape

import pytest
from django.db import connection

from notifications.models import Circuit, Intent
from reviews.reading import now as read_now
from tests.intake.notify_cli import notify
from tests.reviews import cases
from tests.reviews.cases import login, make_case
from tests.reviews.deciding import decide, now

pytestmark = pytest.mark.django_db(transaction=True)


def page(intent: Intent) -> str:
    return unescape(login("olga").get(f"/reviews/{intent.pk}/").content.decode())


def story(intent: Intent) -> str:
    (line,) = [one for one in notify("explain", intent.notification_id).out.splitlines() if one.startswith("now: ")]
    return line


def test_what_waits_for_an_open_circuit_names_the_account_the_time_and_the_code() -> None:
    due, other = make_case(()), make_case(cases.ACCEPTED)
    until = read_now().replace(microsecond=0) + timedelta(minutes=3)
    given = {"open_until": until, "reason": "outage", "code": "not_sent.refused"}
    Circuit.objects.update_or_create(account_id=due.account_id, defaults=given)
    told = f"; waits for account resend, which is not called until {until:%Y-%m-%d %H:%M:%S}Z (not_sent.refused)."
    assert story(due).endswith(told)
    shown = f"It waits: the account “resend” is not called until {until:%Y-%m-%d %H:%M:%S} UTC (not_sent.refused)."
    assert shown in page(due)
    assert "waits for account" not in story(other)
    assert "It waits" not in page(other)
    Circuit.objects.update(open_until=read_now() - timedelta(seconds=1))
    assert "waits for account" not in story(due)
    assert "It waits" not in page(due)


def test_a_circuit_that_a_person_must_close_and_a_wait_that_the_provider_asked_for_are_told() -> None:
    due = make_case(())
    Circuit.objects.update_or_create(account_id=due.account_id, defaults={"reason": "config", "code": "resend.401.x"})
    with connection.cursor() as cursor:
        cursor.execute("UPDATE notifyops_private.notifications_circuit SET open_until = 'infinity'")
    assert story(due).endswith(
        "; waits for account resend, which is not called until a person has mended it (resend.401.x)."
    )
    assert "is not called until a person has mended it (resend.401.x)." in page(due)
    Circuit.objects.update(open_until=None, code=None, wait_until=read_now() + timedelta(minutes=1))
    assert re.search(r"; waits for account resend, which is not called until \S+ \S+Z\.$", story(due))


def test_what_was_cancelled_says_whether_an_earlier_attempt_may_have_reached_the_recipient() -> None:
    told = {}
    for steps in (cases.UNKNOWN, ()):
        one = make_case(steps)
        with connection.cursor() as cursor:
            cursor.execute("SELECT outcome FROM notifyops.cancel(%s, 'trial')", [one.notification_id])
            told[cursor.fetchone()[0]] = story(one)
    maybe = "now: cancelled: nothing more is sent, but an earlier attempt may have reached the recipient."
    assert told == {"cancelled_maybe_sent": maybe, "cancelled": "now: cancelled."}


def test_what_was_closed_says_what_is_known_of_it() -> None:
    case = make_case(cases.UNKNOWN)
    decide("close", case, "olga", "duplicate", text="")
    assert now(case).state == "closed"
    assert story(case) == "now: closed; known: unknown."

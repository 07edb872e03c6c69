"""Decisions of named people in a test, with what only some verbs ask for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django.contrib.auth.models import User
from django.db import connection, transaction

from notifications.models import Intent, LogEntry
from reviews import actions
from reviews.person import Person, from_user
from reviews.record import Done
from tests.reviews.cases import make_person, order

TEXT = "Agreed with the owner of the report."
NEW = "bea.canary@example.com"


def person(name: str) -> Person:
    """Give one of the people, made where there is none yet."""
    return from_user(User.objects.filter(username=name).first() or make_person(name))


def now(intent: Intent) -> Intent:
    return Intent.objects.get(pk=intent.pk)


def decide(verb: str, intent: Intent, who: str = "lena", code: str = "", text: str = TEXT, **more: Any) -> Done:
    """Let somebody decide on the case as `intent` has it; `shift_s` puts on the clock by which it is judged."""
    shift_s = more.pop("shift_s", 0.0)
    wanted = replace(order(intent, code, text, more.pop("token", None)), **more)
    if not shift_s:
        return actions.perform(verb, intent.pk, wanted, person(who))
    with transaction.atomic():
        put_on(shift_s)
        return actions.perform(verb, intent.pk, wanted, person(who))


def put_on(shift_s: float) -> None:
    """Put the database's clock on, in this transaction."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL notifyops_test.shift = %s", [f"{shift_s:.3f}s"])


def correct(intent: Intent, address: str = NEW, who: str = "lena", **more: Any) -> Intent:
    """Correct an address; give the notification that goes there."""
    done = decide("correct", intent, who, address=address, **more)
    return Intent.objects.get(notification_id=done.after["continued_as"], workspace=intent.workspace)


def last(intent: Intent) -> LogEntry:
    """Give the newest entry."""
    return LogEntry.objects.filter(intent_id=intent.pk).order_by("-seq")[0]

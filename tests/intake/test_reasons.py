"""A reason of a cancellation is kept for ever: SQL judges it by the same rule as every other door."""

from __future__ import annotations

import itertools

import pytest
from django.db import connections

from notifications import outbox
from notifications.models import LogEntry
from notifications.outbox_errors import SchemaError
from notifications.policy.reasons import is_personal

pytestmark = pytest.mark.django_db(databases=["default", "owner"])

PERSONAL = [
    "asked by ana@example.com",
    "asked by ana\uff20example\u3002com",
    "asked by ana\uff20example.com",
    "asked by +49 170 1234567",
    "asked by +491701234567",
    "asked by \uff0b\uff14\uff19 \uff11\uff17\uff10 \uff11\uff12\uff13\uff14",
]
PLAIN = ["ordered in error", "3 + 4 reports", "a @ b", "version 1.2.3-4", "ticket +12", "see <a@b>", "at 10:30 + 5 min"]


def sql_says(text: str) -> bool:
    with connections["owner"].cursor() as cursor:
        cursor.execute("SELECT notifyops_private.is_personal_v1(%s)", [text])
        return bool(cursor.fetchone()[0])


def test_both_rules_say_the_same_of_every_text() -> None:
    parts = [
        "",
        "ana",
        "@",
        "\uff20",
        "example",
        ".",
        "\u3002",
        "com",
        "+",
        "\uff0b",
        " ",
        "49",
        "170-12",
        "\uff11",
        "<",
    ]
    texts = [*PERSONAL, *PLAIN, *("".join(one) for one in itertools.product(parts, repeat=4))]
    with connections["owner"].cursor() as cursor:
        cursor.execute("SELECT x.t, notifyops_private.is_personal_v1(x.t) FROM unnest(%s::text[]) AS x(t)", [texts])
        wrong = [text for text, said in cursor.fetchall() if bool(said) != is_personal(text)]
    assert wrong == []
    assert all(sql_says(text) for text in PERSONAL)
    assert not any(sql_says(text) for text in PLAIN)


@pytest.mark.parametrize("reason", PERSONAL)
def test_a_cancellation_that_names_somebody_is_refused_and_leaves_nothing(reason: str) -> None:
    key = outbox.enqueue("report_ready", "r-1", "ana@example.com", {"title": "Q3"})
    with pytest.raises(SchemaError, match="no address or phone number"):
        outbox.cancel(key.notification_id, reason)
    assert reason not in str(list(LogEntry.objects.values_list("detail", flat=True)))
    assert outbox.cancel(key.notification_id, "ordered in error").outcome == "cancelled"

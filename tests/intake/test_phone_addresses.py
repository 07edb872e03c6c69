"""What the intake takes as a phone's number and as a chat: the same by SQL, by many at once and by Python."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.db import connections, transaction

from notifications import outbox, sqlfile
from notifications.models import Content, ProviderAccount
from notifications.outbox_errors import InvalidRecipient
from tests.intake.test_webhook_addresses import told
from tests.policy.test_phones import CHATS, NO_CHATS, NO_NUMBERS, NUMBERS

pytestmark = pytest.mark.django_db(databases=["default", "owner"])
FORMS = (
    *(("phone", text, text in NUMBERS) for text in (*NUMBERS, *NO_NUMBERS)),
    *(("chat", text, text in CHATS) for text in (*CHATS, *NO_CHATS) if "\x00" not in text),
)


@pytest.fixture(autouse=True)
def accounts(db: None) -> None:
    for name, kind, channel in (("texts", "twilio", "sms"), ("bot", "telegram", "telegram")):
        ProviderAccount.objects.create(
            name=name, kind=kind, channel=channel, sender="+15550001111", api_key_ref="env:TEXT_SECRET"
        )


@pytest.mark.parametrize(("form", "text", "taken"), FORMS, ids=ascii)
def test_the_database_takes_what_python_takes(form: str, text: str, taken: bool) -> None:
    assert told(f"SELECT notifyops_private.{form}_is_plain_v1(%s)", text, using="owner") is taken


@pytest.mark.parametrize(
    ("channel", "kinds"),
    [("sms", (True, False)), ("sms-alerts", (True, False)), ("telegram-ops", (False, True)), ("smsx", (False, False))],
)
def test_the_database_knows_the_same_channels(channel: str, kinds: tuple[bool, bool]) -> None:
    both = [told(f"SELECT notifyops_private.is_{one}_v1(%s)", channel, using="owner") for one in ("phone", "chat")]
    assert tuple(both) == kinds


def owe(channel: str, to: str, report: str = "demo-001") -> Any:
    with transaction.atomic():
        return outbox.enqueue("report_ready", report_id=report, to=to, data={"title": "Q3"}, channel=channel)


@pytest.mark.parametrize(("channel", "to"), [("sms", "+447700900123"), ("telegram", "@Acme_News")])
def test_an_address_is_taken_and_kept_letter_by_letter(channel: str, to: str) -> None:
    assert Content.objects.get(intent_id=owe(channel, to).id).recipient == to


@pytest.mark.parametrize(
    ("channel", "to", "what"),
    [
        ("sms", "+44 7700 900987", "phone number"),
        ("sms", "ana@example.com", "phone number"),
        ("telegram", "t.me/acme", "chat of Telegram"),
        ("telegram", "+447700900987", "chat of Telegram"),
    ],
)
def test_no_door_takes_anything_else(channel: str, to: str, what: str) -> None:
    with pytest.raises(InvalidRecipient, match=f"not one plain {what}"):
        owe(channel, to)
    options = {"channel": channel}
    item = {"notification_type": "report_ready", "report_id": "demo-001", "recipient": to, "data": {"title": "Q3"}}
    for call, values in (
        (
            "notifyops.enqueue('report_ready', 'demo-001', %s, '{\"title\": \"Q3\"}', %s::jsonb)",
            (to, json.dumps(options)),
        ),
        ("notifyops.enqueue_many(%s::jsonb)", (json.dumps([item | {"options": options}]),)),
    ):
        with pytest.raises(Exception, match=f"not one plain {what}") as refusal, transaction.atomic():
            told(f"SELECT count(*) FROM {call}", *values)
        assert to not in str(refusal.value)
    assert not Content.objects.exists()


def test_a_channels_name_in_other_letters_is_the_same_address() -> None:
    """Telegram's names have no case, so that a block of one is a block of the other."""
    owed = [owe("telegram", "@Acme_News", "demo-001"), owe("telegram", "@acme_news", "demo-002")]
    assert len({bytes(Content.objects.get(intent_id=one.id).commitment) for one in owed}) == 1


@pytest.mark.parametrize("name", ["phone_v1", "webhook_v1"])
def test_the_way_back_leaves_what_the_intake_asks(name: str) -> None:
    """The intake's functions stay as they are: without these nothing could be enqueued any more."""
    steps = sqlfile.run_sql(name)
    item = {"notification_type": "report_ready", "recipient": "ana@example.com", "data": {"title": "Q3"}}
    for place, step in enumerate((steps.reverse_sql, steps.sql)):
        with connections["owner"].cursor() as cursor:
            cursor.execute(str(step))
        items = [item | {"report_id": f"r-{place}"}]
        assert told("SELECT count(*) FROM notifyops.enqueue_many(%s::jsonb)", json.dumps(items)) == 1

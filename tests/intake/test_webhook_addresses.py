"""What the intake takes as an address to call: the same by SQL, by many at once and by Python."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.db import connections, transaction

from notifications import outbox
from notifications.models import Content, ProviderAccount
from notifications.outbox_errors import InvalidRecipient
from tests.policy.test_endpoints import REFUSED, TAKEN

pytestmark = pytest.mark.django_db(databases=["default", "owner"])


@pytest.fixture(autouse=True)
def account(db: None) -> ProviderAccount:
    return ProviderAccount.objects.create(
        name="hooks", kind="webhook", channel="webhook", sender="a@example.com", api_key_ref="env:HOOK_SECRETS"
    )


def told(query: str, *values: Any, using: str = "default") -> Any:
    with connections[using].cursor() as cursor:
        cursor.execute(query, values)
        row = cursor.fetchone()
    return row and row[0]


@pytest.mark.parametrize("text", [*TAKEN, *(one for one in REFUSED if "\x00" not in one)], ids=ascii)
def test_the_database_takes_what_python_takes(text: str) -> None:
    assert told("SELECT notifyops_private.url_is_plain_v1(%s)", text, using="owner") is (text in TAKEN)


@pytest.mark.parametrize(
    ("channel", "is_called"), [("webhook", True), ("webhook-erp", True), ("webhooks", False), ("email", False)]
)
def test_the_database_knows_the_same_channels(channel: str, is_called: bool) -> None:
    assert told("SELECT notifyops_private.is_called_v1(%s)", channel, using="owner") is is_called


def test_an_address_is_taken_and_kept_letter_by_letter() -> None:
    to = "https://hooks.example.com/In?Shop=7"
    with transaction.atomic():
        made = outbox.enqueue("report_event", report_id="demo-001", to=to, data={"title": "Q3"})
    assert Content.objects.get(intent_id=made.id).recipient == to


@pytest.mark.parametrize("to", ["ana@example.com", "https://Hooks.example.com/", "https://u:p@hooks.example.com/"])
def test_no_door_takes_anything_else(to: str) -> None:
    with pytest.raises(InvalidRecipient, match="address to call"), transaction.atomic():
        outbox.enqueue("report_event", report_id="demo-001", to=to, data={"title": "Q3"})
    item = {"notification_type": "report_event", "report_id": "demo-001", "recipient": to, "data": {"title": "Q3"}}
    for call, value in (
        ("notifyops.enqueue('report_event', 'demo-001', %s, '{\"title\": \"Q3\"}', '{}')", to),
        ("notifyops.enqueue_many(%s::jsonb)", json.dumps([item])),
    ):
        with pytest.raises(Exception, match="not one plain address to call") as refusal, transaction.atomic():
            told(f"SELECT count(*) FROM {call}", value)
        assert to not in str(refusal.value)
    assert not Content.objects.exists()

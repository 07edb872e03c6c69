"""What notifyops.enqueue refuses, and that each refusal names its field and says how to mend it."""

from __future__ import annotations

import json
from typing import Any

import psycopg
import pytest
from django.db import DatabaseError, connection, transaction

from notifications.models import Content, Intent
from tests.intake.conftest import QUERY

pytestmark = pytest.mark.django_db(databases=["default", "owner"])


def enqueue(
    report_id: str | None = "demo-001",
    *,
    kind: str | None = "report_ready",
    to: str | None = "ana@example.com",
    data: Any = None,
    options: Any = None,
) -> None:
    texts = [json.dumps({"title": "Q3"} if data is None else data), json.dumps(options or {})]
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(QUERY, [kind, report_id, to, *texts])
        assert cursor.fetchone() is not None


def refusal(*arguments: Any, **named: Any) -> tuple[str, str, str, str]:
    """Give SQLSTATE, message, detail and hint."""
    with pytest.raises(DatabaseError) as caught:
        enqueue(*arguments, **named)
    cause = caught.value.__cause__
    assert isinstance(cause, psycopg.Error)
    diag = cause.diag
    return cause.sqlstate or "", diag.message_primary or "", diag.message_detail or "", diag.message_hint or ""


BAD: list[tuple[dict[str, Any], str, str]] = [
    ({"kind": "none_such"}, "NO404", "notification_type"),
    ({"kind": None}, "NO404", "notification_type"),
    ({"report_id": ""}, "NO400", "report_id"),
    ({"report_id": None}, "NO400", "report_id"),
    ({"report_id": "a\nb"}, "NO400", "report_id"),
    ({"report_id": "x" * 201}, "NO400", "report_id"),
    ({"report_id": "with blank"}, "NO400", "options.notification_id"),
    ({"data": {}}, "NO400", "data.title"),
    ({"data": {"title": 3}}, "NO400", "data.title"),
    ({"data": {"title": None}}, "NO400", "data.title"),
    ({"data": ["Q3"]}, "NO400", "data"),
    ({"data": {"title": "x" * 262_144}}, "NO413", "data"),
    ({"options": {"expire_at": "2035-01-01T00:00:00Z"}}, "NO400", "options.expire_at"),
    ({"options": {"attachments": "x"}}, "NO400", "options.attachments"),
    ({"options": {"locale": 3}}, "NO400", "options.locale"),
    ({"options": {"locale": "e"}}, "NO400", "options.locale"),
    ({"options": {"priority": "soon"}}, "NO400", "options.priority"),
    ({"options": {"channel": "pigeon"}}, "NO400", "options.channel"),
    ({"options": {"workspace": "a/b"}}, "NO400", "options.workspace"),
    ({"options": {"actor": "a\nb"}}, "NO400", "options.actor"),
    ({"options": {"not_before": "2035-01-01T00:00:00"}}, "NO400", "options.not_before"),
    ({"options": {"not_before": "tomorrow+00"}}, "NO400", "options.not_before"),
    ({"options": {"expires_at": "infinity"}}, "NO400", "options.expires_at"),
    ({"options": {"notification_id": "a b"}}, "NO400", "options.notification_id"),
    ({"options": {"notification_id": "a~g2"}}, "NO400", "options.notification_id"),
    ({"options": {"notification_id": ""}}, "NO400", "options.notification_id"),
    ({"options": {"notification_id": "ключ"}}, "NO400", "options.notification_id"),
    ({"options": {"supersedes": "none"}}, "NO400", "options.supersedes"),
    ({"options": [1]}, "NO400", "options"),
]


@pytest.mark.parametrize(("arguments", "state", "field"), BAD)
def test_bad_arguments_are_refused_by_field(arguments: dict[str, Any], state: str, field: str) -> None:
    found, _, detail, _ = refusal(**{"report_id": "demo-001", **arguments})
    assert found == state
    assert f"field: {field}" in f"{detail},"
    assert Intent.objects.count() == 0


ADDRESSES = [
    '<a href="x">spambot</a>', '"Doe, Jane" <j@example.com>', "a@example.com, c@example.com",
    "a@example.com;c@example.com", "a@example.com\nBcc: x@example.com", "a@example.com\r\n", "a@b", "", " ", None,
    "a b@example.com", "a@b@example.com", "@example.com", "ana@", "ana", "ana@.example.com", "ana@example..com",
    "ana@example.com.", "ana@-example.com", ".ana@example.com", "ana.@example.com", "a..b@example.com",
    "a\tb@example.com", "ana@exa\u2028mple.com", "x" * 65 + "@example.com", "x" * 400 + "@example.com",
    "ana@" + "x" * 250 + ".com", "ana@example.com\x7f", "ana@\u00a0example.com", "ana\u200b@example.com",
    "ana@exa\u200bmple.com", "ana@example.com\u202e",
]  # fmt: skip


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_address_that_is_not_one_mailbox_is_refused(address: str | None) -> None:
    state, sentence, detail, hint = refusal(to=address)
    assert (state, sentence.startswith("recipient is"), "field: recipient" in detail) == ("NO400", True, True)
    assert hint
    # Never repeated: refusals are logged where addresses may not be.
    assert not address or len(address) < 14 or address not in sentence + detail + hint


@pytest.mark.parametrize(
    "address", ["ana@example.com ", " ana@example.com", "a+b'c@ex-ample.example.com", "a@bücher.example"]
)
def test_one_plain_address_is_taken_and_its_blanks_are_cut(address: str) -> None:
    enqueue(to=address)
    assert Content.objects.get().recipient == address.strip()


def nested(levels: int) -> dict[str, Any]:
    data: dict[str, Any] = {}
    for _ in range(levels - 1):
        data = {"in": data}
    return {"title": "Q3", "in": data}


def test_data_may_be_32_levels_deep_and_no_more() -> None:
    enqueue(data=nested(32))
    state, sentence, *_ = refusal("demo-002", data=nested(34))
    assert (state, "deeper" in sentence) == ("NO400", True)

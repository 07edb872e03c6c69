"""notifyops.enqueue and its kin as the writer role calls them, from any language."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from notifications.models import Content, Intent
from tests.intake.conftest import Call, Connect

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner"])


def refused(state: str, caught: pytest.ExceptionInfo[psycopg.Error]) -> tuple[str, str, str]:
    assert caught.value.sqlstate == state, caught.value
    diag = caught.value.diag
    return diag.message_primary or "", diag.message_detail or "", diag.message_hint or ""


def test_what_commits_exists_and_what_rolls_back_never_did(writer: Connect, owe: Call) -> None:
    with writer(autocommit=False) as connection:
        owe(connection)
        connection.rollback()
        assert Intent.objects.count() == 0
        owe(connection)
        connection.commit()
    assert Intent.objects.get().notification_id == "report-ready/demo-001"
    assert Intent.objects.get().created_by == "notifyops_test_writer"


def test_a_duplicate_is_never_null_and_leaves_the_transaction_usable(writer: Connect, owe: Call) -> None:
    with writer(autocommit=False) as connection:
        first = owe(connection)
        assert owe(connection) == (first[0], "report-ready/demo-001", False, "pending")
        assert owe(connection, "demo-002")[2]
        connection.commit()
    assert Intent.objects.count() == 2


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
    ({"options": {"attachments": []}}, "NO400", "options.attachments"),
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
def test_bad_arguments_are_refused_by_field(
    writer: Connect, owe: Call, arguments: dict[str, Any], state: str, field: str
) -> None:
    with writer() as connection, pytest.raises(psycopg.Error) as caught:
        owe(connection, arguments.pop("report_id", "demo-001"), **arguments)
    _, detail, _ = refused(state, caught)
    assert f"field: {field}" in f"{detail},"
    assert Intent.objects.count() == 0


ADDRESSES = [
    '<a href="x">spambot</a>', '"Doe, Jane" <j@example.com>', "a@example.com, c@example.com", "a@example.com;c@example.com",
    "a@example.com\nBcc: x@example.com", "a@example.com\r\n", "a@b", "", " ", None, "a b@example.com", "a@b@example.com",
    "@example.com", "ana@", "ana", "ana@.example.com", "ana@example..com", "ana@example.com.", "ana@-example.com",
    ".ana@example.com", "ana.@example.com", "a..b@example.com", "a\tb@example.com", "ana@exa\u2028mple.com",
    "x" * 65 + "@example.com", "x" * 400 + "@example.com", "ana@" + "x" * 250 + ".com", "ana@example.com\x7f",
    "ana@\u00a0example.com", "ana\u200b@example.com",
]  # fmt: skip


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_address_that_is_not_one_mailbox_is_refused(writer: Connect, owe: Call, address: str | None) -> None:
    with writer() as connection:
        with pytest.raises(psycopg.Error) as caught:
            owe(connection, to=address)
        sentence, detail, hint = refused("NO400", caught)
        assert (sentence.startswith("recipient is"), "field: recipient" in detail, bool(hint)) == (True, True, True)
        if address and address.strip():
            assert address not in sentence + detail + hint
        assert owe(connection)[2]


@pytest.mark.parametrize(
    "address", ["ana@example.com ", " ana@example.com", "a+b'c@ex-ample.example.com", "a@bücher.example"]
)
def test_one_plain_address_is_taken_and_its_blanks_are_cut(writer: Connect, owe: Call, address: str) -> None:
    with writer() as connection:
        owe(connection, to=address)
    assert Content.objects.get().recipient == address.strip()


def test_data_may_be_32_levels_deep_and_not_33(writer: Connect, owe: Call) -> None:
    def nested(levels: int) -> dict[str, Any]:
        data: dict[str, Any] = {}
        for _ in range(levels - 1):
            data = {"in": data}
        return {"title": "Q3", "in": data}

    with writer() as connection:
        assert owe(connection, data=nested(32))[2]
        with pytest.raises(psycopg.Error) as caught:
            owe(connection, "demo-002", data=nested(40))
        assert "deeper" in refused("NO400", caught)[0]


def test_the_key_stands_in_the_refusal_of_other_content_and_the_content_does_not(writer: Connect, owe: Call) -> None:
    with writer() as connection:
        owe(connection)
        with pytest.raises(psycopg.Error) as caught:
            owe(connection, to="bea@example.com", data={"title": "secret"})
    sentence, detail, hint = refused("NO422", caught)
    assert (detail, "supersedes" in hint) == ("existing: report-ready/demo-001", True)
    assert not {"ana@", "bea@", "secret"} & set((sentence + detail + hint).split())


def test_workspaces_do_not_see_each_other(writer: Connect, owe: Call) -> None:
    named = {"notification_id": "same-key"}
    with writer() as connection:
        first = owe(connection, options=named)
        second = owe(connection, options={**named, "workspace": "acme"}, to="bea@example.com")
        assert (first[2], second[2], first[0] != second[0]) == (True, True, True)
        with pytest.raises(psycopg.Error) as caught:
            owe(connection, options={"workspace": "other"})
        assert "notify grant" in refused("NO403", caught)[2]
        with pytest.raises(psycopg.Error) as caught:
            owe(
                connection,
                "demo-9",
                options={"supersedes": "same-key", "workspace": "acme", "notification_id": "same-key"},
            )
    one, other = Intent.objects.order_by("id")
    assert one.provider_key == "same-key"
    assert other.provider_key == f"same-key~w{other.pk}"


def test_the_writer_can_cancel_in_its_workspaces_and_nowhere_else(writer: Connect, owe: Call) -> None:
    with writer() as connection:
        owe(connection, options={"workspace": "acme"})
        cancel = "SELECT notification_id, outcome, state FROM notifyops.cancel(%s, %s, %s)"
        key = "acme/report-ready/demo-001"
        assert connection.execute(cancel, (key, "withdrawn", "acme")).fetchone() == (key, "cancelled", "cancelled")
        with pytest.raises(psycopg.Error) as caught:
            connection.execute(cancel, (key, "withdrawn", "other"))
        refused("NO403", caught)
        with pytest.raises(psycopg.Error) as caught:
            connection.execute(cancel, (key, "withdrawn", ""))
        refused("NO404", caught)


def test_many_are_refused_with_the_place_of_the_bad_one(writer: Connect) -> None:
    good = {
        "notification_type": "report_ready",
        "report_id": "z",
        "recipient": "ana@example.com",
        "data": {"title": "Q"},
    }
    bad: list[tuple[Any, str]] = [
        ({**good, "report_id": "a", "recipient": "a@b"}, "item 2: recipient"),
        ({**good, "report_id": "a", "to": "x"}, "item 2: an item has unknown fields"),
        ("text", "item 2: an item must be a JSON object"),
        ({}, "item 2: unknown notification type"),
    ]
    with writer() as connection:
        for item, sentence in bad:
            with pytest.raises(psycopg.Error, match=sentence):
                connection.execute("SELECT * FROM notifyops.enqueue_many(%s)", (Jsonb([good, item]),))
        for items in ({}, None):
            with pytest.raises(psycopg.Error, match="items must be a JSON array"):
                connection.execute("SELECT * FROM notifyops.enqueue_many(%s)", (Jsonb(items),))
        with pytest.raises(psycopg.Error) as caught:
            connection.execute("SELECT * FROM notifyops.enqueue_many(%s)", (Jsonb([good] * 10_001),))
        refused("NO413", caught)
        rows = connection.execute("SELECT position, created FROM notifyops.enqueue_many(%s)", (Jsonb([good, good]),))
        assert rows.fetchall() == [(1, True), (2, False)]
    assert Intent.objects.count() == 1


def test_the_version_of_the_contract_can_be_asked(writer: Connect) -> None:
    with writer() as connection:
        assert connection.execute("SELECT notifyops.api_version()").fetchone() == (1,)

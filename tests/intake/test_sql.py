"""notifyops.enqueue and its kin as the writer role calls them, from any language."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from notifications.models import Intent
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
        assert caught.value.diag.message_detail is None  # an empty one would be shown as an empty line
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
        no_lists: tuple[Any, ...] = ({}, None)
        for items in no_lists:
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

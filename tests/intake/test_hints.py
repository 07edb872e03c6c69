"""Every refusal says how to mend it, and shows no empty line where it names no field."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from notifications import outbox

pytestmark = pytest.mark.django_db(transaction=True)
ONE = "SELECT notifyops.enqueue(%s, %s, %s, %s, %s)"
MANY = "SELECT count(*) FROM notifyops.enqueue_many(%s)"
GOOD: tuple[Any, ...] = ("report_ready", "r-1", "ana@example.com", {"title": "Q3"}, {})


def bad(place: int, value: Any) -> tuple[str, tuple[Any, ...]]:
    """Give the call with one argument at fault."""
    arguments = [*GOOD[:place], value, *GOOD[place + 1 :]]
    return ONE, (*arguments[:3], Jsonb(arguments[3]), Jsonb(arguments[4]))


REFUSED = [
    bad(0, "no_such_type"),
    bad(1, ""),
    bad(2, ""),
    bad(2, "nobody"),
    bad(3, []),
    bad(3, {}),
    bad(3, {"title": 3}),
    bad(4, []),
    *(bad(4, {name: value}) for name, value in (
        ("priority", 1), ("priority", "high"), ("workspace", "a b"), ("locale", "?"), ("actor", "a\nb"),
        ("colour", "red"), ("attachments", "x"), ("expires_at", "soon"), ("not_before", "2030-01-01"),
        ("notification_id", "a b"), ("channel", "pigeon"), ("supersedes", "nothing"),
    )),
    (MANY, (Jsonb({}),)),
    (MANY, (Jsonb([1]),)),
    (MANY, (Jsonb([{"type": "x"}]),)),
    (MANY, (Jsonb([{"notification_type": "report_ready", "report_id": "", "recipient": "ana@example.com"}]),)),
    ("SELECT notifyops.cancel('nothing', 'A slip of the pen.', '')", ()),
    ("SELECT notifyops.cancel('nothing', '', '')", ()),
]  # fmt: skip


@pytest.mark.parametrize(("statement", "values"), REFUSED)
def test_a_refusal_by_the_database_has_a_hint(
    database_url: Callable[[str], str], statement: str, values: tuple[Any, ...]
) -> None:
    with psycopg.connect(database_url("web")) as connection, pytest.raises(psycopg.Error) as refusal:
        connection.execute(statement.encode(), values)
    told = refusal.value.diag
    assert (told.sqlstate or "").startswith("NO4"), told.message_primary
    assert (told.message_hint or "").endswith(".") or "…" in (told.message_hint or ""), told.message_primary
    assert told.message_detail != ""


def test_an_item_that_is_none_is_refused_by_its_place() -> None:
    with pytest.raises(outbox.SchemaError) as refusal:
        outbox.enqueue_many([{"notification_type": "report_ready"}])  # type: ignore[list-item]
    assert refusal.value.sentence == "item 1: it is a dict, not an Item"
    assert "outbox.Item(" in refusal.value.hint

"""The chain: SQL and Python agree, and verify finds what was done to it."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest
from psycopg.rows import dict_row

from notifications.chain import ENTRY, IDENTITY, entry_hash, genesis
from notifications.states import EntryKind, State
from tests.door.conftest import Owner, Tell
from tests.door.story import Story
from tests.intake.notify_cli import notify

pytestmark = pytest.mark.django_db(databases=["default", "owner"])
TYPES = {"intent_id": "bigint", "at": "timestamptz", "detail": "jsonb"} | dict.fromkeys(
    ("seq", "attempt", "generation", "fence", "http_status", "duration_ms"), "integer"
)
LETTERS = "az09 :-/\"'\\\n\täß→喂😀\u2028\x01"


def random_entry(rng: Random) -> dict[str, Any]:
    def text() -> str | None:
        return None if rng.random() < 0.3 else "".join(rng.choices(LETTERS, k=rng.randrange(12)))

    def number() -> int | None:
        return None if rng.random() < 0.2 else rng.randrange(-(2**31), 2**31)

    entry: dict[str, Any] = {name: number() if TYPES.get(name) == "integer" else text() for name in ENTRY}
    entry["intent_id"] = rng.randrange(2**63)
    entry["at"] = datetime(1971, 1, 1, tzinfo=UTC) + timedelta(microseconds=rng.randrange(10**17))
    entry["detail"] = (
        None if rng.random() < 0.3 else {text() or "k": text(), "n": rng.random() * 10 ** rng.randrange(9)}
    )
    return entry


def test_sql_and_python_hash_ten_thousand_random_entries_alike(owner: Owner) -> None:
    rng = Random(20261130)
    entries = [random_entry(rng) for _ in range(10_000)]
    prevs = [rng.randbytes(32) for _ in entries]
    sent = [
        {**entry, "at": entry["at"].isoformat(), "prev": prev.hex()} for entry, prev in zip(entries, prevs, strict=True)
    ]
    columns = ", ".join(f"{name} {TYPES.get(name, 'text')}" for name in ENTRY)
    query = (
        f"SELECT notifyops_private.entry_hash_v1(decode(r.prev, 'hex'), {', '.join(f'r.{name}' for name in ENTRY)}), "
        f"r.detail::text FROM ROWS FROM (jsonb_to_recordset(%s::jsonb) AS (prev text, {columns})) WITH ORDINALITY "
        f"AS r(prev, {', '.join(ENTRY)}, place) ORDER BY place"
    )
    rows = owner.execute(query.encode(), (json.dumps(sent),)).fetchall()
    assert len(rows) == 10_000
    for entry, prev, (hashed, detail) in zip(entries, prevs, rows, strict=True):
        assert hashed == entry_hash(prev, {**entry, "detail": detail})


def test_python_follows_a_real_chain_from_its_first_link(owner: Owner, tell: Tell) -> None:
    story = tell(workspace="acme").unknown()
    story.accepted()
    with owner.cursor(row_factory=dict_row) as cursor:
        cursor.execute(
            f"SELECT {', '.join(IDENTITY)}, head FROM notifyops_private.notifications_intent WHERE id = %s".encode(),
            (story.id,),
        )
        intent = cursor.fetchone()
        cursor.execute(
            f"SELECT {', '.join(ENTRY[:-1])}, detail::text AS detail, prev, hash"
            " FROM notifyops_private.notifications_logentry WHERE intent_id = %s ORDER BY seq".encode(),
            (story.id,),
        )
        entries = cursor.fetchall()
    assert intent is not None
    head = genesis(intent)
    for entry in entries:
        assert entry["prev"] == head
        head = entry_hash(head, entry)
        assert entry["hash"] == head
    assert (len(entries), head) == (4, intent["head"])


FAULTS: dict[str, tuple[str, str]] = {
    "an entry's text": ("UPDATE {log} SET code = 'other' WHERE intent_id = %(id)s AND seq = 2", "hash does not match"),
    "an entry's time": ("UPDATE {log} SET at = at + interval '1 us' WHERE intent_id = %(id)s AND seq = 1", "hash"),
    "an entry's detail": ("UPDATE {log} SET detail = '{{}}' WHERE intent_id = %(id)s AND seq = 2", "hash does not"),
    "a missing entry": ("DELETE FROM {log} WHERE intent_id = %(id)s AND seq = 2", "seq has a gap"),
    "a cut tail": ("DELETE FROM {log} WHERE intent_id = %(id)s AND seq = 4", "the log ends before the intent's seq"),
    "a cut log": ("DELETE FROM {log} WHERE intent_id = %(id)s", "the log ends before the intent's seq"),
    "two entries swapped": (
        "UPDATE {log} SET seq = CASE seq WHEN 2 THEN 30 ELSE 2 END WHERE intent_id = %(id)s AND seq IN (2, 3)",
        "prev is not the hash before",
    ),
    "the intent's state": ("UPDATE {intent} SET state = 'retry', leased_by = NULL, provider_message_id = NULL,"
        " next_attempt_at = now() WHERE id = %(id)s", "state is not that of the last entry"),
    "the intent's head": ("UPDATE {intent} SET head = sha256('x') WHERE id = %(id)s", "head is not the last hash"),
    "the intent's identity": (
        "UPDATE {intent} SET report_id = 'other' WHERE id = %(id)s", "prev is not the hash before"
    ),
    "a whole intent": ("DELETE FROM {intent} WHERE id = %(id)s", "prev is not the hash before"),
}  # fmt: skip


@pytest.mark.parametrize("fault", list(FAULTS))
def test_verify_finds_a_planted_fault(owner: Owner, tell: Tell, fault: str) -> None:
    story, bystander = tell().unknown(), tell().accepted()
    story.accepted()
    verify = "SELECT intent_id, fault FROM notifyops_private.verify_v1(%s, %s)"
    assert owner.execute(verify, (story.id, bystander.id)).fetchall() == []
    for table in ("intent", "logentry"):
        owner.execute(f"ALTER TABLE notifyops_private.notifications_{table} DISABLE TRIGGER USER".encode())
    statement, sentence = FAULTS[fault]
    names = {"log": "notifyops_private.notifications_logentry", "intent": "notifyops_private.notifications_intent"}
    assert owner.execute(statement.format(**names).encode(), {"id": story.id}).rowcount > 0
    found = owner.execute(verify, (story.id, bystander.id)).fetchall()
    assert {row[0] for row in found} == {story.id}
    assert any(sentence in row[1] for row in found)


@pytest.mark.role("owner")
def test_the_command_counts_what_it_verified_and_fails_on_a_fault() -> None:
    from django.db import connection

    assert notify("verify").out == "0 entries verified, 0 faults\n"
    for number in range(3):
        notify("enqueue", "report_approved", f"demo-{number}", "ana@example.com", "--data", '{"title": "Q3"}')
    assert notify("verify").out == "3 entries verified, 0 faults\n"
    assert notify("verify", "report-approved/demo-1", "--json").document == {"entries": 1, "faults": []}
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE notifyops_private.notifications_logentry DISABLE TRIGGER USER")
        cursor.execute(
            "UPDATE notifyops_private.notifications_logentry SET actor = 'user:sam' WHERE intent_id = "
            "(SELECT id FROM notifyops_private.notifications_intent WHERE report_id = 'demo-1')"
        )
    broken = notify("verify")
    assert broken.code == 1
    assert "report-approved/demo-1" in broken.out
    assert broken.out.endswith("3 entries verified, 1 fault\n")


def test_a_late_answer_is_kept_and_moves_nothing(tell: Tell) -> None:
    story: Story = tell().unknown()
    story.accepted()
    head, state = story.column("head"), story.column("state")
    assert story.append(EntryKind.LATE, fence=1, attempt=1, outcome="accepted", provider_message_id="pm-late") is None
    assert (story.column("state"), story.column("seq"), story.column("fence")) == (state, 5, 2)
    assert story.column("head") != head
    assert story.append(EntryKind.RESULT, State.RETRY, fence=1, outcome="unknown") == "fence"

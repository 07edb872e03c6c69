"""`enqueue_many` writes as sets what `enqueue` writes row by row: the same rows, the same refusals, and no deadlock."""

from __future__ import annotations

import random
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import psycopg
import pytest
from psycopg.types.json import Jsonb

from notifications.models import Intent
from tests.intake.conftest import Connect

pytestmark = [pytest.mark.django_db(transaction=True, databases=["default", "owner"]), pytest.mark.slow]
MANY = "SELECT notification_id, created, state FROM notifyops.enqueue_many(%s) ORDER BY position"
ONE = "SELECT notification_id, created, state FROM notifyops.enqueue(%s, %s, %s, %s, %s)"
# The rows that a call leaves behind, but for what no two calls share: ids, times, and the hashes over them.
ROWS = """
    SELECT i.notification_id, i.key_suffix <> '', i.report_id, i.type, i.channel, i.workspace, i.account_id, i.lane,
        i.state, i.known, i.error_code, i.next_action, i.next_attempt_at IS NULL, i.next_attempt_at > i.created_at,
        i.expires_at - i.created_at > interval '2 d', i.failure_limit, s.notification_id, i.seq, i.actor, i.created_by,
        i.month, k.singular, k.fingerprint, c.recipient, c.commitment, c.data, c.locale,
        (SELECT array_agg(l.kind ORDER BY l.seq) FROM notifyops_private.notifications_logentry l
         WHERE l.intent_id = i.id)
    FROM notifyops_private.notifications_intent i
    JOIN notifyops_private.notifications_intentkey k ON k.intent_id = i.id AND k.key = i.notification_id
    JOIN notifyops_private.notifications_content c ON c.intent_id = i.id
    LEFT JOIN notifyops_private.notifications_intent s ON s.id = i.supersedes_id
    ORDER BY i.workspace, i.notification_id
"""
Connection = psycopg.Connection[Any]


def item(report: Any = "demo-001", **options: str) -> dict[str, Any]:
    """Give a good item with these options."""
    plain = {"notification_type": "report_ready", "recipient": "ana@example.com", "data": {"title": "Q3"}}
    return {**plain, "report_id": report, "options": options}


# Option: how often, and with which values. What makes the content another one is rare, or all would be refused.
CHANCES = {
    "priority": (0.1, ["urgent", "normal", "bulk"]),
    "locale": (0.1, ["zh-hans"]),
    "not_before": (0.1, ["2098-01-02T03:04:05Z"]),
    "notification_id": (0.01, ["a/1", "a/2", "report-ready/r-3"]),
    "workspace": (0.2, ["acme"]),
    "actor": (0.005, ["user:olga"]),
    "expires_at": (0.005, ["2099-01-02T03:04:05Z"]),
}


def random_item(rng: random.Random) -> dict[str, Any]:
    """Give an item among so few reports, keys and contents that they meet again and again."""
    return {
        "notification_type": rng.choices(["report_ready", "report_approved"], [4, 1])[0],
        "report_id": f"r-{rng.randrange(700)}",
        "recipient": rng.choices(["ana@example.com", " ana@EXAMPLE.com "], [9, 1])[0],
        "data": {"title": rng.choices(["Q3", "四"], [199, 1])[0]},
        "options": {name: rng.choice(some) for name, (chance, some) in CHANCES.items() if rng.random() < chance},
    }


NOT_OPTIONS: Final[list[Any]] = [
    *([], {"misspelt": "x"}, {"workspace": "other"}, {"channel": "pigeon"}, {"not_before": "now"}),
    *({"notification_id": "a b"}, {"supersedes": "none"}),
]
SPOILT: Final[list[dict[str, Any]]] = [
    *({"recipient": "nobody"}, {"recipient": None}, {"notification_type": "none_such"}, {"report_id": ""}),
    *({"data": {}}, {"data": []}, {"data": {"title": 1}}, {"data": {"title": "x" * 270_000}}, {"surplus": 1}),
    *({"options": options} for options in NOT_OPTIONS),
]


def one_by_one(connection: Connection, items: list[Any]) -> list[Any] | tuple[str, str]:
    """Enqueue each by itself, in the order of writing; give the rows by place, or the first refusal."""

    def order(place: int) -> tuple[str, ...]:
        one = items[place]
        options = one["options"] if isinstance(one["options"], dict) else {}
        space, report, kind = options.get("workspace", ""), one["report_id"], one["notification_type"]
        made = f"{space}/" * bool(space) + f"{kind.replace('_', '-')}/{report}"
        return space, report, kind, options.get("notification_id", made), f"{place:06d}"

    found: dict[int, Any] = {}
    for place in sorted(range(len(items)), key=order):
        one = items[place]
        if "surplus" in one:
            return "NO400", f"item {place + 1}: an item has unknown fields"
        values = one["notification_type"], one["report_id"], one["recipient"], Jsonb(one["data"]), Jsonb(one["options"])
        try:
            found[place] = connection.execute(ONE, values).fetchone()
        except psycopg.Error as refusal:
            return refusal.sqlstate or "", f"item {place + 1}: {refusal.diag.message_primary}"
    return [found[place] for place in range(len(items))]


def as_set(connection: Connection, items: list[Any]) -> list[Any] | tuple[str, str]:
    """Enqueue all in one call; give the rows by place, or the refusal."""
    try:
        return connection.execute(MANY, (Jsonb(items),)).fetchall()
    except psycopg.Error as refusal:
        return refusal.sqlstate or "", refusal.diag.message_primary or ""


def test_two_thousand_random_rows_are_written_and_refused_alike(writer: Connect, as_role: Connect) -> None:
    """Twice the same batches, on an empty database each: by `enqueue_many`, and row by row."""
    rng = random.Random(20_31)
    batches = [[random_item(rng) for _ in range(25)] for _ in range(80)]
    for wrong, batch in zip(SPOILT, batches[::4], strict=False):
        place = rng.randrange(len(batch))
        batch[place] = batch[place] | wrong
    told = []
    for way in (as_set, one_by_one):
        answers = []
        with writer(autocommit=False) as connection, as_role("owner") as owner:
            for batch in batches:
                answers.append(way(connection, batch))
                connection.rollback() if isinstance(answers[-1], tuple) else connection.commit()
            rows = owner.execute(ROWS).fetchall()
            told.append((answers, rows))
            owner.execute(
                "SELECT notifyops_test.truncate_all(ARRAY['notifications_intent', 'notifications_intentkey', "
                "'notifications_content', 'notifications_logentry'])"
            )
    (set_answers, set_rows), (row_answers, row_rows) = told
    assert set_answers == row_answers
    assert set_rows == row_rows
    refusals = {answer[0] for answer in set_answers if isinstance(answer, tuple)}
    assert {"NO400", "NO403", "NO404", "NO413", "NO422"} <= refusals
    assert len(set_rows) > 300
    assert {False, True} == {row[1] for answer in set_answers if isinstance(answer, list) for row in answer}


def test_an_item_that_supersedes_another_takes_its_place(writer: Connect) -> None:
    with writer() as connection:
        connection.execute(MANY, (Jsonb([item(), item("demo-002")]),))
        newer = item("demo-001", notification_id="newer", supersedes="report-ready/demo-001")
        assert connection.execute(MANY, (Jsonb([newer, item("demo-003")]),)).fetchall() == [
            ("newer", True, "pending"),
            ("report-ready/demo-003", True, "pending"),
        ]
    assert Intent.objects.get(notification_id="report-ready/demo-001").state == "cancelled"


def test_what_the_writer_may_not_do_alone_it_may_not_do_in_a_batch(writer: Connect) -> None:
    with writer() as connection:
        refused = as_set(connection, [item(), item("demo-002", workspace="other")])
    assert refused == ("NO403", 'item 2: role notifyops_test_writer has no grant for workspace "other"')
    assert Intent.objects.count() == 0


def test_a_batch_of_nothing_and_what_is_no_batch(writer: Connect) -> None:
    with writer() as connection:
        assert as_set(connection, []) == []
        assert as_set(connection, ["text"]) == ("NO400", "item 1: an item must be a JSON object")
        assert as_set(connection, {"a": 1}) == ("NO400", "items must be a JSON array of objects")  # type: ignore[arg-type]


@pytest.mark.parametrize("level", [psycopg.IsolationLevel.REPEATABLE_READ, psycopg.IsolationLevel.SERIALIZABLE])
def test_under_a_frozen_snapshot_a_batch_that_lost_the_race_gets_40001(
    writer: Connect, level: psycopg.IsolationLevel
) -> None:
    with writer(autocommit=False) as snapshot, writer() as other:
        snapshot.isolation_level = level
        snapshot.execute("SELECT 1")
        other.execute(MANY, (Jsonb([item()]),))
        with pytest.raises(psycopg.errors.SerializationFailure):
            snapshot.execute(MANY, (Jsonb([item(), item("demo-002")]),))


def crossed(turn: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Give two batches over the same reports under ids of their own, whose orders by id are each other's reverse."""
    reports = [f"r-{turn}-{place:02}" for place in range(20)]
    rising = [item(report, notification_id=f"one/{report}") for report in reports]
    falling = [
        item(report, notification_id=f"two/{turn}-{len(reports) - place:02}") for place, report in enumerate(reports)
    ]
    return rising, falling


def test_two_imports_of_the_same_reports_under_different_ids_do_not_deadlock(writer: Connect) -> None:
    """Rows conflict by key and by report and type; by the order of keys alone these two would wait for each other."""
    ready = threading.Barrier(2, timeout=120)
    with writer() as first, writer() as second, ThreadPoolExecutor(2) as pool:

        def run(connection: Connection, which: int) -> int:
            created = 0
            for turn in range(40):
                items = Jsonb(crossed(turn)[which])
                ready.wait()
                created += sum(row[1] for row in connection.execute(MANY, (items,)).fetchall())
            return created

        counts = [pool.submit(run, first, 0), pool.submit(run, second, 1)]
        assert sum(count.result(timeout=240) for count in counts) == 800
    assert Intent.objects.count() == 800

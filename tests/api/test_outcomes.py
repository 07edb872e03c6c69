"""The outcomes feed: in an order in which nothing comes late, resumable, none twice, only the token's own."""

from __future__ import annotations

import json
import random

import psycopg
import pytest

from tests.api.callers import caller
from tests.api.feed import advance, close, open_transaction, read
from tests.delivery.workplace import Workplace
from tests.intake.notify_cli import notify

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner"])


def test_a_later_entry_waits_for_an_earlier_one_whose_transaction_is_still_open(place: Workplace) -> None:
    first, second = place.enqueue("r-1"), place.enqueue("r-2")
    with open_transaction(place) as slow:
        close(slow, first)  # has taken the lower id
        with open_transaction(place) as quick:
            close(quick, second)
        advance(place)
        assert read(place) == []  # although the second is committed
        slow.commit()
    advance(place)
    rows = read(place)
    assert [(row[1], row[4]) for row in rows] == [("report-ready/r-1", "closed"), ("report-ready/r-2", "closed")]
    assert rows[0][0] < rows[1][0]


def test_one_that_is_rolled_back_holds_up_nobody_afterwards(place: Workplace) -> None:
    first, second = place.enqueue("r-1"), place.enqueue("r-2")
    with open_transaction(place) as slow:
        close(slow, first)
        with open_transaction(place) as quick:
            close(quick, second)
        slow.rollback()
    advance(place)
    assert [row[1] for row in read(place)] == ["report-ready/r-2"]


def test_a_transaction_that_writes_no_entry_holds_up_nothing(place: Workplace) -> None:
    intent = place.enqueue("r-1")
    with open_transaction(place) as idle:
        # It has a transaction id, and looks at the log; a horizon by ids would wait for it.
        idle.execute("SELECT pg_current_xact_id(), count(*) FROM notifyops.log")
        idle.execute("SELECT * FROM notifyops.enqueue('report_ready', 'r-9', 'ana@example.com', '{\"title\": \"Q3\"}')")
        with open_transaction(place) as quick:
            close(quick, intent)
        advance(place)
        assert [row[4] for row in read(place)] == ["closed"]


def test_one_prepared_for_two_phases_is_waited_for_also_after_a_restart(place: Workplace) -> None:
    first, second = place.enqueue("r-1"), place.enqueue("r-2")
    with psycopg.connect(place.dsn("web"), autocommit=True) as slow:
        slow.execute("BEGIN")
        close(slow, first)
        with open_transaction(place) as quick:
            close(quick, second)
        advance(place, times=1)
        slow.execute("PREPARE TRANSACTION 'slow'")
        try:
            advance(place)
            seen = read(place)
            # A restart of the server gives it another name; its locks stay.
            place.sql("UPDATE notifyops_private.feed_horizon SET waits_for = '{99/1}'")
            advance(place)
            seen += read(place)
        finally:
            # Whatever happens: its locks would outlive the test.
            slow.execute("COMMIT PREPARED 'slow'")
    assert seen == []
    advance(place)
    assert len(read(place)) == 2


@pytest.mark.slow
def test_whatever_commits_in_whatever_order_no_cursor_misses_or_repeats_anything(place: Workplace) -> None:
    rng = random.Random(7)
    intents = [place.enqueue(f"r-{n:02d}") for n in range(40)]
    cursor, seen, running = 0, list[tuple[str, int]](), list[psycopg.Connection[tuple[object, ...]]]()
    while intents or running:
        if intents and (len(running) < 5 or rng.random() < 0.4):
            connection = psycopg.connect(place.dsn("web"))
            close(connection, intents.pop())
            running.append(connection)
        else:
            ended = running.pop(rng.randrange(len(running)))
            ended.commit()
            ended.close()
        if rng.random() < 0.7:
            advance(place, times=1)
        for position, key, _space, seq, _outcome in read(place, cursor, rng.choice([1, 3, 1000])):
            assert position > cursor
            cursor = position
            seen.append((key, seq))
    advance(place)
    seen += [(row[1], row[3]) for row in read(place, cursor)]
    assert sorted(seen) == [(f"report-ready/r-{n:02d}", 1) for n in range(40)]


def test_a_whole_story_is_told_in_the_producers_words(place: Workplace) -> None:
    place.enqueue("r-1")
    place.turn()
    held = place.enqueue("r-2", kind="report_approved")
    with open_transaction(place) as person:
        person.execute("SELECT * FROM notifyops.cancel('report-ready/r-1', 'Too late for this.')")
        person.execute("SELECT * FROM notifyops.cancel('report-approved/r-2', 'The report was withdrawn.')")
    advance(place)
    assert [(row[1], row[4]) for row in read(place)] == [
        ("report-ready/r-1", "accepted"),
        ("report-approved/r-2", "needs_review"),
        ("report-approved/r-2", "cancelled"),
    ]
    assert place.intent(held).state == "cancelled"


def test_over_http_a_token_gets_its_own_workspaces_and_goes_on_from_its_cursor(place: Workplace) -> None:
    for n in range(6):
        intent = place.enqueue(f"r-{n}", workspace="acme" if n % 2 else "other")
        with open_transaction(place) as person:
            close(person, intent)
    advance(place)
    acme = caller("read", workspaces=("acme",))
    part = acme.get("/outcomes?limit=2").document
    assert [one["report_id"] for one in part["items"]] == ["r-1", "r-3"]
    assert [(one["outcome"], one["reason_code"], one["state"]) for one in part["items"]] == [
        ("closed", "duplicate", "closed")
    ] * 2
    assert part["has_more"]
    rest = acme.get(f"/outcomes?limit=2&after={part['next_after']}").document
    assert ([one["report_id"] for one in rest["items"]], rest["has_more"]) == (["r-5"], False)
    again = acme.get(f"/outcomes?after={rest['next_after']}").document
    assert again == {"items": [], "next_after": rest["next_after"], "has_more": False}
    assert len(caller("read", workspaces=("*",)).get("/outcomes").document["items"]) == 6
    assert caller("read", workspaces=("none",)).get("/outcomes").document["items"] == []


def test_at_the_terminal_one_begins_where_one_ended(place: Workplace) -> None:
    for n in range(3):
        intent = place.enqueue(f"r-{n}")
        with open_transaction(place) as person:
            close(person, intent)
    advance(place)
    first = notify("outcomes", "--lines", "2")
    assert [line.split()[3:] for line in first.out.splitlines()] == [
        [f"report-ready/r-{n}", "#1", "closed", "duplicate"] for n in range(2)
    ]
    assert all(line.split()[2].endswith("Z") for line in first.out.splitlines())
    position = first.out.splitlines()[-1].split()[0]
    rest = [json.loads(line) for line in notify("outcomes", "--after", position, "--json").out.splitlines()]
    assert [(one["notification_id"], one["outcome"]) for one in rest] == [("report-ready/r-2", "closed")]
    assert notify("outcomes", "--workspace", "acme").out == ""
    assert notify("outcomes", "--after", "-1").code == 1


def test_the_horizon_is_moved_by_the_cluster_and_the_feed_read_by_readers(place: Workplace) -> None:
    for role, statement in (
        ("reader", "SELECT notifyops_private.advance_horizon_v1()"),
        ("writer", "SELECT * FROM notifyops.outcomes()"),
        ("web", "UPDATE notifyops_private.feed_horizon SET horizon = 9"),
    ):
        with (
            psycopg.connect(place.dsn(role), autocommit=True) as connection,
            pytest.raises(psycopg.errors.InsufficientPrivilege),
        ):
            connection.execute(statement.encode())


@pytest.mark.parametrize(
    ("kind", "moves", "says", "word"),
    [
        ("receipt", False, "delivered", "delivered"),
        ("receipt", True, "delivered", "needs_review"),  # a second message under one key
        ("receipt", True, "bounced", "bounced"),
        ("settled", True, "delivered", "delivered"),
        ("settled", True, "sent", "accepted"),
    ],
)
def test_the_word_of_an_entry_is_what_it_means_for_the_producer(place: Workplace, kind, moves, says, word) -> None:
    before, after = (
        ("retry", "accepted") if kind == "settled" else ("accepted", "needs_review" if moves else "accepted")
    )
    query = "SELECT notifyops_private.outcome_of_v1(%s, %s, %s, %s)"
    assert place.sql(query, kind, before, after, json.dumps({"says": says})) == [(word,)]

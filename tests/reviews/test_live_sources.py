"""What the hub reads: each entry of a case once, whatever the order in which they commit, and by its own index."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from django.db import connection, connections

from notifications.models import Intent
from reviews import live_sources
from reviews.live_sources import Cases, Site
from tests.reviews import cases
from tests.reviews.cases import make_case
from tests.reviews.deciding import decide, now

pytestmark = pytest.mark.django_db(transaction=True)
OF_CASES = "notifyops_private.logentry_of_cases"


def told(source: Cases) -> list[list[Any]]:
    found = [json.loads(news.data) for news in source.read()]
    assert len(found) <= 1
    return list(found[0]["cases"]) if found else []


def test_each_move_is_told_once_and_delivery_not_at_all() -> None:
    before = make_case(cases.UNKNOWN)
    source = Cases()
    assert told(source) == []
    assert told(source) == [], "what was there before"
    came = make_case(cases.BOUNCED)
    make_case(cases.ACCEPTED)
    assert told(source) == [[came.pk, came.seq, "needs_review", "bounced"]]
    assert told(source) == []
    decide("close", now(before), "lena", "duplicate", text="")
    ((number, version, state, _code),) = told(source)
    assert (number, version, state) == (before.pk, before.seq + 1, "closed")


def test_an_entry_that_commits_late_is_told_all_the_same(as_role: Any) -> None:
    """Its id is lower than one that was seen already."""
    late, early = make_case(cases.UNKNOWN), make_case(cases.UNKNOWN)
    source = Cases()
    told(source)
    slow = as_role("owner", autocommit=False)
    append(slow, late)
    append(connections["owner"].cursor(), early)
    assert [one[0] for one in told(source)] == [early.pk]
    slow.commit()
    assert [one[0] for one in told(source)] == [late.pk]
    assert told(source) == []


def append(cursor: Any, intent: Intent) -> None:
    entry = {"id": intent.pk, "to_state": "closed", "seq": intent.seq, "reason_code": "duplicate"}
    cursor.execute(
        "SELECT refused FROM notifyops_private.append_v1('closed', %s::jsonb, NULL, 'user:lena')",
        [json.dumps([entry])],
    )


def test_more_than_a_look_takes_is_said_and_what_comes_then_is_told() -> None:
    source = Cases(most=3)
    told(source)
    for _ in range(4):
        make_case(cases.UNKNOWN)
    (news,) = source.read()
    assert json.loads(news.data)["more"] is True
    came = make_case(cases.UNKNOWN)
    assert [one[0] for one in told(source)] == [came.pk]


def test_what_is_old_enough_is_forgotten() -> None:
    source = Cases(overlap_s=0.0)
    told(source)
    for _ in range(3):
        came = make_case(cases.UNKNOWN)
        assert [one[0] for one in told(source)] == [came.pk]
        told(source)
    assert source._seen == set()


def test_the_look_reads_its_own_index_and_nothing_of_what_is_delivered() -> None:
    make_case(cases.UNKNOWN)
    with connection.cursor() as cursor:
        cursor.execute("SET enable_seqscan = off")
        cursor.execute("EXPLAIN " + live_sources._MOVED, [0, [1], 1000])
        plan = "\n".join(row[0] for row in cursor.fetchall())
        cursor.execute("RESET enable_seqscan")
        cursor.execute("SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = %s::regclass", [OF_CASES])
        own = {row[0].rpartition(".")[2] for row in cursor.fetchall()}
    assert "Seq Scan" not in plan
    # As an index scan or as a bitmap, by how many rows the planner expects in a month's part.
    used = set(re.findall(r"Index (?:Only )?Scan (?:using|on) (\S+)", plan))
    assert used
    assert used <= own, "another index is read, and each of its rows looked at"


def test_the_header_s_counts_are_read_some_times_a_minute() -> None:
    site = Site()
    (news,) = site.read()
    assert json.loads(news.data) == "0.0.0"
    assert site.read() == []

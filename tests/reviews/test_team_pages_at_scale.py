"""The lists of people's deeds and the figures come from indexes, however long the log and the record are."""

from __future__ import annotations

import re

import pytest
from django.db import connection, connections

from notifications.models import Intent
from reviews import human_log, stats, watching
from reviews.standing import read_standing
from tests.reviews.test_queue_at_scale import accept_most, many

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
__all__ = ["many"]

_DEEDS = """
INSERT INTO notifyops_private.reviews_review (intent_id, action, actor, at, outcome, refusal, reason_code, reason)
SELECT %s, (ARRAY['close', 'retry', 'query'])[1 + n %% 3], 'user:p' || n %% 50,
    now() - make_interval(secs => n), 'refused', 'changed', '', '' FROM generate_series(1, 60000) n
"""


class Explained:
    """Explains each of our statements before it runs."""

    def __init__(self) -> None:
        self.plans: list[str] = []

    def __call__(self, execute, sql, params, many, context):
        if re.match(r"\s*(SELECT|WITH)", sql) and "clock_v1" not in sql:
            with context["connection"].connection.cursor() as cursor:
                cursor.execute(f"EXPLAIN {sql}", params)
                self.plans.append("\n".join(row[0] for row in cursor.fetchall()))
        return execute(sql, params, many, context)


def test_every_page_of_the_team_reads_index_ranges(many: None) -> None:
    accept_most()
    intent = Intent.objects.earliest("pk")
    with connections["owner"].cursor() as cursor:
        cursor.execute(_DEEDS, [intent.pk])
        cursor.execute("ANALYZE notifyops_private.reviews_review, notifyops_private.notifications_logentry")
    now = read_standing().now
    # What is asked, and the tables that may not be read through.
    asked = [
        ({}, "reviews_review"),
        ({"who": "p7"}, "reviews_review"),
        ({"verb": "close"}, "reviews_review"),
        ({"case": intent.notification_id}, "reviews_review"),
        ({"since": "2020-01-01", "until": "2099-01-01"}, "reviews_review"),
    ]
    for filters, table in asked:
        seen = Explained()
        with connection.execute_wrapper(seen):
            rows, after = human_log.read_page(human_log.read_wanted(filters), "", 50)
            human_log.read_page(human_log.read_wanted(filters), after, 50)
        assert len(rows) == 50
        assert seen.plans
        for plan in seen.plans:
            assert f"Seq Scan on {table}" not in plan, (filters, plan)
            assert "OFFSET" not in plan.upper()
    seen = Explained()
    with connection.execute_wrapper(seen):
        stats.read(now)
        watching.read(now, "")
        watching.read(now, "user:p7")
    assert len(seen.plans) == 8
    for plan in seen.plans:
        assert "Seq Scan on notifications_intent" not in plan or "came" in plan, plan
        assert "Seq Scan on reviews_review" not in plan, plan


def test_what_came_and_went_has_an_index_in_every_partition_of_the_log() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FILTER (WHERE i.indexdef LIKE '%%(at)%%needs_review%%'), count(DISTINCT i.tablename) "
            "FROM pg_indexes i WHERE i.tablename LIKE 'notifications\\_logentry\\_%%'"
        )
        with_index, partitions = cursor.fetchone()
    assert with_index == partitions > 1
    with connection.cursor() as cursor:
        cursor.execute("SET enable_seqscan = off")
        seen = Explained()
        with connection.execute_wrapper(seen):
            stats.read(read_standing().now)
        cursor.execute("RESET enable_seqscan")
    flows = [plan for plan in seen.plans if "logentry" in plan]
    assert len(flows) == 2  # one for both charts, one for the causes
    for plan in flows:
        assert "Seq Scan on notifications_logentry" not in plan, plan

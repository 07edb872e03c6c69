"""The queue with thousands of cases: index ranges only, counts that say where they stop."""

from __future__ import annotations

import json
import re

import pytest
from django.db import connection, connections
from django.http import QueryDict
from django.utils import timezone

from notifications.models import Intent
from reviews import queue
from reviews.filters import QueueFilter
from tests.reviews.cases import login

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


@pytest.fixture
def many(transactional_db: None) -> None:
    """Put 12,000 cases into review, and as many key rows beside them."""
    items = [
        {"notification_type": "report_approved", "report_id": f"r-{number}", "recipient": "ana@example.com",
         "data": {"title": "x"}, "options": {"workspace": f"w{number % 7}"}}
        for number in range(12_000)
    ]  # fmt: skip
    with connections["owner"].cursor() as cursor:
        for start in range(0, 12_000, 500):  # what one transaction has written slows it down
            cursor.execute("SELECT count(*) FROM notifyops.enqueue_many(%s)", [json.dumps(items[start : start + 500])])
        cursor.execute("ANALYZE notifyops_private.notifications_intent, notifyops_private.notifications_intentkey")


def test_at_ten_thousand_the_count_stops_and_every_list_is_an_index_range(many: None) -> None:
    html = login("olga").get("/reviews/").content.decode()
    assert "<b>10,000+</b>" in html
    for query in (
        "",
        "code=awaiting_approval",
        "known=awaiting_approval",
        "next=approve",
        "workspace=w3",
        "type=report_approved",
    ):
        plan = plan_of(query, "safe", "infinity_6000")
        assert "Seq Scan on notifications_intent" not in plan, (query, plan)
        assert "OFFSET" not in plan.upper()
        assert " Sort" not in plan, (query, plan)
    assert_a_search_reads_no_table_through()
    assert "intent_review_oldest" in plan_of("", "oldest", f"{timezone.now().isoformat()}_1")


def plan_of(query: str, sort: str, after: str) -> str:
    cases = QueueFilter(QueryDict(query), queryset=Intent.objects.all(), now=timezone.now()).cases()
    place = queue.read_place(after, "")
    with connection.execute_wrapper(Explained()) as _:
        queue.read_page(cases, place, 50, sort)
    return Explained.plan


class Explained:
    """Explains the page's query before it runs."""

    plan = ""

    def __call__(self, execute, sql, params, many, context):
        if re.search(r"FROM \"notifications_intent\"", sql):
            with context["connection"].connection.cursor() as cursor:
                cursor.execute(f"EXPLAIN {sql}", params)
                Explained.plan = "\n".join(row[0] for row in cursor.fetchall())
        return execute(sql, params, many, context)


def assert_a_search_reads_no_table_through() -> None:
    client = login("olga")
    html = client.get("/reviews/?q=r-1").content.decode()
    assert "A search looks at 200 IDs at most" in html
    assert "<b>200</b>" in html
    with connection.cursor() as cursor:
        cursor.execute(
            "EXPLAIN SELECT intent_id FROM notifyops_private.notifications_intentkey "
            "WHERE report_id LIKE 'r-119%%' AND singular LIMIT 201"
        )
        assert "Seq Scan" not in "\n".join(row[0] for row in cursor.fetchall())

"""The queue with thousands of cases: index ranges only, counts that say where they stop."""

from __future__ import annotations

import json
import re

import pytest
from django.db import connection, connections, transaction
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


# What a page may read of the log beside index ranges: entries that other tests' months hold, and none of thousands.
FEW_ENTRIES = 100


def test_no_list_and_no_case_reads_the_log_through(many: None) -> None:
    """Nor does what a restore or an earlier message says of each row: the log is by far the longest table."""
    with connections["owner"].cursor() as cursor:
        cursor.execute("ANALYZE notifyops_private.notifications_logentry")
    client, first = login("olga"), Intent.objects.order_by("pk").values_list("pk", flat=True)[0]
    for url in ("/reviews/", "/reviews/?state=any", f"/reviews/{first}/", "/reviews/bulk/new?workspace=w3"):
        with transaction.atomic():
            assert client.get(url).status_code == 200
            assert read_through() < FEW_ENTRIES, url
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT notifyops_private.earlier_v1(%s, 'sandbox')", [first])
        assert read_through() < FEW_ENTRIES


def read_through() -> int:
    """Give how many entries of the log the transaction has read by no index."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT sum(seq_tup_read) FROM pg_stat_xact_user_tables WHERE relname LIKE %s",
                       ["notifications_logentry%"])  # fmt: skip
        return int(cursor.fetchone()[0])


A_PAGE = 50
FILTERS = (
    "",
    "code=awaiting_approval",
    "code=rate_limited",
    "code=none",
    "known=awaiting_approval",
    "next=approve",
    "workspace=w3",
    "workspace=none",
    "type=report_approved",
    "channel=email",
    "window=none",
    "window=open",
    "window=closed",
    "age=1h",
    "kind=waiting",
    "kind=configuration",
    "taken=free",
    "taken=any",
)


def test_every_filter_in_every_order_is_an_index_range_in_review_and_outside(many: None) -> None:
    """The table holds mostly what was accepted: there an unserved list is read whole, and sorted."""
    accept_most()
    at = timezone.now().isoformat()
    for sort, after in (("safe", "infinity_6000"), ("oldest", f"{at}_1")):
        for query in FILTERS:
            plan = plan_of(query, sort, after)
            assert "Seq Scan on notifications_intent" not in plan, (sort, query, plan)
            # Spans of time are ranges of one order's index: in the other order the planner may sort what they leave.
            assert most_sorted(plan) <= A_PAGE or query.startswith(("window=", "age=")), (sort, query, plan)
    for state in ("accepted", "closed", "cancelled", "any", "pending", "retry", "sending"):
        for query in ("", "workspace=w3", "type=report_approved", "known=accepted", "code=none"):
            plan = plan_of(f"state={state}&{query}", queue.NEWEST, "infinity_100000")
            assert "Seq Scan on notifications_intent" not in plan, (state, query, plan)


def most_sorted(plan: str) -> int:
    """Return how many rows the planner expects its largest sort to see: what nothing matches may well be "sorted"."""
    return max((int(rows) for rows in re.findall(r" Sort  \(cost=\S+ rows=(\d+)", plan)), default=0)


def accept_most() -> None:
    """Copy cases as accepted, four to each, and some as closed: past the guards, for only the plans matter."""
    with connections["owner"].cursor() as cursor:
        cursor.execute("SELECT string_agg(quote_ident(column_name), ', ') FROM information_schema.columns "
                       "WHERE table_name = 'notifications_intent' AND column_name NOT IN ('id', 'state', "
                       "'provider_message_id', 'known', 'error_code', 'next_action', 'review_since')")  # fmt: skip
        names = cursor.fetchone()[0]
        cursor.execute("ALTER TABLE notifyops_private.notifications_intent DISABLE TRIGGER USER")
        cursor.execute(
            f"INSERT INTO notifyops_private.notifications_intent ({names}, id, state, provider_message_id) "
            f"SELECT {names}, id + n * 1000000, CASE WHEN n = 5 THEN 'closed' ELSE 'accepted' END, id || '-' || n "
            "FROM notifyops_private.notifications_intent, generate_series(1, 5) n WHERE n < 5 OR id % 100 = 0"
        )
        cursor.execute("UPDATE notifyops_private.notifications_intent SET error_code = 'rate_limited' "
                       "WHERE state = 'needs_review' AND id % 10 = 0")  # fmt: skip
        cursor.execute("SELECT tgname FROM pg_trigger WHERE tgrelid = "
                       "'notifyops_private.notifications_intent'::regclass AND NOT tgisinternal")  # fmt: skip
        for (name,) in cursor.fetchall():
            cursor.execute(f"ALTER TABLE notifyops_private.notifications_intent ENABLE ALWAYS TRIGGER {name}")
        cursor.execute("ANALYZE notifyops_private.notifications_intent")


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

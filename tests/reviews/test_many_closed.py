"""Few cases to decide among very many that are settled: no page counts or reads them through."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection, connections

from notifications.models import Intent
from reviews import queue
from tests.reviews.bulk_cases import make_cases
from tests.reviews.cases import login

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
CLOSED = 200_000
FEW = 40
# Outside of review a list looks at so many of the newest, and says so; nothing reads more, and a little beside it.
MOST_READ = queue.LOOKED_AT + 15_000
# Past the guards: what matters is how many there are.
COPIES = """
INSERT INTO notifyops_private.notifications_intent ({names}, id, state, notification_id, report_id)
SELECT {names}, 1000000 + n, 'closed', 'report-ready/old-' || n, 'old-' || n
FROM notifyops_private.notifications_intent i, generate_series(1, %s) n WHERE i.id = %s
"""


@pytest.fixture
def many(transactional_db: None) -> None:
    """Keep a few cases in review and close very many others."""
    first = make_cases(FEW)[0]
    with connections["owner"].cursor() as cursor:
        cursor.execute("SELECT string_agg(quote_ident(column_name), ', ') FROM information_schema.columns WHERE "
                       "table_name = 'notifications_intent' AND table_schema = 'notifyops_private' "
                       "AND column_name NOT IN ('id', 'state', 'notification_id', 'report_id')")  # fmt: skip
        cursor.execute(COPIES.format(names=cursor.fetchone()[0]), [CLOSED, first.pk])
        cursor.execute("ANALYZE notifyops_private.notifications_intent")


class Counted:
    """Runs each of our statements once more, and keeps how many rows of its tables it looked at."""

    def __init__(self) -> None:
        self.most, self.worst = 0, ""

    def __call__(self, execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if re.match(r"\s*(SELECT|WITH)", sql) and "notifications_intent" in sql:
            with context["connection"].connection.cursor() as cursor:
                cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}", params)
                plan = cursor.fetchone()[0]
            rows = sum(read(json.loads(plan)[0]["Plan"] if isinstance(plan, str) else plan[0]["Plan"]))
            if rows > self.most:
                self.most, self.worst = rows, sql
        return execute(sql, params, many, context)


def read(node: dict[str, Any]) -> Iterator[int]:
    """Give what each scan of the plan looked at."""
    if "Relation Name" in node:
        loops = node["Actual Loops"]
        yield int(loops * (node["Actual Rows"] + node.get("Rows Removed by Filter", 0)))
    for child in node.get("Plans", ()):
        yield from read(child)


def test_no_page_reads_the_settled_through_and_the_counter_of_few_is_exact(many: None) -> None:
    client = login("lena")
    User.objects.filter(username="lena").update(is_superuser=True)
    case = Intent.objects.filter(state="needs_review").latest("pk").pk
    pages = (
        *("/reviews/", "/reviews/?code=not_sent.refused", "/reviews/?sort=oldest", "/reviews/?after=infinity_1"),
        *("/reviews/?state=closed", "/reviews/?state=closed&workspace=none", "/reviews/?state=any&type=none"),
        *("/reviews/?q=old-19", "/reviews/groups/", f"/reviews/{case}/", "/reviews/stats/", "/reviews/watching/"),
        *("/admin/notifications/intent/", "/admin/notifications/intent/?p=100", "/admin/notifications/logentry/"),
        f"/admin/notifications/intent/{1_000_000 + CLOSED}/change/",
    )
    for page in pages:
        seen = Counted()
        with connection.execute_wrapper(seen):
            answer = client.get(page)
        assert answer.status_code == 200, page
        assert seen.most <= MOST_READ, (page, seen.most, seen.worst)
    html = client.get("/reviews/").content.decode()
    assert re.search(rf"<b>{FEW}</b>", html), "the count of few is exact"

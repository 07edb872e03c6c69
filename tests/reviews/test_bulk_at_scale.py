"""Groups and plans over very many cases: index ranges only, capped counts, one list of ten thousand."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.db import connection, connections
from django.utils import timezone

from notifications.models import Intent
from reviews import groups_page, queue
from reviews.bulk import plan
from reviews.bulk.models import BulkItem
from reviews.refusals import Refused
from tests.reviews.bulk_cases import planned, who
from tests.reviews.cases import login, make_case

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
MANY = 100_000


@pytest.fixture
def many(transactional_db: None) -> None:
    """Copy one case a hundred thousand times, in two codes: past the guards, for only the plans and counts matter."""
    model = make_case()
    with connections["owner"].cursor() as cursor:
        cursor.execute(
            "SELECT string_agg(quote_ident(column_name), ', ') FROM information_schema.columns WHERE table_name = "
            "'notifications_intent' AND column_name NOT IN ('id', 'notification_id', 'error_code', 'review_since')"
        )
        names = cursor.fetchone()[0]
        cursor.execute("ALTER TABLE notifyops_private.notifications_intent DISABLE TRIGGER USER")
        cursor.execute(
            f"INSERT INTO notifyops_private.notifications_intent ({names}, id, notification_id, error_code, "
            f"review_since) SELECT {names}, id + n, 'copy/' || n, CASE WHEN n %% 50 = 0 THEN 'not_sent.dns' ELSE "
            "'not_sent.refused' END, review_since + make_interval(secs => n) FROM "
            "notifyops_private.notifications_intent, generate_series(1, %s) n WHERE id = %s",
            [MANY, model.pk],
        )
        cursor.execute(
            "SELECT tgname FROM pg_trigger WHERE tgrelid = 'notifyops_private.notifications_intent'::regclass "
            "AND NOT tgisinternal"
        )
        for (name,) in cursor.fetchall():
            cursor.execute(f"ALTER TABLE notifyops_private.notifications_intent ENABLE ALWAYS TRIGGER {name}")
        cursor.execute("VACUUM (ANALYZE) notifyops_private.notifications_intent")


def test_groups_and_plans_of_a_hundred_thousand_cases(many: None) -> None:
    with connection.cursor() as cursor:
        facts: dict[str, Any] = {"lines": 101, "cap": queue.COUNT_CAP + 1, "now": timezone.now()}
        cursor.execute("EXPLAIN (FORMAT JSON) " + groups_page._SQL, facts)
        found = cursor.fetchone()[0]
    assert "notifications_intent" not in scanned(found[0]["Plan"]), json.dumps(found)
    html = login("olga").get("/reviews/groups/").content.decode()
    assert "<b>10,000+</b>" in html
    assert "<b>2,000</b>" in html

    bulk = planned(query="code=not_sent.refused")
    assert (bulk.total_count, bulk.was_cut, bulk.matched_count) == (10_000, True, queue.COUNT_CAP + 1)
    assert BulkItem.objects.filter(bulk=bulk).count() == 10_000
    page = login("lena").get(f"/reviews/bulk/{bulk.pk}/").content.decode()
    assert "More than 10,000 cases match: this plan holds the first 10000" in page
    assert "Type the number 10000" in page
    small = planned(name="olga", query="code=not_sent.dns")
    assert (small.total_count, small.was_cut, small.matched_count) == (200, True, 2_000)
    wish = plan.Wish("retry", small.start_token, tuple(Intent.objects.values_list("pk", flat=True)[:201]))
    olga, now = who("olga"), timezone.now()
    with pytest.raises(Refused, match="at most 200"):
        plan.make(wish, olga, now)


def scanned(node: dict[str, object]) -> list[str]:
    """Give the tables that a plan reads through."""
    here = [str(node["Relation Name"])] if node["Node Type"] == "Seq Scan" else []
    below = node.get("Plans", [])
    return here + [name for each in (below if isinstance(below, list) else []) for name in scanned(each)]

"""What is said of a plan or run as a whole is on record; a restored copy burns no list; old plans keep no list."""

from __future__ import annotations

import asyncio
import re
from datetime import timedelta
from io import StringIO
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from django.core.management import CommandError, call_command

from notifications import works
from reviews.bulk import plan as plans
from reviews.bulk.models import BulkItem, BulkRun
from reviews.models import Review
from reviews.refusals import NotAllowedNow
from tests.reviews.bulk_cases import Provider, carried, make_cases, outcomes, planned, started, steered
from tests.reviews.cases import login, owner
from tests.reviews.test_bulk_pages import ask, begin, html_of

pytestmark = pytest.mark.django_db(transaction=True)
MOVED = """
INSERT INTO notifyops_private.notifications_siteadoption (site, system_identifier, timeline, database, actor, reason)
SELECT a.site, h.system_identifier, h.timeline + 1, h.database, 'cli:lena@host', 'Taken on another timeline.'
FROM notifyops_private.site_here_v1() h, notifyops_private.notifications_siteadoption a ORDER BY a.id DESC LIMIT 1
"""


@pytest.fixture(autouse=True)
def due_at_once(settings: Any) -> None:
    settings.NOTIFYOPS_UNDO_S = 0


def said() -> list[tuple[str, str, str, str]]:
    found = Review.objects.filter(intent__isnull=True).order_by("id")
    return list(found.values_list("action", "outcome", "refusal", "actor"))


def test_who_starts_pauses_resumes_and_cancels_a_run_is_on_record_and_on_its_page() -> None:
    bulk, lena = planned(make_cases(3)), login("lena")
    assert said() == [], "a plan alone does nothing, and says who made it itself"
    assert begin(lena, bulk).status_code == 303
    assert begin(lena, bulk).status_code == 200, "the second click starts nothing"
    steer = f"/reviews/bulk/{bulk.pk}"
    assert lena.post(f"{steer}/pause").status_code == 303
    carried(bulk)
    assert lena.post(f"{steer}/resume").status_code == 303
    for _twice in range(2):
        assert lena.post(f"{steer}/cancel").status_code == 303
        carried(bulk)
    assert said() == [(f"bulk_{word}", "done", "", "user:lena") for word in ("start", "pause", "resume", "cancel")]
    row = Review.objects.get(action="bulk_start")
    assert (row.bulk_id, row.reason_code, row.action_token) == (bulk.pk, "provider_recovered", bulk.start_token)
    assert row.after == {"cases": 3, "rate": 200, "canary": 5, "max_bad": 20}
    assert Review.objects.get(action="bulk_resume").before == {"run": "paused"}
    html = html_of(lena, f"{steer}/")
    for words in ("Start of a run in bulk", "Pause of a run in bulk", "Going on with a run in bulk"):
        assert words in html
    log = html_of(lena, "/reviews/log/?verb=bulk_resume")
    assert re.search(rf'href="/reviews/bulk/{bulk.pk}/">\s*bulk run {bulk.pk}</a>', log)
    assert log.count('<tr role="row">') == 2


def test_a_refused_order_is_on_record_with_its_word() -> None:
    bulk, lena, vera, olga = planned(make_cases(2)), login("lena"), login("vera"), login("olga")
    assert ask(lena, "retry-all", query="bounced=nonsense&state=x").status_code == 422
    assert ask(vera, "retry-selected", [1]).status_code == 403
    assert begin(lena, bulk, action_token=str(uuid4())).status_code == 422
    assert begin(olga, bulk).status_code == 403
    started(bulk)
    assert olga.post(f"/reviews/bulk/{bulk.pk}/pause").status_code == 403
    assert lena.post("/reviews/bulk/999999/pause").status_code == 404
    assert [(action, word, who) for action, outcome, word, who in said() if outcome == "refused"] == [
        ("bulk_plan", "bad_filter", "user:lena"),
        ("bulk_plan", "not_permitted", "user:vera"),
        ("bulk_start", "not_confirmed", "user:lena"),
        ("bulk_start", "not_permitted", "user:olga"),
        ("bulk_pause", "not_permitted", "user:olga"),
    ]
    carried(bulk, lambda: True)
    assert "The permission for it was missing." in html_of(lena, f"/reviews/bulk/{bulk.pk}/")
    assert "The filter could not be read." in html_of(lena, "/reviews/log/?outcome=refused")


def test_a_command_is_on_record_under_whoever_gave_it() -> None:
    bulk = started(planned(make_cases(2)))
    call_command("review", "bulk", "pause", str(bulk.pk), stdout=StringIO())
    with pytest.raises(CommandError):
        call_command("review", "bulk", "start", str(planned(make_cases(1)).pk), "--reason-code", "duplicate")
    found = said()[1:]
    assert [row[:3] for row in found] == [("bulk_pause", "done", ""), ("bulk_start", "refused", "not_permitted")]
    assert all(row[3].startswith("cli:") for row in found)


def test_a_case_has_a_decision_and_a_run_an_order_and_never_the_other_way_round(as_role: Any) -> None:
    web = as_role("web")
    for action, intent in (("retry", "NULL"), ("bulk_pause", "1")):
        with pytest.raises(psycopg.errors.CheckViolation, match="review_action_known"):
            web.execute(
                "INSERT INTO notifyops_private.reviews_review (intent_id, action, actor, outcome, refusal)"
                f" VALUES ({intent}, '{action}', 'user:lena', 'refused', 'x')".encode()
            )


@pytest.mark.parametrize("verb", ["retry", "close"])
def test_a_run_in_a_restored_copy_pauses_by_itself_and_skips_nothing(as_role: Any, verb: str) -> None:
    bulk = started(planned(make_cases(4), verb=verb), canary=1)
    as_role("owner").execute(MOVED)
    bulk = carried(bulk, Provider(bulk))
    assert bulk.run is not None
    assert (bulk.run.state, bulk.run.wished_by, outcomes(bulk)) == ("paused", "rule:site", {"left": 4})
    html = html_of(login("lena"), f"/reviews/bulk/{bulk.pk}/")
    assert "this database was restored or copied" in html
    with pytest.raises(NotAllowedNow, match="its recovery comes first"):
        steered(bulk, "resume")


def test_nothing_is_started_in_a_restored_copy(as_role: Any) -> None:
    bulk = planned(make_cases(1), verb="close")
    as_role("owner").execute(MOVED)
    with pytest.raises(NotAllowedNow, match="its recovery comes first"):
        started(bulk)


def test_the_list_of_a_plan_that_nobody_started_goes_after_a_week_and_no_other(as_role: Any) -> None:
    old, fresh, ran = planned(make_cases(3)), planned(make_cases(1)), started(planned(make_cases(1)))
    week = timedelta(days=7, minutes=1)
    for bulk in (old, ran):
        BulkRun.objects.using(owner()).filter(pk=bulk.pk).update(planned_at=bulk.planned_at - week)
    worker = as_role("worker")
    assert "forget_plans" in works.CHORES
    statement = plans.FORGET.replace("20000", "2").encode()
    assert [worker.execute(statement).fetchone()[0] for _ in range(3)] == [2, 1, 0]
    assert set(BulkItem.objects.values_list("bulk_id", flat=True)) == {fresh.pk, ran.pk}
    assert BulkRun.objects.filter(pk=old.pk).exists(), "who planned what stays known"
    html = html_of(login("lena"), f"/reviews/bulk/{old.pk}/")
    assert "its list is deleted" in html
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        worker.execute("DELETE FROM notifyops_private.reviews_bulkitem")


def test_the_chores_do_what_apps_have_registered(database_url: Any) -> None:
    from notifications import chores

    assert {duty.name: duty.every_s for duty in chores._of_apps()} == {"forget_plans": 3600.0}

    async def done() -> None:
        async with await psycopg.AsyncConnection.connect(database_url("worker"), autocommit=True) as connection:
            for duty in chores._of_apps():
                await duty.run(connection)

    asyncio.run(done())

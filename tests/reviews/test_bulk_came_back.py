"""What came back after a run in bulk had ended: page, list of runs and terminal say so alike."""

from __future__ import annotations

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command

from notifications import works
from notifications.cli import seed
from notifications.models import Intent
from notifications.states import DeliveryStatus, Known, NextAction
from tests.intake.notify_cli import notify
from tests.reviews.bulk_cases import Provider, carried, make_cases, planned, started
from tests.reviews.cases import go_on, login

pytestmark = pytest.mark.django_db(transaction=True)
BOUNCES = seed.receipt(DeliveryStatus.SOFT_BOUNCED, Known.SOFT_BOUNCED, NextAction.RETRY_NEW_KEY)
DELIVERS = seed.receipt(DeliveryStatus.DELIVERED)
NOT_WELL = "Ended, and not all of it went well"


@pytest.fixture(autouse=True)
def due_at_once(settings: Any) -> None:
    settings.NOTIFYOPS_UNDO_S = 0


def test_a_run_of_which_half_came_back_is_nowhere_plainly_done() -> None:
    bulk = started(planned(make_cases(2)))
    bulk = carried(bulk, Provider(bulk))
    assert bulk.run is not None
    assert (bulk.run.state, bulk.run.failed_count) == ("done", 0)
    lists = login("vera")
    assert NOT_WELL not in lists.get("/reviews/runs/").content.decode()
    assert "not all well" not in notify("runs").out
    back, fine = Intent.objects.order_by("pk")
    go_on(back, BOUNCES)
    go_on(fine, DELIVERS)

    told = json.loads(notify("runs", "--json").out)[0]
    assert (told["failed"], told["shortfalls"]) == (1, {"came_back": 1})
    assert "done, not all well: 1 came back" in notify("runs").out
    assert "done, not all well: 1 came back" in notify("runs", "show", str(bulk.run.pk)).out
    listed = lists.get("/reviews/runs/").content.decode()
    assert NOT_WELL in listed
    assert '<td data-label="Failed">1</td>' in listed
    page = lists.get(f"/reviews/bulk/{bulk.pk}/").content.decode()
    assert NOT_WELL in page
    last = page.partition("Last failure</dt><dd>")[2].partition("</dd>")[0]
    assert "soft_bounced" in last.replace("<wbr>", "")
    assert f"/reviews/{back.pk}/" in last


def test_what_was_skipped_or_failed_again_is_told_in_the_list_as_on_the_page() -> None:
    bulk = started(planned(make_cases(2)))
    bulk = carried(bulk, Provider(bulk, fails=1))
    assert bulk.run is not None
    assert "done, not all well: 1 failed" in notify("runs").out
    assert NOT_WELL in login("vera").get("/reviews/runs/").content.decode()


def test_the_log_at_a_terminal_names_the_run_of_each_case_as_the_page_does() -> None:
    (case,) = make_cases(1)
    bulk = started(planned([case]))
    carried(bulk, Provider(bulk))
    out = StringIO()
    call_command("review", "log", "--verb", "retry", stdout=out)
    assert f"Retry {case.notification_id} (bulk {bulk.pk})," in out.getvalue()


def test_runs_of_other_kinds_are_told_as_before() -> None:
    assert works.shortfalls([1, 2, 3]) == {}

"""An open page of a run follows it, tells when it ends, and has one number beside the other."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest
from django.test import Client

from notifications.models import Run
from reviews.bulk import follow, pace
from reviews.bulk.models import BulkItem, BulkRun
from tests.reviews.bulk_cases import Provider, carried, make_cases, planned, role, started
from tests.reviews.cases import login

pytestmark = pytest.mark.django_db(transaction=True)


def asks(html: str) -> str:
    """Give the address that a page of a run asks by itself; empty where it asks no more."""
    found = re.search(r'<section id="progress"[^>]* hx-get="([^"]+)"', html)
    return found[1].replace("&amp;", "&") if found else ""


def follows(client: Client, url: str) -> Any:
    return client.get(url, headers={"HX-Request": "true"})


def test_while_a_run_goes_on_its_progress_alone_is_given_anew_and_at_its_end_all_of_it(settings: Any) -> None:
    settings.NOTIFYOPS_UNDO_S = 0
    bulk, client = started(planned(make_cases(2))), login("lena")
    page = client.get(f"/reviews/bulk/{bulk.pk}/?outcome=left").content.decode()
    assert "outcome=left&amp;shown=running-" in page
    assert page.count("Cancel for good") == 1
    part = follows(client, asks(page))
    assert part.content.decode().lstrip().startswith('<section id="progress"')
    assert "HX-Retarget" not in part
    bulk = carried(bulk, Provider(bulk))
    whole = follows(client, asks(page))
    html = whole.content.decode()
    assert whole["HX-Retarget"] == "#bulk"
    assert "2 of 2 with an outcome (100 %)" in html
    assert "Cancel for good" not in html
    assert 'id="h-items"' in html
    assert 'id="standing" hx-swap-oob="true"' in html
    again = follows(client, asks(html))
    assert (again.status_code, again.content) == (204, b"")


@pytest.mark.parametrize(
    ("state", "counts", "seconds"),
    [
        ("running", {"left": 1}, 2),
        ("paused", {"left": 1}, 10),
        ("cancelled", {"left": 1}, 0),
        ("cancelled", {"released": 1}, 10),
        ("done", {"delivered": 3}, 0),
        ("done", {"accepted": 3}, 10),
    ],
)
def test_a_page_asks_as_long_as_there_is_something_to_learn(
    state: str, counts: dict[str, int], seconds: int, settings: Any
) -> None:
    from reviews.reading import now

    run = Run(state=state, ended_at=None if state == "running" else now())
    assert follow.every_s(run, counts, now()) == seconds


def test_what_is_still_to_come_counts_the_time_in_which_orders_wait_for_their_outcome(settings: Any) -> None:
    settings.NOTIFYOPS_UNDO_S = 8
    planned_s = pace.planned_s("retry", 31, 5, 5)
    # The canary, its wait, the rest at five a second, and the wait of the last.
    assert 1 + 9 + 6 + 9 - 2 <= planned_s <= 1 + 9 + 6 + 9 + 2
    just_out = pace.Stand(0, 5, 0, 9, accepted=6, tests=False, out=Counter({7: 20, 8: 5}))
    assert pace.ends_in_s(just_out) == 9
    assert pace.planned_s("close", 31, 5, 5) == 7
    # No more stand out at a time than forty, or as many as were accepted.
    assert pace.planned_s("retry", 1000, 200, 5) > 1000 / 200 + 2 * 9 + 2 * 9


def test_a_run_that_skipped_says_why_and_a_notice_stands_once() -> None:
    bulk, client = planned(make_cases(2)), login("lena")
    fields = {"action_token": str(bulk.start_token), "reason_code": "provider_recovered", "reason": "", "rate": "5",
              "canary": "5", "max_bad": "20", "typed": ""}  # fmt: skip
    page = client.post(f"/reviews/bulk/{bulk.pk}/start", fields, follow=True).content.decode()
    assert page.count("A worker begins within seconds") == 1
    with role("worker"):
        BulkItem.objects.filter(bulk=bulk).update(outcome="skipped", code="changed")
    page = client.get(f"/reviews/bulk/{bulk.pk}/").content.decode()
    progress = page.split('id="progress"')[1].split("</section>")[0]
    assert re.search(r"<b>2</b>.*Skipped.*The case had changed since the page was read\.", progress, re.DOTALL)


def test_each_number_of_a_run_says_the_other() -> None:
    bulk = started(planned(make_cases(1)))
    run = Run.objects.get()
    assert run.title.startswith(f"bulk {bulk.pk}: retry 1 cases")
    assert f"run {run.pk}</a>" in login("vera").get(f"/reviews/bulk/{bulk.pk}/").content.decode()


def test_a_refused_start_marks_its_field_and_has_the_focus_there() -> None:
    bulk = planned(make_cases(2))
    fields = {"action_token": str(bulk.start_token), "reason_code": "other", "reason": "", "rate": "5", "canary": "5",
              "max_bad": "20", "typed": ""}  # fmt: skip
    page = login("lena").post(f"/reviews/bulk/{bulk.pk}/start", fields).content.decode()
    field = re.search(r"<textarea[^>]*>", page)
    assert field is not None
    assert 'aria-invalid="true"' in field[0]
    assert "autofocus" in field[0]
    assert page.count("autofocus") == 1
    assert 'id="fault-start">This reason needs a text' in page
    assert BulkRun.objects.get().run is None

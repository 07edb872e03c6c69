"""Long work on pages: who sees it, who may stop it, and that its progress asks for itself only while it runs."""

from __future__ import annotations

import re

import pytest

from notifications.models import Run, RunItem
from tests.reviews.bulk_cases import make_cases, planned, started
from tests.reviews.cases import login

pytestmark = pytest.mark.django_db(transaction=True)


def make_run(**said: object) -> Run:
    given = {"kind": "import", "key": "k", "title": "notify import reports.jsonl", "started_by": "cli:ana@host"} | said
    return Run.objects.create(**given)


def page(run: Run, who: str = "vera", **headers: str) -> str:
    response = login(who).get(f"/reviews/runs/{run.pk}/", headers=headers)
    assert response.status_code == 200
    return response.content.decode()


def test_the_list_says_how_far_each_run_is_or_that_there_is_none() -> None:
    assert "No long work has run yet." in login("vera").get("/reviews/runs/").content.decode()
    make_run(total_count=4000, done_count=1000, failed_count=3)
    make_run(key="other", state="failed", code="rejected", ended_at="2026-01-01T00:00:00Z")
    html = login("vera").get("/reviews/runs/").content.decode()
    for fact in ("notify import reports.jsonl", "1000 of 4000", "Running", "Failed", "rejected", "cli:ana@host"):
        assert fact in html


def test_progress_asks_for_itself_while_it_runs_and_not_afterwards() -> None:
    run = make_run(total_count=3, done_count=1, tally={"created": 1, "existing": 0})
    RunItem.objects.create(run=run, place=2, code="refused")
    html = page(run)
    assert 'hx-trigger="every 2s"' in html
    assert "1 of 3 (33 %)" in html
    assert "There already" in html
    assert "refused" in html
    fragment = page(run, **{"HX-Request": "true"})
    assert fragment.lstrip().startswith('<section id="progress"')
    Run.objects.update(state="done", ended_at="2026-01-01T00:00:00Z")
    assert "hx-trigger" not in page(run)


def test_a_long_step_moves_the_bar_and_says_that_nothing_is_committed() -> None:
    html = page(make_run(total_count=200, done_count=0, step_done_count=100))
    assert 'value="50"' in html
    assert "100 more in the current step, not yet committed" in html
    assert "+100, not yet committed" in login("vera").get("/reviews/runs/").content.decode()


def test_a_run_in_which_something_failed_is_not_plainly_done() -> None:
    html = page(make_run(state="done", failed_count=3, done_count=4, ended_at="2026-01-01T00:00:00Z"))
    assert re.search(r'class="badge warn">.*?</svg>Done, 3 failed</span>', html)


@pytest.mark.parametrize(("who", "status"), [("sam", 403), ("vera", 403), ("olga", 403), ("lena", 303)])
def test_leads_alone_stop_a_run(who, status) -> None:
    run = make_run()
    offered = who not in ("sam",) and "Cancel for good" in page(run, who)
    assert offered == (who == "lena")
    assert login(who).get(f"/reviews/runs/{run.pk}/pause").status_code == 405
    assert login(who).post(f"/reviews/runs/{run.pk}/pause").status_code == status
    run.refresh_from_db()
    assert (run.wish, run.wished_by) == (("pause", "user:lena") if who == "lena" else ("", ""))


def test_what_is_over_is_not_stopped_and_the_page_says_so() -> None:
    run = make_run(state="done", ended_at="2026-01-01T00:00:00Z")
    client = login("lena")
    assert "Cancel for good" not in page(run, "lena")
    answer = client.post(f"/reviews/runs/{run.pk}/cancel", follow=True)
    assert "Nothing was changed" in answer.content.decode()
    assert Run.objects.get().state == "done"


def test_unknown_runs_and_words_are_not_found_and_strangers_reach_the_login() -> None:
    run, client = make_run(), login("lena")
    assert client.get("/reviews/runs/999/").status_code == 404
    assert client.post(f"/reviews/runs/{run.pk}/explode").status_code == 404
    client.logout()
    assert "login" in client.get("/reviews/runs/")["Location"]
    assert "login" in client.post(f"/reviews/runs/{run.pk}/pause")["Location"]


def test_a_page_that_is_open_loses_its_buttons_when_the_run_ends() -> None:
    run, client = make_run(state="running"), login("lena")
    assert "HX-Retarget" not in client.get(f"/reviews/runs/{run.pk}/", headers={"HX-Request": "true"})
    Run.objects.filter(pk=run.pk).update(state="done", ended_at="2026-01-01T00:00:00Z")
    answer = client.get(f"/reviews/runs/{run.pk}/", headers={"HX-Request": "true"})
    assert answer["HX-Retarget"] == "#run"
    assert "Cancel for good" not in answer.content.decode()


def test_a_run_in_bulk_is_named_in_the_readers_language_and_by_whom_in_plain() -> None:
    started(planned(make_cases(2), "lena"), "lena")
    html = login("lena").get("/reviews/runs/", headers={"Accept-Language": "zh-hans"}).content.decode()
    assert re.search(r"<a [^>]+>\d+ · 批量重试，编号 \d+</a>", html)
    assert "<span>lena</span>" in html
    assert "user:lena" not in html

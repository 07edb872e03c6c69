"""An import that is cut off goes on behind its last batch: exactly, however the process ended."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from notifications.models import Intent, Run
from tests.intake.notify_cli import notify
from tests.intake.test_import import ROOT, record, written
from tests.reviews.cases import login

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


def killed_in_the_middle(path: str, env: dict[str, str]) -> None:
    """Import in a process of its own, and kill it when the first batches have committed."""
    command = [sys.executable, str(ROOT / "manage.py"), "notify", "import", path, "--each"]
    process = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    ends_at = time.monotonic() + 60
    while Run.objects.filter(done_count__gte=1000).count() == 0:
        assert process.poll() is None, "it ended before it could be killed"
        assert time.monotonic() < ends_at
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.wait(10)


def test_killed_in_the_middle_it_goes_on_behind_its_last_batch(
    process_env: Callable[[str], dict[str, str]], tmp_path: Path
) -> None:
    count = 20_000
    notify("import", written(tmp_path / "first.jsonl", record("r-7", data={"title": "another"})))
    lines = [json.dumps(record(f"r-{n}")) for n in range(count)]
    path = written(tmp_path / "a.jsonl", '{"bad": 1}', *lines)
    killed_in_the_middle(path, process_env("owner"))
    left = Run.objects.get(total_count=count + 1)
    assert (left.state, left.done_count % 1000, left.done_count < count) == ("running", 1, True)
    again = notify("import", path, "--each", "--json")
    assert again.code == 1
    assert (again.document["created"], again.document["existing"]) == (count - 1, 0)
    assert [line["line"] for line in again.document["rejected"]] == [1, 9]
    assert (tmp_path / "a.jsonl.rejected").read_text().splitlines() == ['{"bad": 1}', lines[7]]
    left.refresh_from_db()
    assert (left.state, left.epoch, left.done_count, left.failed_count) == ("done", 2, count + 1, 2)
    assert Intent.objects.count() == count


def test_a_file_that_was_imported_is_another_run_and_one_that_was_refused_is_a_bad_end(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", record("r-1"))
    for _ in range(2):
        assert notify("import", path).code == 0
    assert notify("import", written(tmp_path / "b.jsonl", record("r-2"), "{")).code == 1
    runs = list(Run.objects.order_by("pk").values_list("title", "state", "code", "done_count", "tally"))
    assert runs == [
        ("notify import a.jsonl", "done", "", 1, {"created": 1, "existing": 0}),
        ("notify import a.jsonl", "done", "", 1, {"created": 0, "existing": 1}),
        ("notify import b.jsonl", "failed", "rejected", 0, {}),
    ]
    assert Intent.objects.count() == 1


def test_lines_that_were_found_bad_beforehand_count_as_failed_once(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", '{"bad": 1}', record("r-1"), "{", '{"bad": 2}')
    assert notify("import", path, "--each").code == 1
    run = Run.objects.get()
    assert (run.state, run.done_count, run.total_count, run.failed_count) == ("done", 4, 4, 3)
    assert list(run.items.values_list("place", "code").order_by("place")) == [
        (1, "invalid_line"),
        (3, "invalid_line"),
        (4, "invalid_line"),
    ]
    listed = notify("runs").out
    assert "done, 3 failed" in listed
    assert "4 of 4" in listed


def test_an_import_of_all_or_nothing_names_what_was_in_its_way(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", record("r-1"), '{"bad": 1}', record("r-2"), "{")
    for _start in range(2):  # the second one finds the same anew, and counts it once
        assert notify("import", path).code == 1
    run = Run.objects.get()
    assert (run.state, run.code, run.epoch) == ("failed", "rejected", 2)
    assert (run.done_count, run.total_count, run.failed_count) == (0, 4, 2)
    shown = notify("runs", "show", str(run.pk), "--json").document
    assert (shown["failed"], shown["failed_items"]) == (
        2,
        [{"place": 2, "code": "invalid_line"}, {"place": 4, "code": "invalid_line"}],
    )
    html = login("vera").get(f"/reviews/runs/{run.pk}/").content.decode()
    assert "0 of 4 (0 %)" in html
    assert "Nothing was imported: mend the lines that are named below" in html
    assert "Give the command again" not in html


def test_what_the_database_refused_is_named_and_forgotten_once_it_goes_through(
    tmp_path: Path, as_role: Callable[..., psycopg.Connection[Any]]
) -> None:
    switch = "UPDATE notifyops_private.notifications_notificationtype SET enabled = %s WHERE name = 'report_once'"
    path = written(tmp_path / "a.jsonl", record("r-1"), record("r-2", notification_type="report_once"))
    with as_role("owner", autocommit=True) as owner:
        owner.execute(switch, [False])
        try:
            assert notify("import", path).code == 1
        finally:
            owner.execute(switch, [True])
    run = Run.objects.get()
    assert list(run.items.values_list("place", "code")) == [(2, "refused")]
    assert (run.failed_count, Intent.objects.count()) == (1, 0)
    assert notify("import", path).code == 0
    run.refresh_from_db()
    assert (run.state, run.failed_count, run.items.count()) == ("done", 0, 0)


def test_an_import_is_a_backlog_unless_a_line_says_otherwise(tmp_path: Path) -> None:
    urgent = record("r-2") | {"options": {"priority": "urgent"}}
    path = written(tmp_path / "a.jsonl", record("r-1"), urgent)
    assert notify("import", path).code == 0
    classes = {report: lane // 16 for report, lane in Intent.objects.values_list("report_id", "lane")}
    assert classes == {"r-1": 2, "r-2": 0}


def test_an_import_in_one_step_tells_how_far_it_is_before_it_commits(
    process_env: Callable[[str], dict[str, str]], tmp_path: Path
) -> None:
    path = written(tmp_path / "a.jsonl", *(json.dumps(record(f"r-{n}")) for n in range(60_000)))
    command = [sys.executable, str(ROOT / "manage.py"), "notify", "import", path]
    process = subprocess.Popen(command, env=process_env("owner"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        ends_at = time.monotonic() + 120
        while not Run.objects.filter(step_done_count__gt=0).exists():
            assert process.poll() is None, "it ended before it told anything"
            assert time.monotonic() < ends_at
            time.sleep(0.01)
        seen = Run.objects.get()
        assert (seen.state, seen.done_count, seen.total_count, Intent.objects.count()) == ("running", 0, 60_000, 0)
    finally:
        process.kill()
        process.wait(10)


def test_the_command_line_lists_shows_and_stops_runs(tmp_path: Path) -> None:
    assert notify("runs").out == "No long work has run yet.\n"
    notify("import", written(tmp_path / "a.jsonl", record("r-1")))
    notify("import", written(tmp_path / "b.jsonl", "{"))
    bad, good = Run.objects.order_by("-pk")
    listed = notify("runs").out
    assert "notify import a.jsonl" in listed
    assert "failed (rejected)" in listed
    assert [row["id"] for row in notify("runs", "--json").document] == [bad.pk, good.pk]
    shown = notify("runs", "show", str(good.pk))
    assert "1 of 1" in shown.out
    assert "created 1, existing 0" in shown.out
    assert notify("runs", "show", str(good.pk), "--json").document["failed_items"] == []
    assert "there is nothing to pause" in notify("runs", "pause", str(bad.pk)).err
    assert "is cancelled" in notify("runs", "cancel", str(bad.pk)).out
    assert "there is nothing to cancel" in notify("runs", "cancel", str(good.pk)).err
    assert "Say which run" in notify("runs", "show").err
    assert "There is no run 999" in notify("runs", "show", "999").err

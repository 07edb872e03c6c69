"""`notify status`: whether everything is all right, and what the figures count."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from notifications.cli import seed, status
from notifications.models import Circuit, WorkerBeat
from notifications.policy.overall import overall
from reviews import overview
from reviews.standing import OpenCircuit, Standing, StandingPause
from tests.intake.notify_cli import notify
from tests.reviews import cases

pytestmark = [pytest.mark.django_db(databases=["default", "owner"]), pytest.mark.role("owner")]


@pytest.mark.parametrize(
    ("steps", "counted"),
    [
        (cases.RECIPIENT, {"failed": 1}),
        (cases.BOUNCED, {"accepted": 1, "failed": 1}),
        (cases.UNKNOWN, {"unknown": 1}),
        (cases.CONFLICT, {"unknown": 1}),
        (cases.WINDOW_OVER, {"unknown": 1}),
        (seed.lost_worker(), {"unknown": 1}),
    ],
    ids=["refused", "bounced", "unknown", "conflict", "window over", "worker lost"],
)
def test_only_failures_count_as_failed(steps: tuple[seed.Step, ...], counted: dict[str, int]) -> None:
    cases.make_case(steps)
    found = notify("status", "--json").document["per_minute"]
    assert {name: count for name, count in found.items() if count and name != "retried"} == counted


@pytest.mark.parametrize(
    ("facts", "word"),
    [
        ({"workers_alive": 0}, "Delivery stands still"),
        ({"trouble": "copied"}, "Delivery stands still"),
        ({"circuits": (OpenCircuit(1, "resend", "x", None),)}, "Delivery is held up"),
        ({"mode": "off"}, "Delivery is off"),
        ({"pauses": (StandingPause(1, "type", "x", None, timezone.now()),)}, "Delivery is paused in part"),
        ({}, "Delivery runs"),
    ],
)
def test_its_first_line_has_the_consoles_judgement_and_words(facts: dict[str, Any], word: str) -> None:
    standing = replace(Standing(timezone.now(), 1, None, (), "test", "sandbox"), **facts)
    facts = {"chips": [], "problems": [], "previous_url": "", "sort": "", "rows": [], "counted": 0}
    assert overview.read(standing, facts).delivery.word == word
    verdict = overall(workers=standing.workers_alive, circuits=len(standing.circuits), pauses=len(standing.pauses),
                      mode=standing.mode, troubled=bool(standing.trouble))  # fmt: skip
    assert status._VERDICTS[verdict].startswith(f"{word}: ")


def test_it_begins_with_whether_everything_is_all_right() -> None:
    first = notify("status").out.splitlines()[0]
    assert first == "Delivery stands still: see below. Nothing waits for a person."
    assert notify("status", "--json").document["delivery"] == "stands_still"
    now = timezone.now()
    WorkerBeat.objects.create(worker="w", host="h", role="loop", slot=1, started_at=now, beat_at=now)
    cases.make_case(cases.RECIPIENT)
    told = notify("status")
    line = "Delivery runs: workers are alive, every account is called. 1 case waits for a person."
    assert (told.code, told.out.splitlines()[0]) == (0, line)


def test_an_open_circuit_is_dated_as_every_other_time() -> None:
    case = cases.make_case(cases.NOT_SENT)
    until = timezone.now() + timedelta(hours=1)
    Circuit.objects.create(account_id=case.account_id, open_until=until, reason="outage", code="not_sent.refused")
    told = notify("status").out
    assert f"open until {until:%Y-%m-%d %H:%M:%S}Z (not_sent.refused)" in told
    assert "+00:00" not in told
    assert told.startswith("Delivery ")


def test_times_in_show_are_written_alike() -> None:
    shown = notify("show", cases.make_case(cases.ACCEPTED).notification_id).out
    assert "+00:00" not in shown
    assert re.search(r"^  created_at +\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ$", shown, re.MULTILINE)


def test_what_is_held_for_approval_is_no_failure() -> None:
    cases.make_case((), type="report_approved")
    found = notify("status", "--json").document["per_minute"]
    assert (found["held"], found["failed"], found["unknown"]) == (1, 0, 0)
    assert "held 1" in notify("status").out

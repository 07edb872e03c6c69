"""The line above the queue: is everything all right? It asks the database nothing, and the worst that holds decides."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from reviews import overview
from reviews.standing import OpenCircuit, Standing, StandingPause
from tests.reviews import cases
from tests.reviews.cases import login, make_case

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
WELL = Standing(NOW, 2, NOW, (), "local", "sandbox")
CIRCUIT = OpenCircuit(1, "resend", "auth", None)
PAUSE = StandingPause(1, "type", "report_ready", None, NOW + timedelta(hours=1))
EMPTY: dict[str, Any] = {"chips": [], "problems": [], "previous_url": "", "sort": "safe", "rows": [], "counted": 0,
                         "count": "0"}  # fmt: skip
READ = pytest.mark.django_db(databases=["default", "owner"])


@pytest.mark.parametrize(
    ("standing", "word", "tone"),
    [
        (WELL, "Delivery runs", "good"),
        (replace(WELL, pauses=(PAUSE,)), "Delivery is paused in part", "warn"),
        (replace(WELL, mode="off", pauses=(PAUSE,)), "Delivery is off", "calm"),
        (replace(WELL, circuits=(CIRCUIT,), pauses=(PAUSE,)), "Delivery is held up", "bad"),
        (replace(WELL, workers_alive=0, circuits=(CIRCUIT,)), "Delivery stands still", "bad"),
        (replace(WELL, trouble="copied"), "Delivery stands still", "bad"),
    ],
)
def test_the_worst_that_holds_decides(standing: Standing, word: str, tone: str) -> None:
    found = overview.read(standing, EMPTY).delivery
    assert (str(found.word), found.tone) == (word, tone)


def test_nothing_waits_is_said_of_the_whole_queue_alone() -> None:
    waiting = overview.read(WELL, EMPTY).waiting
    assert waiting is not None
    assert str(waiting.word) == "Nothing waits for a person"
    assert overview.read(WELL, {**EMPTY, "chips": ["one"]}).waiting is None
    assert overview.read(WELL, {**EMPTY, "problems": ["one"]}).waiting is None


@READ
@pytest.mark.role("owner")
def test_the_page_says_how_many_wait_and_when_the_next_key_stops_protecting() -> None:
    for steps in (cases.WINDOW_OVER, cases.UNKNOWN, cases.NOT_SENT):
        make_case(steps)
    html = login("vera").get("/reviews/").content.decode()
    line = re.search(r'id="overview">(.*?)</p>', html, re.DOTALL)
    assert line is not None
    assert "3 cases wait for a person" in line[1]
    assert "protection ends in 23 hours" in line[1]
    filtered = login("vera").get("/reviews/?known=not_sent").content.decode()
    assert "wait for a person" not in filtered
    assert "protection ends" not in filtered

"""The timeline of attempts: one stop each, the time between above the line, and at the end what the case is now."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import translation

from notifications.states import State
from reviews import picture
from reviews.story import Attempt
from reviews.words import OUTCOMES

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


def attempt(number: int, at: datetime, *, runs: bool = False, manual: bool = False) -> Attempt:
    ended = None if runs else at + timedelta(seconds=1)
    outcome = None if runs else OUTCOMES["unknown"]
    return Attempt(number, manual, 1, "w", at, ended, outcome, "", "", None, None, "", None)


def test_each_attempt_is_a_stop_and_the_state_is_the_last_one() -> None:
    found = picture.draw([attempt(1, NOON), attempt(2, NOON + timedelta(seconds=301), manual=True)], "needs_review")
    assert [str(stop.title) for stop in found.stops] == ["1 · auto", "2 · manual", "now"]
    assert [stop.gap for stop in found.stops] == ["", "+5 minutes", " "]
    assert [stop.badge.icon for stop in found.stops] == ["circle-question-mark", "circle-question-mark", "circle-alert"]
    assert found.stops[-1].x < found.width


def test_while_the_last_one_runs_nothing_stands_behind_it() -> None:
    found = picture.draw([attempt(1, NOON, runs=True)], "sending")
    assert [str(stop.badge.word) for stop in found.stops] == ["still running"]


def test_of_many_the_newest_are_drawn_and_none_is_no_picture() -> None:
    many = [attempt(n, NOON + timedelta(hours=n)) for n in range(1, 31)]
    found = picture.draw(many, "accepted")
    assert [stop.title for stop in found.stops[:1]] == ["19 · auto"]
    assert len(found.stops) == picture.MOST + 1
    assert picture.draw([], "pending").stops == ()


@pytest.mark.parametrize(("language", "widest"), [("en", 7), ("zh-hans", 13)])
@pytest.mark.parametrize("state", [str(state) for state in State])
def test_the_words_of_the_last_stop_fit(state: str, language: str, widest: int) -> None:
    with translation.override(language):
        found = picture.draw([attempt(1, NOON)], state)
        words = str(found.stops[-1].under)
        assert found.stops[-1].x + len(words) * widest / 2 <= found.width

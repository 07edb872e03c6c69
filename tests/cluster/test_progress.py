"""When a cluster counts as stuck: judged by shared numbers alone, which no killed process can leave locked."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from notifications import runtime


@pytest.fixture
def clock() -> Iterator[float]:
    """Give the time now; put the shared numbers back afterwards."""
    numbers = (runtime.BEAT, runtime.QUEUED_SINCE, runtime.GUARDED)
    before = [number.value for number in numbers]
    yield time.monotonic()
    for number, value in zip(numbers, before, strict=True):
        number.value = value


def test_work_that_waits_without_any_beat_is_stuck(clock: float) -> None:
    runtime.note_queues(filled=True)
    runtime.QUEUED_SINCE.value = runtime.BEAT.value = clock - 11
    assert runtime.stuck(10)
    runtime.beat()
    assert not runtime.stuck(10)


def test_an_empty_queue_may_be_silent_for_ever(clock: float) -> None:
    runtime.note_queues(filled=False)
    runtime.BEAT.value = clock - 1000
    assert not runtime.stuck(10)


def test_work_that_has_just_come_is_given_its_time(clock: float) -> None:
    runtime.note_queues(filled=False)
    runtime.BEAT.value = clock - 1000
    runtime.note_queues(filled=True)
    assert not runtime.stuck(10)


def test_a_guard_that_makes_no_round_is_stuck_however_lively_the_others_are(clock: float) -> None:
    runtime.note_queues(filled=False)
    runtime.beat()
    assert not runtime.stuck(10)
    runtime.GUARDED.value = clock - 11
    assert runtime.stuck(10)

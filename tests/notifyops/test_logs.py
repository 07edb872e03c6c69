"""Logs tell what was done, never what was in it."""

from __future__ import annotations

import json
import logging
import sys

from notifyops.logs import JsonLines, configuration


def line(message: str, *args: object, **extra: object) -> dict[str, object]:
    record = logging.LogRecord(
        "x", logging.INFO, "f.py", 1, message, args, sys.exc_info() if sys.exc_info()[0] else None
    )
    vars(record).update(extra)
    found: dict[str, object] = json.loads(JsonLines().format(record))
    return found


def test_a_record_is_one_line_with_its_action_and_facts() -> None:
    found = line("claimed %d", 3, action="claim", worker="w1", count=3)
    assert (found["action"], found["message"], found["worker"], found["count"]) == ("claim", "claimed 3", "w1", 3)


def test_without_an_action_the_message_is_the_action() -> None:
    assert line("started")["action"] == "started"


def test_an_exception_is_told_by_type_and_place_and_never_by_its_text() -> None:
    try:
        raise ValueError("row (olga@example.com) is bad")
    except ValueError:
        found = line("failed", request="GET /?to=olga@example.com")
    assert found["exception"] == "builtins.ValueError"
    assert "test_logs.py" in str(found["where"])
    assert "olga@example.com" not in json.dumps(found)


def test_an_odd_fact_cannot_break_the_line() -> None:
    assert line("x", odd={1: object()})["odd"]


def test_the_task_queue_logs_no_line_for_each_task() -> None:
    assert configuration()["loggers"]["django-q"]["level"] == "WARNING"

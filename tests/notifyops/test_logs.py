"""Logs tell what was done, never what was in it."""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path

import pytest

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


def handler(log: Path | None) -> dict[str, object]:
    found: dict[str, object] = configuration(commands_log=log)["handlers"]["lines"]
    return found


def test_a_command_that_people_type_logs_to_a_file(tmp_path: Path) -> None:
    assert handler(None)["class"] == "logging.StreamHandler"
    log = tmp_path / "commands.log"
    assert (handler(log)["class"], handler(log)["filename"]) == ("logging.FileHandler", str(log))
    assert not log.exists()


def test_without_a_place_for_the_file_only_a_terminal_is_spared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "nowhere" / "commands.log"
    for is_terminal, wanted in ((True, "logging.NullHandler"), (False, "logging.StreamHandler")):
        monkeypatch.setattr(sys.stderr, "isatty", lambda answer=is_terminal: answer, raising=False)
        assert handler(log)["class"] == wanted

"""Structured logs: one JSON object a line, on stderr; of commands, whose terminal is for sentences, in a file.

Never content: an exception is told by type and place only.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import traceback
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

# What every record has by itself; all other attributes came by `extra` and are facts to print.
USUAL: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
# Django and uvicorn attach whole requests and their own copies of the text.
LEFT_OUT: Final = frozenset({"request", "server_time", "color_message", "websocket", "sql", "params"})


class JsonLines(logging.Formatter):
    """Print a record as one line. The text of an exception is left out: the database quotes whole rows in it."""

    def format(self, record: logging.LogRecord) -> str:
        """Give the line; `action` says what was done and is the message where the caller named none."""
        said = record.getMessage()
        line: dict[str, Any] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "action": getattr(record, "action", said),
            "message": said,
        }
        for name, value in vars(record).items():
            if name not in USUAL and name not in LEFT_OUT and name not in line:
                line[name] = value if isinstance(value, str | int | float | bool | None) else str(value)
        if record.exc_info and record.exc_info[1] is not None:
            line |= _exception(record.exc_info[1])
        return json.dumps(line, ensure_ascii=False)


def _exception(error: BaseException) -> dict[str, Any]:
    frames = traceback.extract_tb(error.__traceback__)[-12:]
    return {
        "exception": f"{type(error).__module__}.{type(error).__qualname__}",
        "sqlstate": getattr(error, "sqlstate", None) or getattr(error.__cause__, "sqlstate", None),
        "where": [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames],
    }


def configuration(*, commands_log: Path | None = None) -> dict[str, Any]:
    """Give Django's LOGGING: all of it to one place, django-q2 without its line per task.

    `commands_log` is given by a command that people type: it gets the lines where it can be written. Elsewhere stderr
    does, unless that is a terminal.
    """
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"json": {"()": "notifyops.logs.JsonLines"}},
        "handlers": {"lines": {"formatter": "json", **_handler(commands_log)}},
        "root": {"handlers": ["lines"], "level": "INFO"},
        "loggers": {
            name: {"handlers": ["lines"], "level": level, "propagate": False}
            for name, level in (
                ("django", "INFO"),
                # INFO prints a line for each task that is queued and each that is done.
                ("django-q", "WARNING"),
                ("django.server", "WARNING"),
                # INFO prints four lines for each login.
                ("axes", "WARNING"),
                ("uvicorn", "INFO"),
                ("uvicorn.access", "WARNING"),
            )
        },
    }


def _handler(commands_log: Path | None) -> dict[str, Any]:
    if commands_log is None:
        return {"class": "logging.StreamHandler"}
    if os.access(commands_log if commands_log.exists() else commands_log.parent, os.W_OK):
        # Opened by the first line: most commands log nothing.
        return {"class": "logging.FileHandler", "filename": str(commands_log), "delay": True, "encoding": "utf-8"}
    return {"class": "logging.NullHandler" if sys.stderr.isatty() else "logging.StreamHandler"}

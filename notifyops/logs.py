"""Structured logs: one JSON object a line on stderr. Never content: an exception is told by type and place only."""

from __future__ import annotations

import json
import logging
import traceback
from datetime import UTC, datetime
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


def configuration() -> dict[str, Any]:
    """Give Django's LOGGING: all of it to stderr, django-q2 without its line per task."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"json": {"()": "notifyops.logs.JsonLines"}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "json"}},
        "root": {"handlers": ["stderr"], "level": "INFO"},
        "loggers": {
            name: {"handlers": ["stderr"], "level": level, "propagate": False}
            for name, level in (
                ("django", "INFO"),
                # INFO prints a line for each task that is queued and each that is done.
                ("django-q", "WARNING"),
                ("django.server", "WARNING"),
                ("uvicorn", "INFO"),
                ("uvicorn.access", "WARNING"),
            )
        },
    }

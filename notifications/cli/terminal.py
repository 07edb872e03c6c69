"""What every verb speaks through: lines or one JSON document on stdout, sentences for people on stderr."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any, Final, Protocol, TextIO

from django.db import connections
from tqdm import tqdm

from notifications.command_line import number_fault, strange_workspace

# How often a long check that nobody watches on a terminal says how far it is.
TOLD_EVERY_S: Final = 10.0
DATA_HELP: Final = """a JSON object, such as '{"title": "Q3"}'; @FILE reads it from a file, @- from stdin"""
DATA_FORMS: Final = """Give a JSON object, such as '{"title": "Q3"}', or @FILE that holds one; @- reads stdin."""


class Refused(Exception):
    """The verb cannot do it; the text is a sentence for the person at the terminal. Exit code 1."""


class Writer(Protocol):
    """The part of Django's OutputWrapper that verbs use."""

    def write(self, msg: str = "", /) -> object: ...

    def flush(self) -> None: ...

    def isatty(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Terminal:
    """Where a verb writes to, and what it reads where a file is named `-`."""

    out: Writer
    err: Writer
    stdin: TextIO

    def line(self, text: str = "") -> None:
        """Write one line of the answer."""
        self.out.write(text + "\n")

    def json(self, document: Any) -> None:
        """Write the answer as one JSON document."""
        self.line(json.dumps(document, ensure_ascii=False, indent=2, default=as_json))

    def json_line(self, document: Any) -> None:
        """Write one of many answers as a line of JSON, at once: the reader may be a pipe."""
        self.line(json.dumps(document, ensure_ascii=False, default=as_json))
        self.out.flush()

    def say(self, sentence: str) -> None:
        """Tell the person something that is no part of the answer."""
        self.err.write(sentence + "\n")

    def doubt_workspaces(self, names: Iterable[str]) -> None:
        """Say where nothing was ever enqueued for one of these workspaces; `*` and the default one are not asked."""
        for name in names:
            if name != "*" and (hint := strange_workspace(name)):
                self.say(hint)

    @contextlib.contextmanager
    def progress(self, total: int, things: str) -> Iterator[Callable[[int], object]]:
        """Show how far it is while the block tells what it has done: a bar on a terminal, else a line now and then."""
        if self.err.isatty():
            with tqdm(total=total, unit=f" {things}") as bar:
                yield bar.update
            return
        done, told_at = 0, time.monotonic()

        def told(count: int) -> None:
            nonlocal done, told_at
            done += count
            if time.monotonic() - told_at >= TOLD_EVERY_S:
                told_at = time.monotonic()
                self.say(f"{done:,} of {total:,} {things} checked")

        yield told

    def table(self, heads: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
        """Write rows in aligned columns."""
        texts = [list(heads), *([("" if cell is None else str(cell)) for cell in row] for row in rows)]
        widths = [max(len(row[column]) for row in texts) for column in range(len(texts[0]))]
        for row in texts:
            self.line("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def as_json(value: object) -> object:
    """Give times in ISO 8601 with their zone and all microseconds; Django's own encoder drops three digits."""
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    raise TypeError(f"{type(value).__name__} has no JSON form here")


def rows(query: str, parameters: Iterable[str | int | datetime | list[int]] = ()) -> list[dict[str, Any]]:
    """Give the rows of a query by column name."""
    with connections["default"].cursor() as cursor:
        cursor.execute(query, list(parameters))
        names = [column[0] for column in cursor.description]
        return [_loaded(dict(zip(names, row, strict=True))) for row in cursor.fetchall()]


def _loaded(row: dict[str, Any]) -> dict[str, Any]:
    # Django's connections hand out jsonb as text.
    for name in ("detail", "tally"):
        if isinstance(row.get(name), str):
            row[name] = json.loads(row[name])
    return row


def check_number(option: str, value: float | None, low: int, high: int) -> None:
    """Raise Refused, with the sentence that names the bounds, for a number outside of `low` to `high`."""
    if fault := number_fault(option, value, low, high):
        raise Refused(fault)


def data_text(given: str, terminal: Terminal) -> str:
    """Give the text of --data: as it was given, or as curl reads it: `@FILE` from a file, `@-` from standard input."""
    if not given.startswith("@"):  # no JSON begins so
        return given
    if given == "@-":
        return terminal.stdin.read()
    try:
        return Path(given[1:]).read_text("utf-8-sig")
    except UnicodeDecodeError:
        raise Refused(f"--data: {given[1:]} is not UTF-8 text.") from None
    except (OSError, ValueError) as error:
        why = (getattr(error, "strerror", None) or str(error)).lower()
        raise Refused(f"--data: {given[1:]} cannot be read: {why}. Write --data @FILE, or @- to read stdin.") from None


def parsed_data(given: str, terminal: Terminal) -> Any:
    """Give what --data holds. Raises Refused where it is not JSON, with the forms that it has."""
    try:
        return json.loads(data_text(given, terminal))
    except (ValueError, RecursionError) as error:
        raise Refused(f"--data is not JSON: {error}. {DATA_FORMS}") from None


def age(seconds: float | None) -> str:
    """Give a span as people read it: 42 s, 5 min, 3 h, 2 d; a dash where there is none."""
    if seconds is None:
        return "-"
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{int(seconds // size)} {unit}"
    return f"{seconds:.0f} s"


def counted(count: int, one: str, many: str) -> str:
    """Give a count with the form of the words that goes with it: 1 line, 2 lines."""
    return f"{count} {one if count == 1 else many}"


def listed(mapping: Mapping[str, object]) -> str:
    """Give a mapping as `name value, name value`."""
    return ", ".join(f"{name} {value}" for name, value in mapping.items())

"""`notify import FILE`: owe many notifications, from JSON Lines or CSV. To run it twice adds nothing.

Every line is checked before the first is written, and all are written in one transaction: all or none. With --each
the good lines are written and the bad ones reported.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from io import TextIOWrapper
from itertools import islice
from pathlib import Path
from typing import Any, Final, TextIO

from django.core.management.base import CommandParser
from django.db import connection, transaction
from tqdm import tqdm

from notifications import outbox
from notifications.cli.import_lines import BadFile, Line, checked, heading, read
from notifications.cli.terminal import Refused, Terminal

# Large enough that the calls cost little, small enough that the bar moves.
BATCH: Final = 1000
# More would push the first ones off the screen; all stand in the file of rejected lines.
PRINTED: Final = 50


def add_arguments(parser: CommandParser) -> None:
    """Take the file and how to treat bad lines."""
    parser.add_argument("file", help="JSON Lines or CSV; - reads standard input")
    parser.add_argument(
        "--format", choices=("jsonl", "csv"), help="default: csv for names that end in .csv, else jsonl"
    )
    parser.add_argument("--each", action="store_true", help="write the good lines although others are bad")
    parser.add_argument("--json", action="store_true", help="print one JSON document")


@dataclass(slots=True)
class Tally:
    """What became of the lines."""

    created: int = 0
    existing: int = 0
    rejected: list[tuple[Line, str]] = field(default_factory=list)

    def reject(self, line: Line, reason: str) -> None:
        """Keep a line that cannot be written, with the reason."""
        self.rejected.append((line, reason))

    def take(self, owed: list[outbox.Enqueued]) -> None:
        """Count what was written."""
        new = sum(one.created for one in owed)
        self.created += new
        self.existing += len(owed) - new


def run(options: dict[str, Any], terminal: Terminal) -> int:
    """Check, write, report; exit code 1 where any line was rejected."""
    path, form = options["file"], options["format"]
    form = form or ("csv" if path.lower().endswith(".csv") else "jsonl")
    tally = Tally()
    with _opened(path, terminal) as source:
        bar = _Bar(terminal)
        try:
            start = heading(source, form)
            total = _check(source, form, tally, bar)
            if options["each"]:
                _write_each(source, form, tally, bar.over("writing", total))
            elif not tally.rejected:
                _write_all(source, form, tally, bar.over("writing", total))
        except BadFile as bad:
            raise Refused(str(bad)) from None
        except UnicodeDecodeError as error:
            raise Refused(
                f"{path} is not UTF-8 text ({error.reason}), so nothing was written. Save it as UTF-8."
            ) from None
        finally:
            bar.close()
    rejects = _keep_rejected(path, start, tally) if tally.rejected else None
    _report(tally, rejects, options, terminal)
    return 1 if tally.rejected else 0


@contextmanager
def _opened(path: str, terminal: Terminal) -> Iterator[TextIO]:
    """Open the file, or keep standard input in one: it is read twice."""
    if path == "-":
        with tempfile.TemporaryFile() as kept, TextIOWrapper(kept, encoding="utf-8", newline="") as decoded:
            shutil.copyfileobj(terminal.stdin.buffer, kept)
            yield decoded
        return
    with ExitStack() as stack:
        try:
            text: TextIO = stack.enter_context(Path(path).open(encoding="utf-8", newline=""))
        except OSError as error:
            raise Refused(f"{path} cannot be read: {(error.strerror or str(error)).lower()}.") from None
        if not text.seekable():
            raise Refused(f"{path} is a pipe and would be read twice: use `notify import - < {path}`.")
        yield text


def _check(source: TextIO, form: str, tally: Tally, bar: _Bar) -> int:
    """Read every line once; give how many are good."""
    good = 0
    advance = bar.over("checking", None)
    for line in map(checked, read(source, form)):
        if line.item is None:
            tally.reject(line, line.wrong)
        else:
            good += 1
        advance(1)
    return good


def _batches(source: TextIO, form: str, tally: Tally) -> Iterator[list[Line]]:
    """Read the good lines again: all of them at once might not fit into memory."""
    source.seek(0)
    bad = {line.number for line, _ in tally.rejected}
    good = (line for line in read(source, form) if line.number not in bad)
    while batch := list(islice(good, BATCH)):
        yield batch


def _write_all(source: TextIO, form: str, tally: Tally, advance: Callable[[int], None]) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        # One file at a time: a batch has one order of writing, but two files may bring the same keys in any order.
        cursor.execute("SELECT pg_advisory_xact_lock(7805, 1)")
        for batch in _batches(source, form, tally):
            try:
                tally.take(outbox.enqueue_many(_items(batch)))
            except outbox.EnqueueError:
                # Which lines, and how many? The whole is given up, so the answer may cost time.
                _one_by_one(batch, tally)
            advance(len(batch))
        if tally.rejected:
            tally.created = tally.existing = 0
            transaction.set_rollback(True)


def _write_each(source: TextIO, form: str, tally: Tally, advance: Callable[[int], None]) -> None:
    for batch in _batches(source, form, tally):
        with transaction.atomic():
            try:
                tally.take(outbox.enqueue_many(_items(batch)))
            except outbox.EnqueueError:
                _one_by_one(batch, tally)
        advance(len(batch))


def _one_by_one(batch: list[Line], tally: Tally) -> None:
    for line in batch:
        try:
            tally.take(outbox.enqueue_many(_items([line])))
        except outbox.EnqueueError as refusal:
            tally.reject(line, str(refusal).removeprefix("item 1: "))


def _items(batch: list[Line]) -> list[outbox.Item]:
    return [line.item for line in batch if line.item is not None]


def _keep_rejected(path: str, start: str, tally: Tally) -> str:
    """Write the rejected lines as they were, to be mended and imported; they hold addresses, so for our eyes only."""
    target = "stdin.rejected" if path == "-" else f"{path}.rejected"
    lines = sorted(tally.rejected, key=lambda rejected: rejected[0].number)
    try:
        handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(handle, "w", encoding="utf-8", newline="") as kept:
            kept.write(start)
            kept.writelines(line.raw if line.raw.endswith("\n") else line.raw + "\n" for line, _ in lines)
    except OSError as error:
        return f"(not kept: {target} cannot be written: {(error.strerror or str(error)).lower()})"
    return target


def _report(tally: Tally, rejects: str | None, options: dict[str, Any], terminal: Terminal) -> None:
    lines = sorted(tally.rejected, key=lambda rejected: rejected[0].number)
    for line, reason in lines[:PRINTED]:
        terminal.say(f"line {line.number}: {reason}")
    if len(lines) > PRINTED:
        terminal.say(f"… and {len(lines) - PRINTED} more.")
    if lines and not options["each"]:
        terminal.say("Nothing was imported. Mend the lines, or give --each to import the others.")
    if options["json"]:
        terminal.json(
            {
                "created": tally.created,
                "existing": tally.existing,
                "rejected": [{"line": line.number, "reason": reason} for line, reason in lines],
                "rejected_file": rejects,
            }
        )
        return
    terminal.line(f"{tally.created} created, {tally.existing} were there already, {len(lines)} rejected")
    if rejects:
        terminal.say(f"The rejected lines stand in {rejects}.")


class _Bar:
    """A progress bar where a person looks on; silent anywhere else."""

    def __init__(self, terminal: Terminal) -> None:
        self._shown = terminal.err.isatty()
        self._bar: Any = None

    def over(self, doing: str, total: int | None) -> Callable[[int], None]:
        """Begin a new bar; give the function that moves it."""
        self.close()
        self._bar = tqdm(desc=doing, total=total, unit=" lines", disable=not self._shown)
        return lambda count: self._bar.update(count) and None

    def close(self) -> None:
        """Leave the terminal as a bar's last state shows it."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None

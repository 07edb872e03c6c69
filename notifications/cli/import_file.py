"""`notify import FILE`: owe many notifications, from JSON Lines or CSV. To run it twice adds nothing.

Every line is checked before the first is written, and all are written in one transaction: all or none. With --each
the good lines are written and the bad ones reported; an import that was cut off goes on behind its last batch.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from argparse import RawDescriptionHelpFormatter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import Any, Final, TextIO

from django.core.management.base import CommandParser, DjangoHelpFormatter

from notifications import runs
from notifications.cli.import_lines import NEEDED, OPTION_NAMES, PRIORITY, BadFile, heading
from notifications.cli.import_run import BATCH, Bar, Import, Tally, write
from notifications.cli.terminal import Refused, Terminal, counted
from notifications.host import actor

# More would push the first ones off the screen; all stand in the file of rejected lines.
PRINTED: Final = 50
# The code of the run where the file as a whole cannot be read.
BAD_FILE: Final = "bad_file"
# Bytes that are no UTF-8 concern their line alone, and go to the rejected ones as they are.
_TEXT: Final[dict[str, Any]] = {"encoding": "utf-8", "errors": "surrogateescape", "newline": ""}


# What `--help` says beside the arguments; the names are those that `import_lines` reads.
FORMS: Final = f"""
JSON Lines: one object a line, with {", ".join(NEEDED)}
(all three needed), data (an object, the values of the type: see `notify types`) and options
(an object of any of {", ".join(sorted(OPTION_NAMES))}).

  {{"notification_type": "report_ready", "report_id": "r-1", "recipient": "ana@example.com", "data": {{"title": "Q3"}}}}

CSV: the first line names the columns: the three above; data (a JSON object), or a column data.NAME for
each value; and any of the options by its own name. Empty cells count as not given.

  notification_type,report_id,recipient,data.title
  report_ready,r-1,ana@example.com,Q3

A line that names no priority is "{PRIORITY}": it lets everything else go first.

All or nothing: every line is checked first, and where one is bad nothing is written. With --each the good
lines are written in batches of {BATCH:,}, and the bad ones are left out. Either way the bad ones are printed by
their numbers and kept in FILE.rejected, to be mended and imported; the exit code is then 1. To import a
file twice adds nothing.
"""


class _Help(DjangoHelpFormatter, RawDescriptionHelpFormatter):
    """Leaves the lines of the forms as they are."""


def add_arguments(parser: CommandParser) -> None:
    """Take the file and how to treat bad lines."""
    parser.formatter_class, parser.epilog = _Help, FORMS
    parser.add_argument("file", help="JSON Lines or CSV; - reads standard input")
    parser.add_argument(
        "--format", choices=("jsonl", "csv"), help="default: csv for names that end in .csv, else jsonl"
    )
    parser.add_argument("--each", action="store_true", help="write the good lines although others are bad")
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def run(options: dict[str, Any], terminal: Terminal) -> int:
    """Check, write, report; exit code 1 where any line was rejected, 0 where the same file is being imported now."""
    path, form = options["file"], options["format"]
    form = form or ("csv" if path.lower().endswith(".csv") else "jsonl")
    tally = Tally()
    with _opened(path, terminal) as source:
        bar = Bar(terminal)
        try:
            start = heading(source, form)
            with runs.opened("import", _key(source, options), title=_title(path, options), by=actor()) as work:
                try:
                    write(Import(source, form, tally, work, bar), each=options["each"])
                except BadFile as bad:
                    raise runs.GaveUp(BAD_FILE) from bad
        except runs.GaveUp as gave_up:
            if isinstance(gave_up.__cause__, BadFile):
                raise Refused(str(gave_up.__cause__)) from None
            # Nothing was written; the lines that are in the way are reported below.
        except runs.AlreadyRuns:
            terminal.say("This very file is being imported now by another process; nothing was done here.")
            return 0
        except runs.Stopped as stopped:
            raise Refused(f"The import was {stopped}. Give the command again to go on behind its last step.") from None
        except BadFile as bad:
            raise Refused(str(bad)) from None
        finally:
            bar.close()
    rejects = _keep_rejected(path, start, tally) if tally.rejected else None
    _report(tally, rejects, options, terminal)
    return 1 if tally.rejected else 0


def _key(source: TextIO, options: dict[str, Any]) -> str:
    """Name the work by the file's bytes: the same file under another name is the same work."""
    digest = hashlib.sha256()
    while part := source.buffer.read(1024 * 1024):
        digest.update(part)
    source.seek(0)
    return f"{digest.hexdigest()} each" if options["each"] else digest.hexdigest()


def _title(path: str, options: dict[str, Any]) -> str:
    name = "-" if path == "-" else Path(path).name
    return f"notify import {name}{' --each' if options['each'] else ''}"


@contextmanager
def _opened(path: str, terminal: Terminal) -> Iterator[TextIO]:
    """Open the file, or keep standard input in one: it is read twice."""
    if path == "-":
        with tempfile.TemporaryFile() as kept, TextIOWrapper(kept, **_TEXT) as decoded:
            shutil.copyfileobj(terminal.stdin.buffer, kept)
            yield decoded
        return
    with ExitStack() as stack:
        try:
            text: TextIO = stack.enter_context(Path(path).open(**_TEXT))
        except OSError as error:
            raise Refused(f"{path} cannot be read: {(error.strerror or str(error)).lower()}.") from None
        if not text.seekable():
            raise Refused(f"{path} is a pipe and would be read twice: use `notify import - < {path}`.")
        yield text


def _keep_rejected(path: str, start: str, tally: Tally) -> str:
    """Write the rejected lines as they were, to be mended and imported; they hold addresses, so for our eyes only."""
    target = "stdin.rejected" if path == "-" else f"{path}.rejected"
    lines = sorted(tally.rejected, key=lambda rejected: rejected[0].number)
    try:
        handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(handle, "w", **_TEXT) as kept:
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
    elif tally.expired:
        what = counted(tally.expired, "line has", "lines have")
        terminal.say(f"{what} an expires_at that is over: what they owe is cancelled as expired, and not sent.")
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
    terminal.line(
        f"{tally.created} created, {counted(tally.existing, 'was', 'were')} there already, {len(lines)} rejected"
    )
    if rejects:
        terminal.say(f"The rejected lines stand in {rejects}.")

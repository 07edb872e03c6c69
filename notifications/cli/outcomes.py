"""`notify outcomes`: what became of notifications, in order, and with --follow what is to come."""

from __future__ import annotations

import time
from typing import Any, Final

from django.core.management.base import CommandParser

from notifications.cli.terminal import Terminal, check_number, moment, rows
from notifications.command_line import LARGEST

PART: Final = 500
POLL_S: Final = 0.5


def add_arguments(parser: CommandParser) -> None:
    """Take where to begin, and how far to go."""
    parser.add_argument("--after", type=int, default=0, help="the last position that is known already (0)")
    parser.add_argument("-n", "--lines", type=int, help="how many at most; default: all there are")
    parser.add_argument("--workspace", help="only this one; '' is the default one")
    parser.add_argument("-f", "--follow", action="store_true", help="go on until Ctrl-C")
    parser.add_argument("--json", action="store_true", help="one JSON document a line")


def run(options: dict[str, Any], terminal: Terminal) -> int:
    """Print outcomes, oldest first; the position comes first on each line: begin there next time."""
    after, left = options["after"], options["lines"]
    check_number("--after", after, 0, LARGEST)
    check_number("--lines", left, 1, LARGEST)
    if options["workspace"]:
        terminal.doubt_workspaces([options["workspace"]])
    while left is None or left > 0:
        found = _part(after, PART if left is None else min(left, PART), options["workspace"])
        for row in found:
            _print(row, options, terminal)
        if found:
            after = found[-1]["position"]
            left = None if left is None else left - len(found)
        elif options["follow"]:
            time.sleep(POLL_S)
        else:
            break
    return 0


def _part(after: int, count: int, workspace: str | None) -> list[dict[str, Any]]:
    if workspace is None:
        return rows("SELECT * FROM notifyops.outcomes(%s, %s)", [after, count])
    return rows("SELECT * FROM notifyops.outcomes(%s, %s, %s)", [after, count, workspace])


def _print(row: dict[str, Any], options: dict[str, Any], terminal: Terminal) -> None:
    if options["json"]:
        terminal.json_line(row)
        return
    place = f"{row['workspace']}:" if row["workspace"] else ""
    because = " ".join(str(part) for part in (row["code"], row["reason_code"]) if part is not None)
    key = f"{place}{row['notification_id']} #{row['seq']}"
    terminal.line(f"{row['position']} {moment(row['at'])} {key} {row['outcome']} {because}".rstrip())
    terminal.out.flush()

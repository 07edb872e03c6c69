"""`notify tail`: the newest log entries of all notifications, and with --follow those to come."""

from __future__ import annotations

import time
from collections import deque
from typing import Any, Final

from django.core.management.base import CommandParser

from notifications.cli.terminal import Terminal, check_number, moment, rows

QUERY: Final = """
    SELECT l.id AS entry_id, i.notification_id AS id, i.workspace, l.seq, l.at, l.kind, l.from_state, l.to_state,
        l.attempt, l.outcome, l.code, l.actor, l.reason_code, l.worker
    FROM notifyops_private.notifications_logentry l JOIN notifyops_private.notifications_intent i ON i.id = l.intent_id
"""
# Ids are taken before the commit, so a lower one may appear later: this many are looked at again.
BACKWARD: Final = 500
POLL_S: Final = 0.5
# More would not be read, but is what `notifyops.log` is for.
MOST: Final = 10_000


def add_arguments(parser: CommandParser) -> None:
    """Take how many, and whether to go on."""
    parser.add_argument(
        "-n", "--lines", type=int, default=20, help=f"how many entries to begin with: 0 to {MOST:,} (20)"
    )
    parser.add_argument("-f", "--follow", action="store_true", help="go on until Ctrl-C")
    parser.add_argument("--json", action="store_true", help="one JSON document a line")


def run(options: dict[str, Any], terminal: Terminal) -> int:
    """Print entries, oldest first."""
    check_number("--lines", options["lines"], 0, MOST)
    newest = rows(f"{QUERY} ORDER BY l.id DESC LIMIT %s", [options["lines"]])
    for row in reversed(newest):
        _print(row, options, terminal)
    if not options["follow"]:
        return 0
    top = rows("SELECT coalesce(max(id), 0) AS top FROM notifyops_private.notifications_logentry")[0]["top"]
    seen = deque((row["entry_id"] for row in rows(f"{QUERY} WHERE l.id > %s", [top - BACKWARD])), maxlen=4 * BACKWARD)
    while True:
        fresh = rows(f"{QUERY} WHERE l.id > %s ORDER BY l.id LIMIT 5000", [max(seen, default=top) - BACKWARD])
        known = set(seen)
        for row in fresh:
            if row["entry_id"] not in known:
                seen.append(row["entry_id"])
                _print(row, options, terminal)
        time.sleep(POLL_S)


def _print(row: dict[str, Any], options: dict[str, Any], terminal: Terminal) -> None:
    if options["json"]:
        terminal.json_line(row)
        return
    move = f"{row['from_state']} → {row['to_state']}" if row["from_state"] != row["to_state"] else row["to_state"]
    because = " ".join(
        str(part) for part in (row["outcome"], row["code"], row["actor"], row["reason_code"]) if part is not None
    )
    # An id that we chose begins with its workspace.
    is_named = not row["workspace"] or row["id"].startswith(f"{row['workspace']}/")
    place = "" if is_named else f"{row['workspace']}:"
    terminal.line(f"{moment(row['at'])} {place}{row['id']} #{row['seq']} {row['kind']}: {move} {because}".rstrip())
    terminal.out.flush()

"""`notify runs`: long work, where it stands, and how to stop it. Work goes on when its own command is given again."""

from __future__ import annotations

from typing import Any, Final

from django.core.management.base import CommandParser

from notifications import run_wishes
from notifications.cli.terminal import Refused, Terminal, age, check_number, listed, rows
from notifications.command_line import LARGEST
from notifications.host import actor

SHOWN: Final = 20
ITEMS: Final = 50
_LIST: Final = """
SELECT r.id, r.kind, r.title, r.state, r.code, r.done_count AS done, r.total_count AS total, r.failed_count AS failed,
    r.step_done_count AS in_step, r.tally, r.epoch AS starts, r.started_by, r.created_at, r.beat_at, r.ended_at,
    r.wish, r.wished_by,
    extract(epoch FROM clock_timestamp() - r.beat_at)::float8 AS silent_s
FROM notifyops_private.notifications_run r WHERE %s = 0 OR r.id = %s ORDER BY r.id DESC LIMIT %s
"""
_ITEMS: Final = """
SELECT i.place, i.code FROM notifyops_private.notifications_runitem i WHERE i.run_id = %s ORDER BY i.place LIMIT %s
"""


def add_arguments(parser: CommandParser) -> None:
    """Take what to do, and with which run."""
    parser.add_argument("do", nargs="?", choices=("list", "show", "pause", "cancel"), default="list")
    parser.add_argument("run", nargs="?", type=int, help="the run's number")
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def run(options: dict[str, Any], terminal: Terminal) -> int:
    """List, show, pause or cancel."""
    do, number = options["do"], options["run"]
    check_number("The number of a run", number, 1, LARGEST)
    if do == "list":
        _list(rows(_LIST, (0, 0, SHOWN)), terminal, as_json=options["json"])
        return 0
    if number is None:
        raise Refused(f"Say which run: notify runs {do} NUMBER. `notify runs` lists them.")
    found = rows(_LIST, (number, number, 1))
    if not found:
        raise Refused(f"There is no run {number}. `notify runs` lists the newest {SHOWN}.")
    if do == "show":
        _show(found[0], terminal, as_json=options["json"])
        return 0
    return _steer(found[0], do, terminal)


def _list(found: list[dict[str, Any]], terminal: Terminal, *, as_json: bool) -> None:
    if as_json:
        terminal.json(found)
    elif not found:
        terminal.line("No long work has run yet.")
    else:
        heads = ("RUN", "STATE", "DONE", "FAILED", "LAST STEP", "BY", "WHAT")
        terminal.table(heads, [_cells(row) for row in found])


def _cells(row: dict[str, Any]) -> tuple[object, ...]:
    state = f"{row['state']} ({row['code']})" if row["code"] else row["state"]
    if row["state"] == "done" and row["failed"]:
        state = f"done, {row['failed']} failed"
    return row["id"], state, _done(row), row["failed"], f"{age(row['silent_s'])} ago", row["started_by"], row["title"]


def _done(row: dict[str, Any]) -> str:
    done = f"{row['done']} of {row['total']}" if row["total"] is not None else str(row["done"])
    return f"{done} (+{row['in_step']}, not yet committed)" if row["in_step"] else done


def _show(row: dict[str, Any], terminal: Terminal, *, as_json: bool) -> None:
    items = rows(_ITEMS, (row["id"], ITEMS))
    if as_json:
        terminal.json(row | {"failed_items": items})
        return
    _list([row], terminal, as_json=False)
    if row["tally"]:
        terminal.line(listed(row["tally"]))
    if row["starts"] > 1:
        terminal.line(f"started {row['starts']} times; each start goes on behind the last step")
    if row["wish"]:
        terminal.line(f"asked to {row['wish']} by {row['wished_by']}")
    for item in items:
        terminal.line(f"item {item['place']}: {item['code']}")
    if row["failed"] > len(items):
        terminal.line(f"… and {row['failed'] - len(items)} more.")


def _steer(row: dict[str, Any], word: str, terminal: Terminal) -> int:
    if not run_wishes.wish(row["id"], word, actor()):
        raise Refused(f"Run {row['id']} is {row['state']}: there is nothing to {word}.")
    if row["state"] == "running":
        terminal.line(f"Run {row['id']} will stop before its next step. What it has done stays done.")
    else:
        terminal.line(f"Run {row['id']} is cancelled: the same work would begin anew.")
    return 0

"""`notify explain KEY`: the story in plain words."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from notifications import advising, outbox
from notifications.cli import story
from notifications.cli.terminal import Terminal


def add_arguments(parser: CommandParser) -> None:
    """Take a key, and whether the answer is for a program."""
    story.add_key(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def run(options: dict[str, Any], terminal: Terminal) -> int:
    """Print a line per fact."""
    row = story.found(options)
    lines = outbox.explain(row["id"], workspace=row["workspace"])
    now = advising.advised(row["intent_id"])
    if now:
        lines.append(f"suggested now: {now}.")
    if options["json"]:
        terminal.json({"notification_id": row["id"], "workspace": row["workspace"], "lines": lines})
    else:
        for line in lines:
            terminal.line(line)
    return 0

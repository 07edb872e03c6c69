"""`notify pauses`: what is paused now, and with --all what ever was."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from notifications.cli.pause import named
from notifications.cli.terminal import Terminal
from notifications.models import Pause
from notifications.pausing import now, standing

FIELDS = (
    *("id", "scope", "name", "reason_code", "reason", "actor", "began_at", "ends_at"),
    *("resumed_at", "resumed_by", "resume_reason"),
)
NEWEST = 200


def add_arguments(parser: CommandParser) -> None:
    """Take which, and for whom the answer is."""
    parser.add_argument("--all", action="store_true", help=f"the {NEWEST} newest, those that are over included")
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def run(options: dict[str, Any], terminal: Terminal) -> int:
    """Print the pauses."""
    found = list(Pause.objects.order_by("-pk")[:NEWEST]) if options["all"] else list(standing(now()))
    if options["json"]:
        terminal.json([{field: getattr(one, field) for field in FIELDS} for one in found])
        return 0
    if not found:
        terminal.line("Nothing is paused.")
        return 0
    terminal.table(
        ("number", "what", "name", "until", "reason", "by", "resumed"),
        (
            (
                *(one.pk, one.scope, named(one), f"{one.ends_at:%Y-%m-%d %H:%M} UTC", one.reason_code, one.actor),
                f"{one.resumed_at:%H:%M} by {one.resumed_by}" if one.resumed_at else "",
            )
            for one in found
        ),
    )
    return 0

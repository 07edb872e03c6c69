"""`notify resume NUMBER --reason TEXT`: end a pause before its time."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from notifications.cli.pause import named
from notifications.cli.terminal import Refused, Terminal, check_number
from notifications.command_line import LARGEST
from notifications.host import actor
from notifications.pausing import PauseRefused, resume


def add_arguments(parser: CommandParser) -> None:
    """Take which pause, and why."""
    parser.add_argument("pause", type=int, help="its number, as notify pauses lists it")
    parser.add_argument("--reason", required=True, help="10 to 500 characters, kept for ever")


def run(options: dict[str, Any], terminal: Terminal) -> int:
    """Resume, and say what."""
    check_number("The number of a pause", options["pause"], 1, LARGEST)
    try:
        ended = resume(options["pause"], reason=options["reason"], actor=actor())
    except PauseRefused as refusal:
        raise Refused(str(refusal.sentence)) from refusal
    terminal.line(f"Resumed: {ended.scope} {named(ended)}. What is due goes out within a second.")
    return 0

"""`notify pause account|type|workspace NAME --for 2h --reason CODE`: keep something from being sent for a while."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any, Final

from django.core.management.base import CommandParser

from notifications.cli.terminal import Refused, Terminal
from notifications.host import actor
from notifications.models.pause import REASONS, SCOPES
from notifications.pausing import PauseRefused, pause

_SPAN: Final = re.compile(r"([0-9]{1,4})\s*(min|m|h)")
_MINUTES: Final = {"min": 1, "m": 1, "h": 60}


def add_arguments(parser: CommandParser) -> None:
    """Take what to pause, for how long, and why."""
    parser.add_argument("scope", choices=SCOPES)
    parser.add_argument("name", help="the account's, type's or workspace's name; '' is the default workspace")
    parser.add_argument("--for", dest="span", required=True, metavar="SPAN", help="30min, 2h; 24 hours at most")
    parser.add_argument("--reason", required=True, choices=REASONS)
    parser.add_argument("--text", default="", help="an explanation, needed with --reason other; kept for ever")


def run(options: dict[str, Any], terminal: Terminal) -> int:
    """Pause, and say until when."""
    span = _SPAN.fullmatch(options["span"].strip())
    if span is None:
        raise Refused(f"{options['span']!r} is no span: write minutes or hours, such as 30min or 2h.")
    minutes = int(span[1]) * _MINUTES[span[2]]
    try:
        made = pause(
            options["scope"],
            options["name"],
            span=timedelta(minutes=minutes),
            reason=(options["reason"], options["text"]),
            actor=actor(),
        )
    except PauseRefused as refusal:
        raise Refused(str(refusal.sentence)) from refusal
    terminal.line(f"Paused until {made.ends_at:%Y-%m-%d %H:%M:%S} UTC as pause {made.pk}: {made.scope} {named(made)}.")
    if made.scope == "workspace":
        terminal.doubt_workspaces([made.name])
    terminal.line("What a worker has claimed already still goes out. End it early with manage.py notify resume.")
    return 0


def named(one: Any) -> str:
    """Give the name of what is paused, as people read it."""
    return one.name or "(the default one)"

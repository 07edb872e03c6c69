"""`notify doctor`: check every invariant, and say what breaks one."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Final

from django.core.management.base import CommandParser

from notifications import doctor
from notifications.cli.terminal import Terminal
from notifications.models import Intent

# One broken rule may touch every intent: enough to see what it is.
PRINTED: Final = 200


def add_arguments(parser: CommandParser) -> None:
    """Take whether the answer is for a program."""
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def run(options: dict[str, Any], terminal: Terminal) -> int:
    """Check everything; exit code 1 on any violation."""
    first, last = doctor.id_range()
    with terminal.progress(last - first + 1, "intent numbers") as told:
        found = list(doctor.check_all(progress=told))
    if options["json"]:
        terminal.json({"invariants": len(doctor.INVARIANTS), "violations": [asdict(one) for one in found]})
        return 1 if found else 0
    ids = [one.intent_id for one in found[:PRINTED] if one.intent_id is not None]
    names = dict(Intent.objects.filter(pk__in=ids).values_list("pk", "notification_id"))
    for one in found[:PRINTED]:
        place = "" if one.intent_id is None else f" {names.get(one.intent_id, '')} (intent {one.intent_id})"
        terminal.line(f"{one.invariant}{place}: {one.detail}. {doctor.INVARIANTS.get(one.invariant, '')}".rstrip())
    if len(found) > PRINTED:
        terminal.line(f"… and {len(found) - PRINTED} more; --json prints all.")
    terminal.line(f"{len(doctor.INVARIANTS)} invariants checked, {len(found)} violations")
    return 1 if found else 0

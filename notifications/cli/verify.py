"""`notify verify`: recompute the chains of the log, and say every link that does not hold."""

from __future__ import annotations

from typing import Any, Final

from django.core.management.base import CommandParser

from notifications import doctor
from notifications.cli import story
from notifications.cli.terminal import Refused, Terminal, counted, rows

# Intents a call: seconds at most, and little memory on the server.
CHUNK: Final = 5000
# A log without its intent must be met, too.
RANGE: Final = """
    SELECT coalesce(least(i.first, l.first), 1) AS first, coalesce(greatest(i.last, l.last), 0) AS last
    FROM (SELECT min(id) AS first, max(id) AS last FROM notifyops_private.notifications_intent) i,
        (SELECT min(intent_id) AS first, max(intent_id) AS last FROM notifyops_private.notifications_logentry) l
"""
COUNT: Final = """
    SELECT count(*) AS count FROM notifyops_private.notifications_logentry WHERE intent_id BETWEEN %s AND %s
"""


def add_arguments(parser: CommandParser) -> None:
    """Take one key, or nothing for all."""
    parser.add_argument("key", nargs="?", help="verify one notification only")
    parser.add_argument("--workspace", default="", help="where the key belongs")
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def run(options: dict[str, Any], terminal: Terminal) -> int:
    """Verify in chunks; exit code 1 on any fault."""
    if options["workspace"] and not options["key"]:
        raise Refused("--workspace says where a KEY belongs: name one, or leave it out to verify all workspaces.")
    if options["key"]:
        first = last = story.found(options)["intent_id"]
    else:
        first, last = rows(RANGE)[0].values()
    entries, faults = 0, []
    with terminal.progress(last - first + 1, "intent numbers") as told:
        for start, end, covered in doctor.chunks(first, last, CHUNK):
            faults += rows(
                "SELECT v.*, i.notification_id FROM notifyops_private.verify_v1(%s, %s) v "
                "LEFT JOIN notifyops_private.notifications_intent i ON i.id = v.intent_id ORDER BY v.intent_id, v.seq",
                [start, end],
            )
            entries += rows(COUNT, [start, end])[0]["count"]
            told(covered)
    if options["json"]:
        terminal.json({"entries": entries, "faults": faults})
    else:
        for fault in faults:
            name = fault["notification_id"] or "a notification that is gone"
            terminal.line(f"{name} (intent {fault['intent_id']}) #{fault['seq']}: {fault['fault']}")
        terminal.line(f"{counted(entries, 'entry', 'entries')} verified, {counted(len(faults), 'fault', 'faults')}")
    return 1 if faults else 0

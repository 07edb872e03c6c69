"""`notify enqueue TYPE REPORT_ID TO`: owe one notification."""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import CommandParser
from django.db import transaction

from notifications import outbox
from notifications.cli.terminal import Refused, Terminal

OPTIONS = tuple(outbox.Options.__annotations__)


def add_arguments(parser: CommandParser) -> None:
    """Take what `outbox.enqueue` takes."""
    parser.add_argument("notification_type", metavar="TYPE", help="see: notify types")
    parser.add_argument("report_id", metavar="REPORT_ID")
    parser.add_argument("to", metavar="TO", help="one plain address, such as ana@example.com")
    parser.add_argument("--data", default="{}", help="""a JSON object, such as '{"title": "Q3"}'""")
    for name in OPTIONS:
        parser.add_argument(f"--{name.replace('_', '-')}", dest=name)
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def run(options: dict[str, Any], terminal: Terminal) -> int:
    """Enqueue in a transaction of its own, and print what is owed now."""
    try:
        data = json.loads(options["data"])
    except ValueError as error:
        raise Refused(f"--data is not JSON: {error}.") from None
    given: outbox.Options = {name: options[name] for name in OPTIONS if options[name] is not None}  # type: ignore[assignment]
    try:
        with transaction.atomic():
            owed = outbox.enqueue(options["notification_type"], options["report_id"], options["to"], data, **given)
    except outbox.EnqueueError as refusal:
        raise Refused(str(refusal)) from None
    if options["json"]:
        terminal.json(
            {"id": owed.id, "notification_id": owed.notification_id, "created": owed.created, "state": owed.state}
        )
    else:
        terminal.line(f"{owed.notification_id}: {'created' if owed.created else 'was there already'}, {owed.state}")
    return 0

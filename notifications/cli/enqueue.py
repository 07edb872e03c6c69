"""`notify enqueue TYPE REPORT_ID TO`: owe one notification."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser
from django.db import transaction

from notifications import outbox
from notifications.cli.attach import attachments
from notifications.cli.terminal import DATA_HELP, Refused, Terminal, parsed_data, rows
from notifications.command_line import strange_workspace

OPTIONS = tuple(name for name in outbox.Options.__annotations__ if name != "attachments")
_EXPIRED = """
SELECT i.expires_at FROM notifyops.intents i
WHERE i.intent_id = %s AND i.status IN ('pending', 'cancelled') AND i.expires_at <= notifyops_private.clock_v1()
"""


def add_arguments(parser: CommandParser) -> None:
    """Take what `outbox.enqueue` takes."""
    parser.add_argument("notification_type", metavar="TYPE", help="see: notify types")
    parser.add_argument("report_id", metavar="REPORT_ID")
    parser.add_argument("to", metavar="TO", help="one plain address, such as ana@example.com")
    parser.add_argument("--data", default="{}", help=DATA_HELP)
    for name in OPTIONS:
        parser.add_argument(f"--{name.replace('_', '-')}", dest=name)
    parser.add_argument("--attach", action="append", metavar="FILE", help="attach this file; may be given again")
    parser.add_argument(
        "--attachments",
        metavar="JSON",
        help="attach by reference: a list of objects, or @FILE; see docs/attachments.md",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def run(options: dict[str, Any], terminal: Terminal) -> int:
    """Enqueue in a transaction of its own, and print what is owed now."""
    data = parsed_data(options["data"], terminal)
    given: outbox.Options = {name: options[name] for name in OPTIONS if options[name] is not None}  # type: ignore[assignment]
    attached = attachments(options, terminal)
    if attached:
        given["attachments"] = attached
    workspace = options["workspace"] or ""
    is_strange = bool(strange_workspace(workspace))  # asked before: afterwards it is used
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
    if is_strange and owed.created:
        terminal.say(
            f"It is the first notification of the workspace {workspace}. If that is not a new one, check its spelling; "
            f"capital letters count."
        )
    for late in rows(_EXPIRED, [owed.id]):
        terminal.say(
            f"It expired at {late['expires_at']:%Y-%m-%d %H:%M:%S} UTC already: it is cancelled as expired, "
            f"and not sent. A key is used once: owe it anew under another report ID, to expire later."
        )
    return 0

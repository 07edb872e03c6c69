"""`notify preview TYPE`, or of one that is owed, `--intent KEY`: what it would look like. Sends and writes nothing.

Only here, where the database can be read anyway: no page shows what is written in a message.
"""

from __future__ import annotations

import json
import logging
from dataclasses import asdict
from typing import Any, Final

from django.core.management.base import CommandParser

from notifications.cli import story
from notifications.cli.terminal import DATA_HELP, Refused, Terminal, parsed_data
from notifications.delivery.render import Rendered
from notifications.models import Content
from notifications.outbox_errors import SchemaError
from notifications.outbox_json import plain
from notifications.preview import preview
from notifications.providers.base import Unsendable
from notifications.providers.sms_parts import part_count
from notifications.types import NotificationType, registry

logger = logging.getLogger(__name__)
# Of an attachment; not its address, which may be signed for whoever holds it.
NAMED: Final = ("name", "media_type", "size", "sha256")


def add_arguments(parser: CommandParser) -> None:
    """Take the type and what its templates need."""
    parser.add_argument("notification_type", metavar="TYPE", nargs="?", help="see: notify types")
    parser.add_argument("--intent", metavar="KEY", help="one that is owed, by its notification id: its own data")
    parser.add_argument("--workspace", default="", help="where the key belongs (default: the default workspace)")
    parser.add_argument("--data", default="{}", help=DATA_HELP)
    parser.add_argument("--report-id", default="demo-001", help="the report to speak of (demo-001)")
    parser.add_argument("--locale", help="such as en or zh-hans; default: the plain templates")
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def run(options: dict[str, Any], terminal: Terminal) -> int:
    """Render and print; warnings go to stderr."""
    _check(options)
    if options["intent"]:
        options = options | _of_intent(options)
    kind = registry.get(options["notification_type"])
    if kind is None:
        names = ", ".join(one.name for one in registry)
        raise Refused(f"No type {options['notification_type']} in this release. Known: {names}.")
    data = _data(kind, parsed_data(options["data"], terminal))
    try:
        seen = preview(kind, data, report_id=options["report_id"], locale=options["locale"])
    except Unsendable as refusal:
        raise Refused(
            f"The templates of {kind.name} in {kind.template}/ cannot be rendered ({refusal.code}): "
            f"{refusal.__cause__ or 'a part is missing'}."
        ) from None
    rendered, warnings = seen.rendered, seen.warnings
    attached = [{name: one[name] for name in NAMED} for one in options.get("attached", [])]
    if options["json"]:
        more = {"attachments": attached} if options["intent"] else {}
        terminal.json({"type": kind.name, **asdict(rendered), **more, "warnings": warnings})
        return 0
    _print(rendered, attached, terminal)
    for warning in warnings:
        terminal.say(f"Warning: {warning}")
    return 0


def _print(rendered: Rendered, attached: list[dict[str, Any]], terminal: Terminal) -> None:
    terminal.line(f"Subject: {rendered.subject}\n\n{rendered.text}")
    if rendered.html is not None:
        terminal.line(f"--- HTML ---\n{rendered.html}")
    if rendered.short is not None:
        terminal.line(f"--- Text message (parts: {part_count(rendered.short)}) ---\n{rendered.short}")
    for one in attached:
        terminal.line(f"Attachment: {one['name']} ({one['media_type']}, {one['size']:,} bytes, sha256 {one['sha256']})")


def _check(options: dict[str, Any]) -> None:
    if bool(options["notification_type"]) == bool(options["intent"]):
        raise Refused("Name a TYPE, or --intent with the notification id of one that is owed.")
    if options["workspace"] and not options["intent"]:
        raise Refused("--workspace says where the key of --intent belongs: name one, or leave it out.")


def _of_intent(options: dict[str, Any]) -> dict[str, Any]:
    """Give type, data, report and language of one that is owed; that somebody read it stands in the server's log."""
    row = story.found({"key": options["intent"], "workspace": options["workspace"]})
    content = Content.objects.filter(intent_id=row["intent_id"]).first()
    if content is None or content.data is None:
        raise Refused(f'The content of "{row["id"]}" was erased.')
    logger.info("content read in the terminal", extra={"action": "content_read", "intent": row["id"]})
    given = {
        "data": json.dumps(content.data),
        "report_id": row["report_id"],
        "locale": content.locale or None,
        "attached": content.attachments or [],
    }
    return {"notification_type": row["type"], **given}


def _data(kind: NotificationType, given: Any) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise Refused('--data must be a JSON object, such as {"title": "Q3"}.')
    try:
        data: dict[str, Any] = plain(given, "data")
    except SchemaError as refusal:
        raise Refused(str(refusal)) from None
    wrong = kind.problems(data)
    if wrong:
        wants = ", ".join(f"{key} as {kind.fields()[key][0]}" for key in wrong)
        raise Refused(f"--data does not fit type {kind.name}, which wants {wants}.")
    return data

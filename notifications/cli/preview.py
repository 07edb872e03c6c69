"""`notify preview TYPE`: what a message would look like. Sends and writes nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final

from django.core.management.base import CommandParser

from notifications.cli.terminal import Refused, Terminal
from notifications.delivery.prepare import Rendered, render
from notifications.outbox_errors import SchemaError
from notifications.outbox_json import plain
from notifications.providers.base import Unsendable
from notifications.types import NotificationType, registry

# RFC 5322 section 2.1.1: no line of a message may be longer.
LONGEST_LINE: Final = 998
LONG_SUBJECT: Final = 78  # the same section's advice; most inboxes show less


def add_arguments(parser: CommandParser) -> None:
    """Take the type and what its templates need."""
    parser.add_argument("notification_type", metavar="TYPE", help="see: notify types")
    parser.add_argument("--data", default="{}", help="""a JSON object, such as '{"title": "Q3"}'""")
    parser.add_argument("--report-id", default="demo-001", help="the report to speak of (demo-001)")
    parser.add_argument("--locale", help="such as en or zh-hans; default: the plain templates")
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def run(options: dict[str, Any], terminal: Terminal) -> int:
    """Render and print; warnings go to stderr."""
    kind = registry.get(options["notification_type"])
    if kind is None:
        names = ", ".join(one.name for one in registry)
        raise Refused(f"No type {options['notification_type']} in this release. Known: {names}.")
    data = _data(kind, options["data"])
    try:
        rendered = render(kind, data, report_id=options["report_id"], locale=options["locale"])
    except Unsendable as refusal:
        raise Refused(
            f"The templates of {kind.name} in {kind.template}/ cannot be rendered ({refusal.code}): "
            f"{refusal.__cause__ or 'a part is missing'}."
        ) from None
    warnings = list(_warnings(kind, data, rendered))
    if options["json"]:
        terminal.json({"type": kind.name, **asdict(rendered), "warnings": warnings})
        return 0
    terminal.line(f"Subject: {rendered.subject}\n\n{rendered.text}")
    if rendered.html is not None:
        terminal.line(f"--- HTML ---\n{rendered.html}")
    for warning in warnings:
        terminal.say(f"Warning: {warning}")
    return 0


def _data(kind: NotificationType, text: str) -> dict[str, Any]:
    try:
        given = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Refused(f"--data is not JSON: {error}.") from None
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


def _warnings(kind: NotificationType, data: Mapping[str, Any], rendered: Rendered) -> list[str]:
    found = [f"data.{key} is not in the type's schema" for key in sorted(set(data) - set(kind.fields()))]
    if not rendered.subject:
        found.append("the subject is empty, so this would stop for a person")
    elif len(rendered.subject) > LONGEST_LINE:
        found.append(f"the subject has more than {LONGEST_LINE} characters, so this would stop for a person")
    elif len(rendered.subject) > LONG_SUBJECT:
        found.append(f"the subject has {len(rendered.subject)} characters; most inboxes show {LONG_SUBJECT} at most")
    if not rendered.text.strip() and not (rendered.html or "").strip():
        found.append("the body is empty, so this would stop for a person")
    return found

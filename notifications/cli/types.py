"""`notify types`: what can be enqueued here."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from notifications.cli.terminal import Terminal
from notifications.delivery.render import unreadable
from notifications.models import NotificationTypeRow
from notifications.overrides import overridden
from notifications.types import NotificationType, registry


def add_arguments(parser: CommandParser) -> None:
    """Take whether the answer is for a program."""
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def run(options: dict[str, Any], terminal: Terminal) -> int:
    """Print the types of this release, and those that the database still knows and the code does not."""
    rows = {row.name: row for row in NotificationTypeRow.objects.all()}
    listed = [_described(kind, rows.pop(kind.name, None)) for kind in registry]
    if options["json"]:
        terminal.json({"types": listed, "retired": sorted(rows)})
        return 0
    terminal.table(
        ("type", "channel", "loss model", "approval", "failures", "data"),
        (
            (
                kind["name"], kind["channel"], kind["loss_model"], kind["approval"], kind["failure_limit"],
                ", ".join(f"{key}{'' if one['required'] else '?'}: {one['type']}" for key, one in kind["data"].items()),
            )
            for kind in listed
        ),
    )  # fmt: skip
    for kind in listed:
        if kind["overrides"]:
            terminal.say(f"Overridden in the admin: {kind['name']} ({', '.join(kind['overrides'])}).")
    unknown = [kind["name"] for kind in listed if not kind["enabled"] and not kind["overrides"]]
    if unknown:
        terminal.say(f"Not yet in the database: {', '.join(unknown)}. Run manage.py migrate.")
    for kind in listed:
        if kind["unreadable"]:
            why = kind["unreadable"]
            terminal.say(f"The templates of {kind['name']} cannot be read ({why}): each stops for a person.")
    if rows:
        terminal.say(f"Retired, refused at enqueue: {', '.join(sorted(rows))}.")
    return 0


def _described(kind: NotificationType, row: NotificationTypeRow | None) -> dict[str, Any]:
    return {
        "name": kind.name,
        "channel": kind.channel,
        "template": kind.template,
        "unreadable": unreadable(kind),
        "loss_model": kind.loss_model.value,
        "approval": row.approval if row else kind.approval.value,
        "expires_after_s": row.expires_after if row else kind.expires_after,
        "retry_delays_s": None if kind.retry_delays is None else list(kind.retry_delays),
        "failure_limit": row.failure_limit if row else None,
        "enabled": row is not None and row.enabled,
        "overrides": [name for name, (now, declared) in overridden(row).items() if now != declared] if row else [],
        "data": {key: {"type": form, "required": required} for key, (form, required) in kind.fields().items()},
    }

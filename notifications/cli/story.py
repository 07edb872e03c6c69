"""One notification by its key, for the verbs that tell about it."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from notifications.cli.terminal import Refused, rows
from notifications.command_line import strange_workspace
from notifications.outbox import in_workspace
from notifications.types import registry


def add_key(parser: CommandParser) -> None:
    """Take the key and the workspace it belongs to."""
    parser.add_argument("key", help="the notification id, such as report-ready/demo-001")
    parser.add_argument("--workspace", default="", help="where the key belongs (default: the default workspace)")


def found(options: dict[str, Any]) -> dict[str, Any]:
    """Give the row of notifyops.intents; refuses an unknown key with a sentence."""
    key, workspace = options["key"], options["workspace"]
    if "\0" in key + workspace:
        raise Refused("A key never holds a NUL character.")
    answer = rows("SELECT * FROM notifyops.status(%s, %s)", [key, workspace])
    if answer:
        return answer[0]
    others = rows("SELECT DISTINCT workspace FROM notifyops.intents WHERE id = %s ORDER BY 1 LIMIT 3", [key])
    if others:
        places = " or ".join(f"--workspace '{row['workspace']}'" for row in others)
        raise Refused(f'No notification "{key}" here; there is one with {places}.')
    near = _with_dashes(key)
    if near != key and rows("SELECT * FROM notifyops.status(%s, %s)", [near, workspace]):
        raise Refused(f'No notification "{key}"; there is "{near}": a key has the type with - for _.')
    raise Refused(f'No notification "{key}". {strange_workspace(workspace) or in_workspace(workspace)}')


def _with_dashes(key: str) -> str:
    """Give the key as it is made by itself: `-` for `_` in the name of its type, and nowhere else."""
    types = {kind.name for kind in registry}
    parts = key.split("/")
    head = [part.replace("_", "-") if part in types else part for part in parts[:2]]
    return "/".join([*head, *parts[2:]])


def log_of(intent_id: int) -> list[dict[str, Any]]:
    """Give the rows of notifyops.log, in order."""
    return rows("SELECT * FROM notifyops.log WHERE intent_id = %s ORDER BY seq", [intent_id])


def attached_to(intent_id: int) -> list[dict[str, Any]]:
    """Give what is attached, in order: never a name, which may be personal."""
    query = (
        "SELECT place, media_type, size, sha256, is_here FROM notifyops.attachments WHERE intent_id = %s ORDER BY place"
    )
    return rows(query, [intent_id])

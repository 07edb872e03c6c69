"""`notify show KEY`: one notification with its log."""

from __future__ import annotations

from typing import Any, Final

from django.core.management.base import CommandParser

from notifications.cli import story
from notifications.cli.terminal import Terminal, moment
from notifications.cli.terminal import shown as text_of
from notifications.policy.codes import AWAITING_APPROVAL
from notifications.states import EntryKind, State

# The view's words that differ from the command's.
RENAMED: Final = {"id": "notification_id", "status": "state", "last_error_code": "error_code"}
PRINTED: Final = (
    "state", "delivery_status", "report_id", "type", "channel", "account", "attempts", "next_attempt_at", "error_code",
    "known", "next_action", "generation", "provider_message_id", "supersedes", "expires_at", "created_at", "created_by",
)  # fmt: skip


def add_arguments(parser: CommandParser) -> None:
    """Take a key, and whether the answer is for a program."""
    story.add_key(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def run(options: dict[str, Any], terminal: Terminal) -> int:
    """Print the notification and its log."""
    row = story.found(options)
    log, attached = story.log_of(row["intent_id"]), story.attached_to(row["intent_id"])
    shown = {RENAMED.get(name, name): value for name, value in row.items()}
    if options["json"]:
        terminal.json({**shown, "attachments": attached, "log": log})
        return 0
    terminal.line(shown["notification_id"] + (f"  (workspace {row['workspace']})" if row["workspace"] else ""))
    for name in PRINTED:
        if shown[name] is not None and not _is_past(name, shown):
            terminal.line(f"  {name:20} {text_of(shown[name])}")
    for one in attached:
        where = "" if one["is_here"] else ", still to be fetched"
        terminal.line(
            f"  attachment {one['place']:<9} {one['media_type']}, {one['size']:,} bytes, {one['sha256']}{where}"
        )
    terminal.line()
    terminal.table(
        ("seq", "at", "entry", "from", "to", "attempt", "gen", "outcome", "code", "actor", "reason"),
        (
            (
                entry["seq"], moment(entry["at"]), entry["kind"], entry["from_state"], entry["to_state"],
                entry["attempt"] or None, entry["generation"], _outcome(entry), _code(entry), entry["actor"],
                entry["reason_code"],
            )
            for entry in log
        ),
    )  # fmt: skip
    return 0


def _is_past(name: str, shown: dict[str, Any]) -> bool:
    """Tell whether a column says what was true in review alone: what is suggested, and that an approval is awaited."""
    if shown["state"] == State.NEEDS_REVIEW:
        return False
    return name == "next_action" or (name == "error_code" and shown[name] == AWAITING_APPROVAL)


def _code(entry: dict[str, Any]) -> str | None:
    """Give the code, and the field that the provider named."""
    field = (entry["detail"] or {}).get("field")
    return f"{entry['code']} (field: {field})" if field else entry["code"]


def _outcome(entry: dict[str, Any]) -> Any:
    """Give what the attempt came to, or what a receipt said (`none`: only that the provider has the message)."""
    said = (entry["detail"] or {}).get("says")
    return said if entry["kind"] == EntryKind.RECEIPT and said else entry["outcome"]

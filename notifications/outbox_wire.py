"""The wire form of one enqueue: what the database is handed, after the checks that Python can make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypedDict

from notifications.outbox_attachments import Attachment, wire_attachments
from notifications.outbox_errors import InvalidRecipient, SchemaError
from notifications.outbox_json import holds_all, plain
from notifications.policy.endpoints import address_for, words_for
from notifications.policy.recipients import InvalidAddress
from notifications.types import registry


class Options(TypedDict, total=False):
    """What may be said besides the notification itself; times carry a zone."""

    notification_id: str
    channel: str
    workspace: str
    locale: str
    actor: str
    not_before: datetime
    expires_at: datetime
    priority: str
    supersedes: str
    attachments: Sequence[Attachment | Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Item:
    """One notification of `enqueue_many`, with the meaning of the arguments of `enqueue`."""

    notification_type: str
    report_id: str
    to: str
    data: Mapping[str, Any] = field(default_factory=dict)
    options: Options = field(default_factory=Options)


def wire_form(item: Item) -> dict[str, Any]:
    """Give an item as the database takes it, after the checks that Python can make.

    Raises the same refusals as the database would, and those that only the full schema of `data` can find.
    """
    data = plain(item.data, "data")
    if not isinstance(data, dict):
        raise SchemaError(
            "data must be a mapping of names to values", hint='Pass a dict such as {"title": "Q3"}.', field="data"
        )
    name = text(item.notification_type, "notification_type")
    kind = registry.get(name)
    if kind is not None:
        wrong = kind.problems(data)
        if wrong:
            forms = ", ".join(f"{key} as {kind.fields()[key][0]}" for key in wrong)
            raise SchemaError(
                f"data.{wrong[0]} is missing or has the wrong form",
                hint=f"Type {name} wants {forms}.",
                field=f"data.{wrong[0]}",
            )
    said = {key: value for key, value in item.options.items() if value is not None}
    attached = said.pop("attachments", ())
    options: dict[str, Any] = {key: _option(key, value) for key, value in said.items()}
    channel = options.get("channel", kind.channel if kind else "")
    if attached != ():
        options["attachments"] = wire_attachments(attached, channel)
    what = words_for(channel)
    if what is not None:
        _check_address(channel, item.to, what)
    return {
        "notification_type": name,
        "report_id": text(item.report_id, "report_id"),
        "recipient": text(item.to, "recipient"),
        "data": data,
        "options": options,
    }


def _check_address(channel: str, to: object, what: str) -> None:
    try:
        address_for(channel, to)
    except InvalidAddress as invalid:
        raise InvalidRecipient(f"recipient is not one plain {what}", hint=invalid.reason, field="recipient") from None


def text(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise SchemaError(f"{name} is a {type(value).__name__}, not text", hint="Pass str(value).", field=name)
    if not holds_all(value):
        raise SchemaError(
            f"{name} has a character that PostgreSQL cannot hold (NUL or half a pair)",
            hint="Take it out: only in data is it made visible.",
            field=name,
        )
    return value


def _option(name: str, value: object) -> str:
    if not isinstance(value, datetime):
        return text(value, f"options.{name}")
    if name not in ("not_before", "expires_at"):
        raise SchemaError(f"option {name} is a time, not text", hint="Pass text.", field=f"options.{name}")
    if value.tzinfo is None:
        raise SchemaError(f"{name} has no time zone", hint="Use django.utils.timezone.now().", field=f"options.{name}")
    return value.isoformat()

"""What application developers import: owe a notification inside the transaction of the business change.

    with transaction.atomic():
        report.publish()
        outbox.enqueue("report_ready", report.key, "ana@example.com", {"title": report.title})

Every function runs on Django's own connection (`using`), so it commits and rolls back with the caller. A refusal is
raised inside a savepoint: the caller may catch it and go on. Under async code call them through `sync_to_async`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Unpack

from django.conf import settings
from django.db import DatabaseError, connections, transaction
from django.utils.asyncio import async_unsafe

from notifications.outbox_attachments import Attachment
from notifications.outbox_captured import Captured, captured
from notifications.outbox_errors import (
    EnqueueError,
    InvalidRecipient,
    KeyReused,
    NotInTransaction,
    PayloadTooLarge,
    SchemaError,
    UnknownNotification,
    UnknownType,
    WorkspaceRefused,
    refusal_of,
)
from notifications.outbox_json import dumped
from notifications.outbox_wire import Item, Options, text, wire_form

__all__ = [
    "Attachment",
    "Cancelled",
    "Captured",
    "EnqueueError",
    "Enqueued",
    "InvalidRecipient",
    "Item",
    "KeyReused",
    "NotInTransaction",
    "Options",
    "PayloadTooLarge",
    "SchemaError",
    "UnknownNotification",
    "UnknownType",
    "WorkspaceRefused",
    "cancel",
    "captured",
    "enqueue",
    "enqueue_many",
    "explain",
]

IN_ASYNC: Final = (
    "The outbox was called from async code, where no transaction can be open. Put the business change and the enqueue "
    "into one function with transaction.atomic(), and await sync_to_async(that function)()."
)


@dataclass(frozen=True, slots=True)
class Enqueued:
    """The notification that is owed now; `created` is False where the same content stood there already."""

    id: int
    notification_id: str
    created: bool
    state: str


def enqueue(
    notification_type: str,
    report_id: str,
    to: str,
    data: Mapping[str, Any] | None = None,
    *,
    using: str = "default",
    **options: Unpack[Options],
) -> Enqueued:
    """Owe one notification to one recipient, in the caller's transaction.

    The same key with the same content gives the existing one, `created` False; with other content it raises
    KeyReused. Under REPEATABLE READ or SERIALIZABLE a race ends with PostgreSQL's 40001, to be tried again as usual.
    """
    item = wire_form(Item(notification_type, report_id, to, {} if data is None else data, options))
    _require_transaction(using)
    rows = _call(
        "SELECT id, notification_id, created, state FROM notifyops.enqueue(%s, %s, %s, %s::jsonb, %s::jsonb)",
        [
            item["notification_type"],
            item["report_id"],
            item["recipient"],
            dumped(item["data"]),
            dumped(item["options"]),
        ],
        using,
    )
    return Enqueued(*rows[0])


def enqueue_many(items: Iterable[Item], *, using: str = "default") -> list[Enqueued]:
    """Owe up to 10,000 notifications, all or none; the results stand in the order of the items.

    A refusal names the item by its place, counted from 1.
    """
    wired = []
    for place, item in enumerate(items, start=1):
        try:
            wired.append(wire_form(_item(item)))
        except EnqueueError as refusal:
            raise type(refusal)(f"item {place}: {refusal.sentence}", hint=refusal.hint, field=refusal.field) from None
    _require_transaction(using)
    rows = _call(
        "SELECT id, notification_id, created, state FROM notifyops.enqueue_many(%s::jsonb) ORDER BY position",
        [dumped(wired)],
        using,
    )
    return [Enqueued(*row) for row in rows]


def _item(item: object) -> Item:
    if not isinstance(item, Item):
        raise SchemaError(
            f"it is a {type(item).__name__}, not an Item",
            hint='Pass outbox.Item("report_ready", report.key, to, {"title": report.title}).',
        )
    return item


@dataclass(frozen=True, slots=True)
class Cancelled:
    """What became of a wish to cancel.

    `outcome` is cancelled, cancelled_maybe_sent (nothing more is sent, but an earlier attempt may have been accepted),
    already (it had ended before) or too_late.
    """

    notification_id: str
    outcome: str
    state: str


def cancel(key: str, reason: str, *, workspace: str = "", using: str = "default") -> Cancelled:
    """Take back a notification that has not left. The reason stands in its log for ever: no names, no addresses."""
    texts = [text(value, name) for value, name in ((key, "key"), (reason, "reason"), (workspace, "workspace"))]
    rows = _call("SELECT notification_id, outcome, state FROM notifyops.cancel(%s, %s, %s)", texts, using)
    return Cancelled(*rows[0])


def explain(key: str, *, workspace: str = "", using: str = "default") -> list[str]:
    """Give the story of one notification in plain words, a line per fact. Raises UnknownNotification."""
    texts = [text(key, "key"), text(workspace, "workspace")]
    rows = _call("SELECT line FROM notifyops.explain(%s, %s) AS line", texts, using)
    if not rows:
        raise UnknownNotification(f'no notification "{key[:200]}"', hint=in_workspace(workspace), field="key")
    return [row[0] for row in rows]


def in_workspace(workspace: str) -> str:
    """Say where a key was looked for, as the hint of a refusal."""
    where = f"workspace {workspace}" if workspace else "the default workspace"
    return f"It was looked for in {where}; name another one if it belongs there."


@async_unsafe(IN_ASYNC)
def _require_transaction(using: str) -> None:
    if getattr(settings, "NOTIFYOPS_REQUIRE_ATOMIC", True) and not connections[using].in_atomic_block:
        raise NotInTransaction(
            "enqueue was called outside a transaction",
            hint="Put it into the same transaction.atomic() as the business change, so that both happen or neither; or "
            "set NOTIFYOPS_REQUIRE_ATOMIC to False.",
        )


@async_unsafe(IN_ASYNC)
def _call(query: str, parameters: list[str], using: str) -> list[tuple[Any, ...]]:
    try:
        with transaction.atomic(using=using), connections[using].cursor() as cursor:
            cursor.execute(query, parameters)
            rows: list[tuple[Any, ...]] = cursor.fetchall()
            return rows
    except DatabaseError as error:
        refusal = refusal_of(error)
        if refusal is None:
            raise
        raise refusal from None

"""The accepted messages, as the API shows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from notifications.sandbox.clock import postgres_form
from notifications.sandbox.refusals import Refusal

Payload = dict[str, Any]


def listed(value: object) -> list[Any]:
    """Give the recipients of a field that may hold one, several or none."""
    if value is None:
        return []
    return list(value) if isinstance(value, list) else [value]


@dataclass(slots=True)
class Mail:
    """One accepted message; `number` is its place in the order of acceptance, from 0."""

    id: str
    number: int
    key: str | None
    payload: Payload
    created_at_s: float
    scheduled_at_s: float | None
    last_event: str

    @property
    def message_id(self) -> str:
        return f"<{self.id}@email.sandbox.example.com>"

    def fact(self) -> dict[str, Any]:
        """Give all there is, for the journal."""
        return {name: getattr(self, name) for name in _FIELDS}

    @property
    def recipients(self) -> list[str]:
        return [address for name in ("to", "cc", "bcc") for address in listed(self.payload.get(name))]

    @property
    def tags(self) -> dict[str, str]:
        return {tag["name"]: tag["value"] for tag in listed(self.payload.get("tags"))}

    def summary(self) -> dict[str, Any]:
        """Give the item of a list: without html, text and tags."""
        payload = self.payload
        return {
            "id": self.id,
            "message_id": self.message_id,
            "to": listed(payload.get("to")),
            "from": payload["from"],
            "created_at": postgres_form(self.created_at_s),
            "subject": payload["subject"],
            "bcc": listed(payload.get("bcc")) or None,
            "cc": listed(payload.get("cc")) or None,
            "reply_to": listed(payload.get("reply_to")) or None,
            "last_event": self.last_event,
            "scheduled_at": None if self.scheduled_at_s is None else postgres_form(self.scheduled_at_s),
        }

    def full(self) -> dict[str, Any]:
        """Give what GET /emails/{id} shows; tags as an array here, as an object in webhooks."""
        payload = self.payload
        return {
            "object": "email",
            **self.summary(),
            "html": payload.get("html"),
            "text": payload.get("text"),
            "tags": listed(payload.get("tags")),
        }


_FIELDS = tuple(field.name for field in fields(Mail))


class Mailbox:
    """All accepted messages, oldest first."""

    def __init__(self) -> None:
        self.mails: list[Mail] = []
        self._by_id: dict[str, Mail] = {}

    def add(self, mail: Mail) -> None:
        self.mails.append(mail)
        self._by_id[mail.id] = mail

    def get(self, mail_id: str) -> Mail:
        """Give one message; raises Refusal for an unknown id."""
        mail = self._by_id.get(mail_id)
        if mail is None:
            raise Refusal("not_found", "Email not found")
        return mail

    def number_of(self, mail_id: str) -> int | None:
        mail = self._by_id.get(mail_id)
        return None if mail is None else mail.number


def page_bounds(count: int, places: Mapping[Any, int | None], query: Mapping[str, str]) -> tuple[int, int, bool]:
    """Give (first, past the last, has_more) of a page over `count` items, newest first.

    `places` maps the cursors `after` and `before`, where given, to the item's place in the order oldest first. Raises
    Refusal for a bad limit, both cursors at once or an unknown cursor.
    Source: resend.com/docs/api-reference/pagination; resend-node types.
    """
    text = query.get("limit", "20")
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:9]) <= 100):
        raise Refusal("validation_error", "The `limit` parameter must be a number between 1 and 100.")
    limit = int(text)
    if len(places) > 1:
        raise Refusal("validation_error", "The `after` and `before` parameters cannot be used together.")
    for name, place in places.items():
        if place is None:
            raise Refusal("validation_error", f"The `{name}` parameter is not the id of an item in this list.")
        newest_first = count - 1 - place
        if name == "after":
            first = newest_first + 1
            return first, min(count, first + limit), first + limit < count
        return max(0, newest_first - limit), newest_first, newest_first - limit > 0
    return 0, min(count, limit), limit < count


def page(rows: Sequence[dict[str, Any]], query: Mapping[str, str]) -> dict[str, Any]:
    """Give a list answer over rows that are ordered oldest first and carry an `id`."""
    places = {
        name: next((i for i, row in enumerate(rows) if row["id"] == query[name]), None)
        for name in ("after", "before")
        if name in query
    }
    first, past_last, has_more = page_bounds(len(rows), places, query)
    newest_first = [rows[len(rows) - 1 - i] for i in range(first, past_last)]
    return {"object": "list", "has_more": has_more, "data": newest_first}

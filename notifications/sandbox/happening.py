"""What happens to messages and addresses: kept briefly as it came, spelled out only when someone asks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from notifications.sandbox.clock import iso_form
from notifications.sandbox.mailbox import Mail


@dataclass(frozen=True, slots=True)
class Happening:
    """One event by the account's time; `mail` None for events that are not about a message."""

    type: str
    at_s: float
    mail: Mail | None
    detail: dict[str, Any]
    to_webhooks: bool

    def data(self) -> dict[str, Any]:
        """Give the `data` of the webhook. Tags are an object here and an array in GET /emails/{id}.

        Source: resend.com/docs/webhooks/emails; Resend OpenAPI 2026-08-21.
        """
        mail = self.mail
        if mail is None:
            return self.detail
        to = mail.payload["to"]
        return {
            "email_id": mail.id,
            "message_id": mail.message_id,
            "created_at": iso_form(mail.created_at_s),
            "from": mail.payload["from"],
            "to": to if isinstance(to, list) else [to],
            "subject": mail.payload["subject"],
            "tags": mail.tags,
            **self.detail,
        }

    def payload(self) -> dict[str, Any]:
        """Give the whole body of the webhook."""
        return {"type": self.type, "created_at": iso_form(self.at_s), "data": self.data()}

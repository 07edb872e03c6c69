"""The provider's side of receipts: what it says, how it signs it, and where it posts it."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import itertools
import json
import time
from dataclasses import dataclass
from typing import Any, Final

from django.test import Client

from notifications.models import Intent, ParkedReceipt, ProviderEvent
from notifications.receipts.apply import apply_received
from notifications.types import Registry, registry
from tests.delivery.workplace import Workplace, connected

URL: Final = "/api/v1/providers/resend/events"
NEW: Final = "whsec_" + base64.b64encode(b"new secret of the tests, 32 bytes").decode()
OLD: Final = "whsec_" + base64.b64encode(b"old secret of the tests, 32 bytes").decode()
PERMANENT: Final[dict[str, Any]] = {
    "bounce": {
        "type": "Permanent",
        "subType": "General",
        "message": "550 no <ana@example.com>",
        "diagnosticCode": ["smtp; 550 5.1.1 <ana@example.com> unknown"],
    }
}
TRANSIENT: Final[dict[str, Any]] = {"bounce": {"type": "Transient", "subType": "MailboxFull", "message": "full"}}
SUPPRESSED: Final[dict[str, Any]] = {"suppressed": {"reason": "previous_complaint", "type": "OnAccountSuppressionList"}}
FAILED: Final[dict[str, Any]] = {"failed": {"reason": "reached_daily_quota"}}
_numbers = itertools.count(1)


def sign(secret: str, event_id: str, timestamp: object, body: bytes) -> str:
    """Sign by the specification's own words, independently of the code under test."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = b".".join((event_id.encode(), str(timestamp).encode(), body))
    return "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()


def fresh_id() -> str:
    return f"msg_{next(_numbers):027d}"


@dataclass(slots=True)
class Provider:
    """Says things about messages of the workplace."""

    place: Workplace

    def event(self, event_type: str, intent: int | None = None, **changes: Any) -> dict[str, Any]:
        """Give an event about the intent's message as it stands; `data` replaces parts of the event's data."""
        data: dict[str, Any] = {"email_id": "5e9d-nobody", "to": ["ana@example.com"], "subject": "Q3", "tags": {}}
        if intent is not None:
            row = Intent.objects.get(pk=intent)
            data["email_id"] = row.provider_message_id or f"5e9d-{intent}"
            data["tags"] = {"site": "test", "intent": str(intent), "generation": str(row.generation)}
        data |= changes.pop("data", {})
        return {"type": event_type, "created_at": "2026-11-30T18:00:00.000Z", "data": data} | changes

    def say(self, event_type: str, intent: int | None = None, **more: Any) -> int:
        """Post an event about an intent's message; give the status of our answer."""
        event_id = more.pop("event_id", None)
        return self.post(json.dumps(self.event(event_type, intent, data=more)).encode(), event_id=event_id)

    def post(
        self,
        body: bytes,
        *,
        secrets: tuple[str, ...] = (NEW,),
        event_id: str | None = None,
        age_s: float = 0,
        account: str = "resend",
        **headers: str | None,
    ) -> int:
        """Post bytes as Svix does; a header given as None is left out, `_` in names means `-`."""
        event_id, timestamp = event_id or fresh_id(), int(time.time() - age_s)
        wanted: dict[str, str | None] = {
            "svix-id": event_id,
            "svix-timestamp": str(timestamp),
            "svix-signature": " ".join(sign(secret, event_id, timestamp, body) for secret in secrets),
        }
        wanted |= {name.replace("_", "-"): value for name, value in headers.items()}
        given = {name: value for name, value in wanted.items() if value is not None}
        # A client that insists on CSRF tokens, as browsers' requests have them and a provider's do not.
        url = URL.replace("resend", account)
        answer = Client(enforce_csrf_checks=True).post(url, body, content_type="application/json", headers=given)
        return int(answer.status_code)

    def apply(self, types: Registry = registry) -> int:
        """Do the chore once, as the cluster's role."""

        async def scene() -> int:
            async with await connected(self.place.dsn()) as connection:
                return await apply_received(connection, types)

        return asyncio.run(asyncio.wait_for(scene(), 60))

    def accepted(self, report: str = "demo-001", **options: Any) -> int:
        """Give an intent that was delivered to the provider."""
        intent = self.place.enqueue(report, **options)
        self.place.turn()
        assert self.place.intent(intent).state == "accepted"
        return intent


def stands(intent: int) -> tuple[str, str, str | None, str | None, str | None]:
    """Give state, delivery status, known, code and suggestion."""
    row = Intent.objects.get(pk=intent)
    return row.state, row.delivery_status, row.known, row.error_code, row.next_action


def kept() -> int:
    return ProviderEvent.objects.count()


def parked() -> int:
    return ParkedReceipt.objects.count()

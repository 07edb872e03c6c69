"""The two sides of receipts, each a process of its own: requests through the real view, and the chore that applies.

Usage: python -m bench.receiver take FIRST COUNT | apply COUNT
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import os
import sys
import time
from typing import Any

import django

GIVES_UP_AFTER_S = 300.0


def take(first: int, count: int) -> None:
    """Post one signed event for each of `count` intents, as the provider would; the HTTP server is left out."""
    django.setup()
    from django.conf import settings
    from django.test import RequestFactory

    from notifications.receipts.views import events

    settings.ALLOWED_HOSTS.append("testserver")
    key = base64.b64decode(os.environ["NOTIFYOPS_RESEND_WEBHOOK_SECRETS"].removeprefix("whsec_"))
    factory = RequestFactory()
    # Made beforehand: that is the provider's work.
    for request in [_request(factory, key, intent) for intent in range(first, first + count)]:
        answer = events(request, "resend")
        if answer.status_code != 200:
            sys.exit(f"the view answered {answer.status_code}")


def _request(factory: Any, key: bytes, intent: int) -> Any:
    body, event_id, timestamp = _body(intent), f"msg_{intent}", str(int(time.time()))
    signed = hmac.digest(key, f"{event_id}.{timestamp}.".encode() + body, hashlib.sha256)
    headers = {
        "svix-id": event_id,
        "svix-timestamp": timestamp,
        "svix-signature": "v1," + base64.b64encode(signed).decode(),
    }
    return factory.post("/", body, content_type="application/json", headers=headers)


def _body(intent: int) -> bytes:
    data = {
        "email_id": f"00000000-0000-4000-9000-{intent:012x}",
        "created_at": "2026-11-30 18:00:00.000000+00",
        "from": "Notifications <notifications@example.com>",
        "to": [f"user{intent}@example.com"],
        "subject": "Quarterly figures of the northern region, second edition",
        "tags": {"site": "bench", "intent": str(intent), "generation": "1"},
    }
    return json.dumps({"type": "email.delivered", "created_at": "2026-11-30T18:00:01.000Z", "data": data}).encode()


def apply(count: int) -> None:
    """Apply what comes until so many are applied, without the second that the chores wait between two looks."""
    django.setup()
    from psycopg import AsyncConnection

    from notifications import wiring
    from notifications.receipts.apply import apply_received

    async def scene() -> None:
        ends_at = time.monotonic() + GIVES_UP_AFTER_S
        left = count
        async with await AsyncConnection.connect(wiring.direct_dsn("receipts"), autocommit=True) as connection:
            while left and time.monotonic() < ends_at:
                done = await apply_received(connection)
                left -= done
                if not done:
                    await asyncio.sleep(0.02)

    asyncio.run(scene())


if __name__ == "__main__":
    if sys.argv[1] == "take":
        take(int(sys.argv[2]), int(sys.argv[3]))
    else:
        apply(int(sys.argv[2]))

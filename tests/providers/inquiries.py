"""Mails at the sandbox as the adapter sends them, and questions about them."""

from __future__ import annotations

import asyncio
import urllib.request
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from notifications.providers.base import LookupBudget, LookupQuery, LookupResult, Message
from notifications.providers.resend_lookup import ResendLookup
from notifications.providers.resend_message import request_bytes
from notifications.sandbox.app import RunningSandbox

QUICK = LookupBudget(per_s=None)


def body_of(
    intent: int, *, to: str = "ana@example.com", generation: int = 1, subject: str = "Q3", **more: str
) -> bytes:
    """Give frozen bytes as the engine makes them; `more` are further tags."""
    tags = {"site": "test", "intent": str(intent), "generation": str(generation), **more}
    return request_bytes(Message("Acme <reports@example.com>", to, subject, "Q3 is ready.", tags=tags))


def post(sandbox: RunningSandbox, body: bytes, key: str | None = None) -> None:
    """Let the provider accept the bytes."""
    headers = {"Authorization": f"Bearer {sandbox.sending_key}", "User-Agent": "test"}
    request = urllib.request.Request(f"{sandbox.url}/emails", body, headers | ({"Idempotency-Key": key} if key else {}))
    with urllib.request.urlopen(request, timeout=30) as answer:
        assert answer.status == 200


def mail_ids(sandbox: RunningSandbox) -> list[str]:
    """Give the ids of all accepted mails, oldest first."""
    return [mail.id for mail in sandbox._server.world.mailbox.mails]


def question(
    ref: int, body: bytes | None, *, provider_id: str | None = None, ago_s: float = 0.0, settled: bool = True
) -> LookupQuery:
    """Ask about an attempt that was made `ago_s` before the sandbox's now."""
    at = datetime.now(UTC) - timedelta(seconds=ago_s)
    return LookupQuery(ref, body, provider_id, at - timedelta(seconds=30), at, settled)


def asked(
    sandbox: RunningSandbox,
    queries: Sequence[LookupQuery],
    budget: LookupBudget = QUICK,
    *,
    key: str | None = None,
    url: str | None = None,
) -> dict[int, LookupResult]:
    """Ask, and give the answers by reference; no question may be answered twice."""

    async def ask() -> list[LookupResult]:
        lookup = ResendLookup(base_url=url or sandbox.url, api_key=key or sandbox.full_key, timeout_s=2.0)
        try:
            return [result async for result in lookup.lookup(queries, budget)]
        finally:
            await lookup.close()

    results = asyncio.run(ask())
    assert len({result.ref for result in results}) == len(results)
    return {result.ref: result for result in results}


def reads(sandbox: RunningSandbox) -> tuple[int, int]:
    """Give how many lists and how many single mails were read."""
    paths = [seen["path"] for seen in sandbox.requests() if seen["method"] == "GET"]
    lists = sum(path == "/emails" for path in paths)
    return lists, len(paths) - lists

"""Requests and providers as the delivery loop makes them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from ssl import SSLContext

from notifications.providers.base import Message, Request, SendResult
from notifications.providers.resend import ResendProvider

API_KEY = "re_secret_0123456789"
MESSAGE = Message(
    sender="Reports <reports@example.com>",
    to="ana@example.com",
    subject="Your report is ready",
    text="Q3 is ready.",
    short="Q3 is ready.",
    tags={"intent": "17", "generation": "1"},
    prepared_at=datetime(2026, 12, 1, 6, 0, tzinfo=UTC),
)


def allowed() -> None:
    """The lease still covers the call."""


def attempt(
    *, key: str = "report-ready/demo-001", timeout_s: float = 5.0, may_write: Callable[[], None] = allowed
) -> Request:
    return Request(key=key, body=b'{"from":"reports@example.com"}', timeout_s=timeout_s, may_write=may_write)


@asynccontextmanager
async def resend(base_url: str, *, ssl: SSLContext | None = None) -> AsyncIterator[ResendProvider]:
    provider = ResendProvider(base_url=base_url, api_key=API_KEY, user_agent="notifyops/test", connections=4, ssl=ssl)
    try:
        yield provider
    finally:
        await provider.close()


async def sent_once(base_url: str, request: Request | None = None) -> SendResult:
    """Send one attempt through a provider of its own."""
    async with resend(base_url) as provider:
        return await provider.send(request or attempt())

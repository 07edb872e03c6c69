"""Read back what Resend sent, or tried to send, to a webhook: for the gaps that an outage of ours leaves.

Needs a full-access key; a sending key is answered with 401. Source: resend-python 2.52 `webhooks` (newer than the
OpenAPI file): GET /webhooks, /webhooks/{id}/events, /webhooks/{id}/events/{event}.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote, urlsplit

from yarl import URL

from notifications.providers.http import Answer, Failure, Transport
from notifications.providers.resend import headers
from notifications.providers.retry_after import wanted_wait

TIMEOUT_S: Final = 10.0
# A page of 100 summaries is about 20 kB, an event below 64.
MOST_BYTES: Final = 1_000_000
PAGE: Final = 100
_TRIES: Final = 5
_LONGEST_PAUSE_S: Final = 60.0
_AGENT: Final = "notifyops/1.0"
_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,128}")


class EventsUnavailable(Exception):
    """The provider did not answer as it must; the text is a sentence for the person who asked."""


@dataclass(frozen=True, slots=True)
class EventsApi:
    """One account's events. `pause` waits where the provider asks for it, at most a minute at a time."""

    base_url: str
    key: str = field(repr=False)
    pause: Callable[[float], object] = time.sleep

    def webhooks_at(self, path: str) -> list[str]:
        """Give the ids of the webhooks whose address ends with this path. Raises EventsUnavailable."""
        listed = _rows(self._get("/webhooks"))
        return [
            str(row["id"])
            for row in listed
            if _ID.fullmatch(str(row.get("id"))) and urlsplit(str(row.get("endpoint"))).path.rstrip("/") == path
        ]

    def summaries(self, webhook_id: str) -> Iterator[tuple[str, object]]:
        """Give id and time of each event, newest first, page by page; stop reading to stop asking."""
        after = ""
        while True:
            answer = self._get(f"/webhooks/{webhook_id}/events?limit={PAGE}{after}")
            found = _rows(answer)
            for row in found:
                if _ID.fullmatch(str(row.get("id"))):
                    yield str(row["id"]), row.get("created_at")
            if not found or not answer.get("has_more"):
                return
            after = f"&after={quote(str(found[-1].get('id')), safe='')}"

    def payload(self, webhook_id: str, event_id: str) -> bytes:
        """Give what the webhook's body says, as JSON of ours: it is not signed, the connection vouches for it."""
        return json.dumps(self._get(f"/webhooks/{webhook_id}/events/{event_id}").get("payload")).encode()

    def _get(self, path: str) -> Mapping[str, Any]:
        for _ in range(_TRIES):
            try:
                answer = asyncio.run(self._read(path))
            except ValueError as fault:  # a key or an address that no request can carry
                raise EventsUnavailable(f"The provider cannot be asked: {fault}") from None
            if isinstance(answer, Failure):
                raise EventsUnavailable(f"The provider did not answer: {answer.code.removeprefix('not_sent.')}.")
            if answer.status == 200:
                return _document(answer.body)
            if answer.status != 429:
                raise EventsUnavailable(_refused(answer.status))
            wait_s = wanted_wait(answer.headers.getall("retry-after", []), answer.headers.get("date"), time.time)
            self.pause(min(max(wait_s or 1.0, 0.1), _LONGEST_PAUSE_S))
        raise EventsUnavailable("The provider's rate limit left no room: try again in a minute, or with --most.")

    async def _read(self, path: str) -> Answer | Failure:
        """Make one call on a connection of its own, by the one client of all calls: no redirect, no proxy.

        Commands are not coroutines, and a session belongs to one event loop.
        """
        transport = Transport(headers=headers(self.key, _AGENT), connections=1)
        try:
            return await transport.get(URL(f"{self.base_url}{path}"), timeout_s=TIMEOUT_S, limit=MOST_BYTES)
        finally:
            await transport.close()


def _refused(status: int) -> str:
    if status in (401, 403):
        return f"The provider refused the key ({status}): reading events needs one with full access."
    return f"The provider answered {status}."


def _document(body: bytes | None) -> Mapping[str, Any]:
    try:
        found = json.loads(body) if body is not None else None
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise EventsUnavailable("The provider did not answer with what events look like: is the base URL the API's?")
    return found


def _rows(answer: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    found = answer.get("data")
    return [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []

"""One signed call to a receiver, to an address that was checked: never inside our own network, unless allowed.

Source: standardwebhooks.com, specification 1.0.0 (headers, signature, 410, no redirects, private addresses).
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

import aiohttp
from yarl import URL

from notifications.providers.fence import Fence, FencedResolver, Forbidden, Network, is_forbidden
from notifications.providers.standard_webhooks import Event, headers_of

TIMEOUT_S: Final = 10.0
MOST_READ: Final = 4096


def event_of(row: Mapping[str, Any]) -> Event:
    """Give the event of one item of the feed."""
    data = {name: value.isoformat() if name == "at" else value for name, value in row.items()}
    document = {"type": f"notification.{row['outcome']}", "timestamp": data["at"], "data": data}
    return Event(f"outcome_{row['position']}", json.dumps(document, ensure_ascii=False, sort_keys=True).encode())


class Caller:
    """Calls receivers; belongs to one event loop. `networks`: those of our own that may be called, also by http."""

    def __init__(self, networks: Sequence[Network] = ()) -> None:
        self._fence = Fence(tuple(networks))
        self._sessions = {scheme: _session(self._fence, scheme) for scheme in ("http", "https")}

    async def close(self) -> None:
        """Close the connections."""
        for session in self._sessions.values():
            await session.close()

    async def call(self, url: str, event: Event, keys: Sequence[bytes]) -> str:
        """Give the answer's status, or one word for why there was none. Never raises for a receiver's fault."""
        try:
            target = URL(url)
            self._fence.check(target)
            headers = headers_of(event, keys, now_s=int(time.time()))
            session = self._sessions[target.scheme]
            async with session.post(target, data=event.body, headers=headers, allow_redirects=False) as answer:
                await answer.content.read(MOST_READ)
                return str(answer.status)
        except Forbidden:
            return "forbidden"
        except TimeoutError:
            return "timeout"
        except (aiohttp.ClientError, OSError, ValueError) as error:
            return "forbidden" if is_forbidden(error) else "unreachable"


def _session(fence: Fence, scheme: str) -> aiohttp.ClientSession:
    # No name is kept: it is asked and checked for each connection.
    connector = aiohttp.TCPConnector(resolver=FencedResolver(fence, scheme), use_dns_cache=False, limit=0)
    return aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        trust_env=False,
        auto_decompress=False,
        timeout=aiohttp.ClientTimeout(total=TIMEOUT_S),
    )

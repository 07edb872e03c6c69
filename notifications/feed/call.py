"""One signed call to a receiver, to an address that was checked: never inside our own network, unless allowed.

Source: standardwebhooks.com, specification 1.0.0 (headers, signature, 410, no redirects, private addresses).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import ipaddress
import json
import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import aiohttp
from aiohttp.abc import ResolveResult
from yarl import URL

from notifications.providers.resolver import DaemonResolver

TIMEOUT_S: Final = 10.0
# RFC 6052: an address of IPv4 inside one of IPv6, which a translator in our network would reach.
_TRANSLATED: Final = ipaddress.ip_network("64:ff9b::/96")
MOST_READ: Final = 4096


class Forbidden(OSError):
    """The name leads into a private network."""


@dataclass(frozen=True, slots=True)
class Event:
    """One outcome as it is sent: the same id and bytes at each attempt."""

    id: str
    body: bytes


def event_of(row: Mapping[str, Any]) -> Event:
    """Give the event of one item of the feed."""
    data = {name: value.isoformat() if name == "at" else value for name, value in row.items()}
    document = {"type": f"notification.{row['outcome']}", "timestamp": data["at"], "data": data}
    return Event(f"outcome_{row['position']}", json.dumps(document, ensure_ascii=False, sort_keys=True).encode())


def headers_of(event: Event, keys: Sequence[bytes], *, now_s: int) -> dict[str, str]:
    """Sign with every key: while a secret is rotated, the receiver knows one of them."""
    signed = f"{event.id}.{now_s}.".encode() + event.body
    found = (base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode() for key in keys)
    return {
        "content-type": "application/json",
        "user-agent": "notifyops",
        "webhook-id": event.id,
        "webhook-timestamp": str(now_s),
        "webhook-signature": " ".join(f"v1,{signature}" for signature in found),
    }


def is_public(address: str) -> bool:
    """Tell whether an address is one of the open internet, also where it hides one of IPv4."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(found, ipaddress.IPv6Address):
        inner = found.ipv4_mapped or found.sixtofour or (found.teredo[1] if found.teredo else None)
        if found in _TRANSLATED:
            inner = ipaddress.IPv4Address(int(found) & 0xFFFFFFFF)
        if inner is not None:
            found = inner
    return found.is_global and not found.is_multicast


class CheckedResolver(DaemonResolver):
    """Gives only addresses that may be dialled: what was checked is what is dialled, so no name can change between."""

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Give the host's addresses. Raises Forbidden where one of them is private."""
        found = await super().resolve(host, port, family)
        if not all(is_public(one["host"]) for one in found):
            raise Forbidden("private address")
        return found


class Caller:
    """Calls receivers; belongs to one event loop."""

    def __init__(self, *, is_private_allowed: bool) -> None:
        self._is_private_allowed = is_private_allowed
        resolver = DaemonResolver() if is_private_allowed else CheckedResolver()
        # No name is kept: it is asked and checked for each connection.
        connector = aiohttp.TCPConnector(resolver=resolver, use_dns_cache=False, limit=0)
        self._session = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=False,
            auto_decompress=False,
            timeout=aiohttp.ClientTimeout(total=TIMEOUT_S),
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._session.close()

    async def call(self, url: str, event: Event, keys: Sequence[bytes]) -> str:
        """Give the answer's status, or one word for why there was none. Never raises for a receiver's fault."""
        try:
            target = URL(url)
            if not self._may_dial(target):
                return "forbidden"
            headers = headers_of(event, keys, now_s=int(time.time()))
            async with self._session.post(target, data=event.body, headers=headers, allow_redirects=False) as answer:
                await answer.content.read(MOST_READ)
                return str(answer.status)
        except Forbidden:
            return "forbidden"
        except TimeoutError:
            return "timeout"
        except (aiohttp.ClientError, OSError, ValueError) as error:
            is_forbidden = isinstance(error.__cause__, Forbidden) or isinstance(error.__context__, Forbidden)
            return "forbidden" if is_forbidden else "unreachable"

    def _may_dial(self, target: URL) -> bool:
        """Judge what no resolver sees: the scheme, and addresses written as such."""
        if self._is_private_allowed:
            return target.scheme in ("http", "https")
        host = target.host or ""
        is_written = host.replace(".", "").isdigit() or ":" in host
        return target.scheme == "https" and bool(host) and (not is_written or is_public(host))

"""Fetches the bytes of an attachment from the address that its caller named: whole, or with a reason why not.

Only through the fence, without redirects, no longer than the announced size, and within a deadline.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from yarl import URL

from notifications.providers.fence import Fence, FencedResolver, Forbidden, Network
from notifications.providers.http import Failure, Transport

UNREACHABLE: Final = "attachment_unreachable"
REFUSED: Final = "attachment_refused"
MISMATCH: Final = "attachment_mismatch"
FORBIDDEN: Final = "attachment_forbidden"
# Of one file, from the first question about its host's name to its last byte.
TIMEOUT_S: Final = 30.0
# What may be otherwise in a minute. A file may be asked for before it is where it will be.
_PASSING: Final = frozenset({404, 408, 425, 429})


@dataclass(frozen=True, slots=True)
class Unfetched:
    """Why there are no bytes. `passing`: it may be otherwise next time. `status`: what the server said, if it did."""

    code: str
    passing: bool = False
    status: int | None = None


class Fetcher:
    """Belongs to one event loop. `networks`: those of our own that may be asked, also by http."""

    def __init__(self, networks: Sequence[Network] = (), *, connections: int = 8, timeout_s: float = TIMEOUT_S) -> None:
        self._fence = Fence(tuple(networks))
        self._timeout_s = timeout_s
        fixed = {"Accept-Encoding": "identity", "User-Agent": "notifyops/1.0"}
        self._transports = {
            scheme: Transport(headers=fixed, connections=connections, resolver=FencedResolver(self._fence, scheme))
            for scheme in ("http", "https")
        }

    async def fetch(self, url: str, *, size: int, sha256: str) -> bytes | Unfetched:
        """Give the bytes, if they are those that were announced; `sha256` in hexadecimal.

        Never raises for a server's fault.
        """
        try:
            target = URL(url, encoded=True)  # a link is signed letter by letter
            self._fence.check(target)
        except (Forbidden, ValueError):
            return Unfetched(FORBIDDEN)
        # What is packed for the way may be a little longer than the file itself.
        limit = size + 1024
        answer = await self._transports[target.scheme].get(target, timeout_s=self._timeout_s, limit=limit)
        if isinstance(answer, Failure):
            is_forbidden = answer.code == "not_sent.forbidden"
            return Unfetched(FORBIDDEN) if is_forbidden else Unfetched(UNREACHABLE, passing=True)
        if answer.status != 200:
            is_passing = answer.status in _PASSING or answer.status >= 500
            return Unfetched(UNREACHABLE if is_passing else REFUSED, is_passing, answer.status)
        body = answer.body
        if body is None or len(body) != size or hashlib.sha256(body).hexdigest() != sha256:
            return Unfetched(MISMATCH, status=200)
        return body

    async def close(self) -> None:
        """Close the connections."""
        for transport in self._transports.values():
            await transport.close()

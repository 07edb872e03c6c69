"""Which addresses may be dialled where others choose the host: never our own network, unless it was allowed.

Names are resolved once for a connection, and what was checked is what is dialled: no name can change between.
"""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass
from typing import Final

from aiohttp.abc import ResolveResult
from yarl import URL

from notifications.providers.resolver import DaemonResolver

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Address = ipaddress.IPv4Address | ipaddress.IPv6Address

EVERYTHING: Final[tuple[Network, ...]] = (ipaddress.ip_network("0.0.0.0/0"), ipaddress.ip_network("::/0"))
# RFC 6052: an address of IPv4 inside one of IPv6, which a translator in our network would reach.
_TRANSLATED: Final = ipaddress.ip_network("64:ff9b::/96")
_OPEN_IPV6: Final = ipaddress.ip_network("2000::/3")
# Reserved by IANA's registries of special addresses, and open to the standard library of some releases: protocol
# assignments (a cloud answers there with its machines' credentials), the relays of 6to4, documentation.
_RESERVED: Final[tuple[Network, ...]] = tuple(
    ipaddress.ip_network(text) for text in ("192.0.0.0/24", "192.88.99.0/24", "2001::/23", "2001:db8::/32", "3fff::/20")
)


class Forbidden(OSError):
    """The host leads where nothing may be sent: into a private network, or without TLS to a public one."""


def is_public(address: str) -> bool:
    """Tell whether an address is one of the open internet, also where it hides one of IPv4."""
    found = _read(address)
    return found is not None and _is_open(found)


@dataclass(frozen=True, slots=True)
class Fence:
    """What may be dialled: the open internet by https; the `networks` that were allowed, by http too."""

    networks: tuple[Network, ...] = ()

    def admits(self, address: str, scheme: str) -> bool:
        """Tell whether a connection to this very address may be made."""
        found = _read(address)
        if found is None or scheme not in ("http", "https"):
            return False
        if any(found.version == network.version and found in network for network in self.networks):
            return True
        return scheme == "https" and _is_open(found)

    def check(self, url: URL) -> None:
        """Judge what no resolver is asked about: the scheme, and a host written as an address. Raises Forbidden."""
        host = url.host or ""
        if url.scheme not in ("http", "https") or not host or (url.scheme == "http" and not self.networks):
            raise Forbidden("scheme")
        is_written = ":" in host or host.replace(".", "").isdigit()
        if is_written and not self.admits(host, url.scheme):
            raise Forbidden("address")


class FencedResolver(DaemonResolver):
    """Gives only addresses that may be dialled for one scheme: a pool of connections speaks either http or https."""

    def __init__(self, fence: Fence, scheme: str) -> None:
        self._fence = fence
        self._scheme = scheme

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Give the host's addresses. Raises Forbidden where one of them may not be dialled, whatever the others are."""
        found = await super().resolve(host, port, family)
        if not all(self._fence.admits(one["host"], self._scheme) for one in found):
            raise Forbidden("address")
        return found


def is_forbidden(error: BaseException | None) -> bool:
    """Tell whether this error, or one that it came of, is the fence's."""
    for _ in range(8):
        if error is None or isinstance(error, Forbidden):
            break
        error = error.__cause__ or error.__context__
    return isinstance(error, Forbidden)


def _is_open(found: Address) -> bool:
    """Tell whether it belongs to the open internet: of IPv6 that is 2000::/3, all else is reserved (RFC 4291)."""
    if any(found.version == network.version and found in network for network in _RESERVED):
        return False
    return found.is_global and not found.is_multicast and (found.version == 4 or found in _OPEN_IPV6)


def _read(text: str) -> Address | None:
    """Read an address; of one of IPv6 that carries one of IPv4, the inner one, which is where it leads."""
    try:
        found = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    if isinstance(found, ipaddress.IPv4Address):
        return found
    if found in _TRANSLATED:
        return ipaddress.IPv4Address(int(found) & 0xFFFFFFFF)
    return found.ipv4_mapped or found.sixtofour or (found.teredo[1] if found.teredo else None) or found

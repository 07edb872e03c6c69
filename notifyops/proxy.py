"""Whose word counts about where a request comes from: a trusted proxy's, else only the connection's own."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Awaitable, Callable
from inspect import iscoroutinefunction
from typing import Any, Final

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase
from django.utils.decorators import sync_and_async_middleware

from notifyops.env import BadValue, Environment

NAME: Final = "NOTIFYOPS_TRUSTED_PROXIES"
# What servers call the far end of a UNIX socket: nothing.
UNIX: Final = "unix"
# Set where something was claimed and not believed: then even this machine's own address is no sign of who asks.
UNTRUSTED: Final = "notifyops.claims"
# What a proxy says and a stranger may only claim.
CLAIMS: Final = ("HTTP_X_FORWARDED_FOR", "HTTP_X_FORWARDED_PROTO", "HTTP_X_FORWARDED_HOST", "HTTP_FORWARDED")
# `1.2.3.4:567`, `[2001:db8::1]:567` or either without a port. Source: RFC 7239 section 6, which Azure and others follow
# in X-Forwarded-For too.
_HOP: Final = re.compile(r"([0-9.]+):[0-9]{1,5}|\[([0-9A-Fa-f:.]+)\](?::[0-9]{1,5})?|([0-9A-Fa-f:.]+)")

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Answer = Callable[[HttpRequest], Any]


def trusted(env: Environment) -> tuple[Network | str, ...]:
    """Give the networks whose hosts are our proxies. Raises BadValue."""
    given = [part for part in re.split(r"[,\s]+", env.text(NAME)) if part]
    try:
        return tuple(part if part == UNIX else ipaddress.ip_network(part) for part in given)
    except ValueError:
        raise BadValue(
            f"{NAME} is {' '.join(given)!r}: it must be addresses or networks such as 127.0.0.1 or 10.0.0.0/24, "
            f"or {UNIX} for a proxy that comes by a UNIX socket, separated by commas."
        ) from None


def is_trusted(address: str) -> bool:
    """Tell whether a proxy of ours sits at this address."""
    proxies: tuple[Network | str, ...] = settings.NOTIFYOPS_TRUSTED_PROXIES
    if not address:
        return UNIX in proxies
    try:
        host = ipaddress.ip_address(address)
    except ValueError:
        return False
    return any(host in network for network in proxies if not isinstance(network, str))


@sync_and_async_middleware
def middleware(get_response: Answer) -> Answer:
    """Put the client's own address into REMOTE_ADDR, and take away what anybody else claims about it."""
    if iscoroutinefunction(get_response):

        async def later(request: HttpRequest) -> HttpResponseBase:
            judge(request.META)
            waiting: Awaitable[HttpResponseBase] = get_response(request)
            return await waiting

        return later

    def now(request: HttpRequest) -> HttpResponseBase:
        judge(request.META)
        answer: HttpResponseBase = get_response(request)
        return answer

    return now


def judge(meta: dict[str, Any]) -> None:
    """Walk back from the nearest host while each is a proxy of ours: the first that is none is the client."""
    nearest = str(meta.get("REMOTE_ADDR") or "")
    if not is_trusted(nearest):
        claimed = [name for name in CLAIMS if meta.pop(name, None) is not None]
        meta[UNTRUSTED] = bool(claimed)
        return
    for hop in reversed(str(meta.get("HTTP_X_FORWARDED_FOR", "")).split(",")):
        address = _address(hop)
        if address is None:
            break  # what stands further to the left was written by somebody we do not know
        meta["REMOTE_ADDR"] = address
        if not is_trusted(address):
            break


def _address(hop: str) -> str | None:
    """Give the address of one hop; some proxies write the client's port behind it."""
    found = _HOP.fullmatch(hop.strip())
    try:
        return str(ipaddress.ip_address(found[1] or found[2] or found[3])) if found else None
    except ValueError:
        return None

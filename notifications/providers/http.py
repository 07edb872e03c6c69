"""One HTTP call with one honest ending: an answer, or a failure that says whether the request had been handed over."""

from __future__ import annotations

import asyncio
import logging
import re
import zlib
from asyncio import BaseProtocol
from collections.abc import Mapping
from dataclasses import dataclass
from ssl import SSLContext
from weakref import WeakSet

import aiohttp
from aiohttp.abc import AbstractResolver
from multidict import CIMultiDictProxy
from yarl import URL

from notifications.providers.base import NotWritten, Request
from notifications.providers.fence import is_forbidden
from notifications.providers.frozen_body import FrozenBody
from notifications.providers.resolver import DaemonResolver

logger = logging.getLogger(__name__)

MAX_BODY = 65_536  # an answer that matters is below 1 kB; more is somebody else's page
_KEEP_ALIVE_S = 15.0
_WINDOW_BITS = {"gzip": 31, "x-gzip": 31, "deflate": 15}
_CODE = re.compile(r"[a-z0-9_]{1,40}")

# Codes for what happened on the way; policy/codes.py says what each means. First match wins.
_NOT_HANDED: tuple[tuple[type[BaseException], str], ...] = (
    (TimeoutError, "not_sent.deadline"),
    (aiohttp.ClientConnectorDNSError, "not_sent.dns"),
    (aiohttp.ClientSSLError, "not_sent.tls"),
    (aiohttp.ClientError, "not_sent.connection_failed"),
    (OSError, "not_sent.connection_failed"),
    (BaseException, "not_sent.internal_error"),
)
_HANDED: tuple[tuple[type[BaseException], str], ...] = (
    (TimeoutError, "unknown.deadline"),
    (aiohttp.ClientPayloadError, "unknown.truncated"),
    (aiohttp.ClientResponseError, "unknown.garbled"),
    (aiohttp.ClientError, "unknown.disconnected"),
    (OSError, "unknown.disconnected"),
    (BaseException, "unknown.internal_error"),
)


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer. `body` is None where it was too long or in an encoding that cannot be undone."""

    status: int
    headers: CIMultiDictProxy[str]
    body: bytes | None


@dataclass(frozen=True, slots=True)
class Failure:
    """A call without a whole answer. Only `handed` says what may be true; `code` says how it looked from here."""

    handed: bool
    code: str
    status: int | None = None


class Transport:
    """Connections to one provider account.

    Exactly one network attempt for each call: no redirects, no retries, no proxy from the environment, no cookies.
    The session is made by the first call, so that it belongs to the loop that sends.
    """

    def __init__(
        self,
        *,
        headers: Mapping[str, str],
        connections: int,
        ssl: SSLContext | None = None,
        resolver: AbstractResolver | None = None,
    ) -> None:
        """Make nothing yet. `resolver` finds the addresses of names, and may refuse some by Forbidden."""
        self._headers = dict(headers)
        self._connections = connections
        self._ssl = ssl
        self._resolver = resolver
        self._session: aiohttp.ClientSession | None = None
        self._seen: WeakSet[BaseProtocol] = WeakSet()

    async def post(self, url: URL, request: Request, headers: Mapping[str, str]) -> Answer | Failure:
        """Make the one attempt. `request.timeout_s` bounds all of it: queueing, DNS, connecting, writing, reading.

        An Exception of any class becomes a Failure; cancellation and other BaseExceptions pass through.
        """
        session = self._session or self._open()
        body = FrozenBody(request, self._seen)
        response: aiohttp.ClientResponse | None = None
        try:
            async with asyncio.timeout(request.timeout_s):
                response = await session.post(url, data=body, headers=headers, allow_redirects=False)
                if not body.handed:
                    return Failure(handed=False, code="not_sent.stale_connection")
                return Answer(response.status, response.headers, await _read(response))
        except Exception as error:
            return _failure(body, error, response)
        finally:
            # From here on the outcome is fixed: a writer that has not run yet must not write any more.
            body.revoked = True
            if response is not None and not (body.handed and response.closed):
                response.close()

    async def get(self, url: URL, *, timeout_s: float, limit: int) -> Answer | Failure:
        """Read once. A question may be repeated, so that `handed` of a Failure says nothing here.

        `timeout_s` bounds all of it; a body longer than `limit` bytes is None. Exceptions of any class become a
        Failure; cancellation passes through.
        """
        session = self._session or self._open()
        try:
            async with asyncio.timeout(timeout_s), session.get(url, allow_redirects=False) as response:
                return Answer(response.status, response.headers, await _read(response, limit))
        except Exception as error:
            code = "not_sent.forbidden" if is_forbidden(error) else _named(error, _NOT_HANDED)
            return Failure(handed=False, code=code)

    async def close(self) -> None:
        """Close all connections; a later call would open new ones."""
        if self._session is not None:
            session, self._session = self._session, None
            await session.close()

    def _open(self) -> aiohttp.ClientSession:
        connector = aiohttp.TCPConnector(
            limit=self._connections,
            keepalive_timeout=_KEEP_ALIVE_S,
            resolver=self._resolver or DaemonResolver(),
            ssl=self._ssl if self._ssl is not None else True,
        )
        self._session = aiohttp.ClientSession(
            connector=connector,
            headers=self._headers,
            # Ours is the only clock: aiohttp's would round up to whole seconds and stop at the headers.
            timeout=aiohttp.ClientTimeout(total=None),
            trust_env=False,
            auto_decompress=False,  # a broken encoding must not hide the status
            cookie_jar=aiohttp.DummyCookieJar(),
        )
        return self._session


async def _read(response: aiohttp.ClientResponse, limit: int = MAX_BODY) -> bytes | None:
    """Give the answer's body undone from its encoding, or None where it is too long or cannot be undone."""
    content = response.content
    taken = bytearray(await content.readany())
    while not content.at_eof():
        if len(taken) > limit:
            return None
        taken += await content.readany()
    if len(taken) > limit:
        return None
    encoding, body = response.headers.get("Content-Encoding"), bytes(taken)
    return body if encoding is None else _undone(body, encoding, limit)


def _undone(body: bytes, encoding: str, limit: int) -> bytes | None:
    """Decompress within the limit; None where the stream is broken, cut short, too long or of an unknown kind."""
    name = encoding.strip().lower()
    if name in ("", "identity"):
        return body
    bits = _WINDOW_BITS.get(name)
    if bits is None:
        return None
    inflate = zlib.decompressobj(bits)
    try:
        plain = inflate.decompress(body, limit)
    except zlib.error:
        return None
    return plain if inflate.eof else None


def _failure(body: FrozenBody, error: Exception, response: aiohttp.ClientResponse | None) -> Failure:
    """Judge by whether the bytes were handed over; the class of the exception only names the code."""
    refusal = body.refusal
    if refusal is not None and not isinstance(refusal, Exception):
        raise refusal
    if body.handed:
        return Failure(handed=True, code=_named(error, _HANDED), status=response.status if response else None)
    if isinstance(refusal, NotWritten):
        return Failure(handed=False, code=f"not_sent.{refusal.code if _CODE.fullmatch(refusal.code) else 'withheld'}")
    if refusal is not None:
        return Failure(handed=False, code=_named(refusal, _NOT_HANDED))
    if isinstance(error, aiohttp.ClientConnectorError) and isinstance(error.os_error, ConnectionRefusedError):
        return Failure(handed=False, code="not_sent.refused")
    if is_forbidden(error):
        return Failure(handed=False, code="not_sent.forbidden")
    return Failure(handed=False, code=_named(error, _NOT_HANDED))


def _named(error: BaseException, table: tuple[tuple[type[BaseException], str], ...]) -> str:
    code = next(code for kind, code in table if isinstance(error, kind))
    if code.endswith("internal_error"):
        # The class alone: messages of foreign errors may hold addresses or keys.
        logger.error("A call ended by an unexpected %s (%s).", type(error).__name__, code)
    return code

"""Webhooks as a channel: each recipient is an address that is called, and what its answer proves.

Every call is signed by the endpoint's own keys, which are made of the account's secrets: a receiver can forge nothing
for another one. Each endpoint is a service of its own, so that none of them can hold up or stop the others.

Source: standardwebhooks.com, specification 1.0.0; the classes of answers are those of webhook_answers.py.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

from yarl import URL

from notifications.providers import webhook_answers
from notifications.providers.base import Capabilities, Message, Request, SendResult
from notifications.providers.crowd import Crowd
from notifications.providers.fence import Fence, FencedResolver, Forbidden, Network
from notifications.providers.http import Failure, Transport
from notifications.providers.outcomes import without_answer
from notifications.providers.standard_webhooks import Event, endpoint_key, headers_of, keys_of
from notifications.providers.webhook_message import Call, frozen_call, read_call
from notifications.states import Outcome, Phase, ResultClass

# The receiver knows a repeat by its webhook-id: the specification asks it to, and docs/webhook-channel.md for how long.
CAPABILITIES: Final = Capabilities(
    idempotency="key",
    idempotency_window=timedelta(hours=24),
    idempotency_key_max=None,
    key_scope="endpoint",
    lookup=frozenset(),
    lookup_settle=timedelta(0),
    lookup_retention=None,
    receipts=frozenset(),
    max_recipients=1,
    dates_messages=True,
    shares_fate=False,
)
# Tells a stand-in whom it stands for, and so which secret verifies the call; no recipient gets it.
FOR: Final = "notifyops-endpoint"


@dataclass(frozen=True, slots=True)
class Pool:
    """How many connections an account may have at once, and the networks of our own that it may call."""

    connections: int = 32
    networks: tuple[Network, ...] = ()


class WebhookProvider:
    """One account. `stand_in`: the address that all calls go to in the recipients' place; it may be anywhere."""

    name = "webhook"
    capabilities = CAPABILITIES

    def __init__(
        self,
        *,
        secrets: str,
        stand_in: str = "",
        pool: Pool | None = None,
        clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Check the settings; no connection is made. Raises ValueError with a sentence, and never a secret in it.

        `secrets` are one or more, parted by commas or blanks, the newest first: each signs every call.
        """
        pool = pool or Pool()
        if pool.connections < 1:
            raise ValueError("The number of connections must be at least 1.")
        self._keys = keys_of(secrets)
        if not self._keys:
            raise ValueError("Name a variable with at least one signing secret, whsec_ and 24 to 64 bytes in base64.")
        self._stand_in = stand_in_of(stand_in) if stand_in else None
        self._fence = Fence(pool.networks)
        # Many endpoints of one host that hangs are held back as well, later than a single one.
        self._endpoints = Crowd(monotonic, max(2, pool.connections // 8))
        self._hosts = Crowd(monotonic, max(2, pool.connections // 2), remembers=False)
        self._monotonic = monotonic
        self._clock = clock
        self._transports = {scheme: self._transport(scheme, pool.connections) for scheme in ("http", "https")}

    def _transport(self, scheme: str, connections: int) -> Transport:
        # A stand-in is the operator's own choice; everything else was chosen by others.
        resolver = None if self._stand_in is not None else FencedResolver(self._fence, scheme)
        return Transport(headers={"Accept-Encoding": "identity"}, connections=connections, resolver=resolver)

    def prepare(self, message: Message) -> bytes:
        """Give the address and the JSON. Raises Unsendable."""
        return frozen_call(message)

    async def send(self, request: Request) -> SendResult:
        """Make one call with the frozen bytes, and say what is true about it."""
        call = read_call(request.body)
        if call is None:
            return _unsent(ResultClass.FIX_CONFIG, webhook_answers.NOT_WEBHOOK)
        target = self._stand_in or URL(call.url, encoded=True)
        if self._stand_in is None:
            try:
                self._fence.check(target)
            except Forbidden:
                return _unsent(ResultClass.RECIPIENT, webhook_answers.FORBIDDEN)
        endpoint, host = call.url.partition("?")[0], f"{target.host}:{target.port}"
        began = self._monotonic()
        async with self._endpoints.place(endpoint) as one, self._hosts.place(host) as other:
            if not (one and other):
                return webhook_answers.BUSY_RESULT
            left_s = request.timeout_s - (self._monotonic() - began)
            return await self._called(target, call, replace(request, timeout_s=left_s))

    async def _called(self, target: URL, call: Call, request: Request) -> SendResult:
        event = Event(call.id(request.key), call.body)
        keys = [endpoint_key(key, call.url) for key in self._keys]
        headers = headers_of(event, keys, now_s=int(self._clock()))
        if self._stand_in is not None:
            headers[FOR] = call.url
        answer = await self._transports[target.scheme].post(target, replace(request, body=call.body), headers)
        if not isinstance(answer, Failure):
            return webhook_answers.judged(answer, event.id, self._clock)
        if answer.code == "not_sent.forbidden":
            return _unsent(ResultClass.RECIPIENT, webhook_answers.FORBIDDEN)
        # Where nobody can tell, the receiver is asked about this id.
        return replace(without_answer(answer), trace_id=event.id)

    async def close(self) -> None:
        """Give back the sockets."""
        for transport in self._transports.values():
            await transport.close()


def stand_in_of(text: str) -> URL:
    """Give the address that stands in for all recipients. Raises ValueError with a sentence."""
    try:
        url = URL(text)
        usable = url.scheme in ("http", "https") and bool(url.host) and not (url.user or url.password or url.fragment)
    except (ValueError, TypeError):
        usable = False
    if not usable:
        raise ValueError("The base URL must be like https://hooks.example.com/in, without a user and a fragment.")
    return url


def _unsent(result_class: ResultClass, code: str) -> SendResult:
    return SendResult(Outcome.REJECTED, result_class, code, Phase.NOT_CONNECTED)

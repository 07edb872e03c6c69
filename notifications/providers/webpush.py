"""Web push as a channel: each recipient is a browser, behind the push service that it has chosen.

The message is encrypted for the browser alone, and the service is told by a signed token who sends it. Each attempt is
one call; a repeat replaces what the service still keeps, and the browser shows it in the first one's place.

Source: RFC 8030 (the protocol), RFC 8188 and RFC 8291 (encryption), RFC 8292 (VAPID); webpush_answers.py.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from ssl import SSLContext
from typing import Final

from yarl import URL

from notifications.providers import webpush_answers
from notifications.providers.base import Capabilities, Message, Request, SendResult
from notifications.providers.crowd import Crowd
from notifications.providers.fence import Fence, FencedResolver, Forbidden, Network
from notifications.providers.http import Failure, Transport
from notifications.providers.outcomes import without_answer
from notifications.providers.standard_webhooks import USER_AGENT
from notifications.providers.webhook import FOR, stand_in_of
from notifications.providers.webpush_crypto import authorization, encrypted, signer
from notifications.providers.webpush_message import Push, frozen_push, read_push
from notifications.states import Outcome, Phase, ResultClass

# A Topic hides a repeat where the first one has not been delivered yet: it prevents no second message (RFC 8030
# section 5.4), so that nothing is claimed for how long it does.
CAPABILITIES: Final = Capabilities(
    idempotency="collapse",
    idempotency_window=None,
    idempotency_key_max=None,
    key_scope="subscription+topic",
    lookup=frozenset(),
    lookup_settle=timedelta(0),
    lookup_retention=None,
    receipts=frozenset(),
    max_recipients=1,
    dates_messages=True,
    shares_fate=False,
)
# Four weeks: as long as the large services keep a message at most.
LONGEST_TTL_S: Final = 2_419_200


@dataclass(frozen=True, slots=True)
class Reach:
    """How many connections an account may have, where to beside the open internet, and how long messages are kept.

    `ttl_s` is the most: what expires earlier is kept no longer. `tls`: for a service whose certificate is not public.
    """

    connections: int = 32
    networks: tuple[Network, ...] = ()
    ttl_s: int = LONGEST_TTL_S
    tls: SSLContext | None = None


class WebPushProvider:
    """One account. `stand_in`: the address that all calls go to in the push services' place; it may be anywhere."""

    name = "webpush"
    capabilities = CAPABILITIES

    def __init__(
        self,
        *,
        secret: str,
        stand_in: str = "",
        reach: Reach | None = None,
        clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Check the settings; no connection is made. Raises ValueError with a sentence, and never a secret in it."""
        reach = reach or Reach()
        if reach.connections < 1:
            raise ValueError("The number of connections must be at least 1.")
        self._signer = signer(secret.strip())
        self._stand_in = stand_in_of(stand_in) if stand_in else None
        self._fence = Fence(reach.networks)
        self._ttl_s = reach.ttl_s
        # As with webhooks: neither one address that hangs nor one host may take all the places.
        self._endpoints = Crowd(monotonic, max(2, reach.connections // 8))
        self._hosts = Crowd(monotonic, max(2, reach.connections // 2), remembers=False)
        self._monotonic = monotonic
        self._clock = clock
        # A stand-in is the operator's own choice; everything else was chosen by others.
        resolver = None if self._stand_in is not None else FencedResolver(self._fence, "https")
        headers = {"Accept-Encoding": "identity", "User-Agent": USER_AGENT}
        self._transport = Transport(headers=headers, connections=reach.connections, ssl=reach.tls, resolver=resolver)

    def prepare(self, message: Message) -> bytes:
        """Give the address and what is encrypted for it at each attempt. Raises Unsendable."""
        return frozen_push(message)

    async def send(self, request: Request) -> SendResult:
        """Make one call with the frozen message, encrypted anew, and say what is true about it."""
        push = read_push(request.body)
        if push is None:
            return _unsent(ResultClass.FIX_CONFIG, webpush_answers.NOT_PUSH)
        target = self._stand_in or URL(push.endpoint, encoded=True)
        if self._stand_in is None:
            try:
                self._fence.check(target)
            except Forbidden:
                return _unsent(ResultClass.RECIPIENT, webpush_answers.FORBIDDEN)
        began, host = self._monotonic(), f"{target.host}:{target.port}"
        # All of an endpoint is one browser's: some services tell theirs apart by the query alone.
        async with self._endpoints.place(push.endpoint) as one, self._hosts.place(host) as other:
            if not (one and other):
                return webpush_answers.BUSY_RESULT
            left_s = request.timeout_s - (self._monotonic() - began)
            return await self._called(target, push, replace(request, timeout_s=left_s))

    async def _called(self, target: URL, push: Push, request: Request) -> SendResult:
        body = encrypted(push.body, p256dh=push.p256dh, auth=push.auth)
        answer = await self._transport.post(target, replace(request, body=body), self._headers(push))
        own_id = push.id(request.key)
        if not isinstance(answer, Failure):
            return webpush_answers.judged(answer, own_id, self._clock)
        if answer.code == "not_sent.forbidden":
            return _unsent(ResultClass.RECIPIENT, webpush_answers.FORBIDDEN)
        return replace(without_answer(answer), trace_id=own_id)

    def _headers(self, push: Push) -> dict[str, str]:
        now_s = int(self._clock())
        left_s = self._ttl_s if push.until is None else max(0, push.until - now_s)
        headers = {
            "TTL": str(min(left_s, self._ttl_s)),
            "Topic": push.topic,
            "Urgency": push.urgency,
            "Content-Encoding": "aes128gcm",
            "Content-Type": "application/octet-stream",
            "Authorization": authorization(
                self._signer, audience=_origin(push.endpoint), contact=push.contact, now_s=now_s
            ),
        }
        return headers if self._stand_in is None else headers | {FOR: push.endpoint}

    async def close(self) -> None:
        """Give back the sockets."""
        await self._transport.close()


def _origin(endpoint: str) -> str:
    url = URL(endpoint, encoded=True)
    return f"https://{url.host}" if url.is_default_port() else f"https://{url.host}:{url.port}"


def _unsent(result_class: ResultClass, code: str) -> SendResult:
    return SendResult(Outcome.REJECTED, result_class, code, Phase.NOT_CONNECTED)

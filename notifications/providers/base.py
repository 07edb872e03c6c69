"""What every provider adapter speaks: the message it is given, the result it returns, what it can promise.

Adapters know no models, no settings and no wall clock. They make exactly one network attempt, never retry, and never
raise for a provider's fault: whatever happened comes back as a SendResult.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from datetime import datetime, timedelta
from typing import Any, Literal, Protocol, runtime_checkable

from notifications.providers.attachment import Attachment
from notifications.states import DeliveryStatus, Found, Outcome, Phase, ResultClass


class Unsendable(Exception):
    """The message cannot be turned into bytes for this provider; nothing was tried.

    `code` is from our closed vocabulary (for example `invalid_recipient`); `result_class` is RECIPIENT where the
    address is at fault, FIX_CONFIG otherwise.
    """

    def __init__(self, code: str, result_class: ResultClass = ResultClass.FIX_CONFIG) -> None:
        super().__init__(code)
        self.code = code
        self.result_class = result_class


class NotWritten(Exception):
    """Raised by `Request.may_write` or the transport's own last check: the request must not leave this machine."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


@dataclass(frozen=True, slots=True)
class Message:
    """One rendered notification to one recipient, before it becomes bytes.

    `tags` travel to the provider and back in its receipts; `subject` holds no control characters. `prepared_at` is
    aware, by the database's clock, and given where the adapter's capabilities say that it dates its messages. `facts`
    are for machines alone, as JSON knows them. `short` is the type's short text, where the capabilities want it; None
    where the type has none. `expires_at` is aware, given where `prepared_at` is and the notification expires.
    """

    sender: str
    to: str
    subject: str
    text: str
    html: str | None = None
    reply_to: str | None = None
    headers: Mapping[str, str] = dataclass_field(default_factory=dict)
    tags: Mapping[str, str] = dataclass_field(default_factory=dict)
    prepared_at: datetime | None = None
    facts: Mapping[str, Any] = dataclass_field(default_factory=dict)
    short: str | None = None
    expires_at: datetime | None = None
    priority: Literal["urgent", "normal", "bulk"] = "normal"
    attachments: tuple[Attachment, ...] = ()


@dataclass(frozen=True, slots=True)
class Request:
    """One attempt: the frozen bytes and the key that protects them.

    `timeout_s` bounds the whole call. `may_write` is called at the last moment before the bytes are handed to the
    socket, and raises NotWritten when the lease no longer covers the call.
    """

    key: str
    body: bytes
    timeout_s: float
    may_write: Callable[[], None]


@dataclass(frozen=True, slots=True)
class SendResult:
    """What is true about one call.

    `code` is `<provider>.<status>.<name>` or a phase code, from a closed vocabulary and never the provider's own
    text. `retry_after_s` is the provider's wish in seconds, unclamped; `retry_after_raw` its header as received, made
    printable and cut to 100 characters. `limits` holds the provider's rate and quota headers as integers. `field` is
    the field of the request that the provider named, where it is one of policy/causes.py. `address_gone`: the address
    itself has said that it takes nothing more, ever: it is blocked on its channel.
    """

    outcome: Outcome
    result_class: ResultClass
    code: str
    phase: Phase
    provider_message_id: str | None = None
    http_status: int | None = None
    retry_after_s: float | None = None
    retry_after_raw: str | None = None
    trace_id: str | None = None
    limits: Mapping[str, int] = dataclass_field(default_factory=dict)
    field: str | None = None
    address_gone: bool = False


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a provider promises; the engine decides from these, never from a provider's name.

    `dates_messages`: its bytes hold a time, so `prepare` wants `Message.prepared_at`. `wants_short`: `Message.short`.
    `shares_fate`: what it says of its rate, rules or health concerns all; not so where each address is a service.
    `attachment_limit`: bytes of one message's attachments after encoding; 0: one that has some is stopped for a person.
    `knows_its_own`: an address is known to the account that it turned to, whose word on it holds for no other account.
    """

    idempotency: Literal["none", "key", "collapse"]
    idempotency_window: timedelta | None
    idempotency_key_max: int | None
    key_scope: str
    lookup: frozenset[Literal["provider_id", "correlation", "recipient_time"]]
    lookup_settle: timedelta
    lookup_retention: timedelta | None
    receipts: frozenset[str]
    max_recipients: int
    rate_hint: int | None = None
    dates_messages: bool = False
    shares_fate: bool = True
    wants_short: bool = False
    attachment_limit: int = 0
    knows_its_own: bool = False


class Provider(Protocol):
    """One adapter bound to one account."""

    name: str
    capabilities: Capabilities

    def prepare(self, message: Message) -> bytes:
        """Give the exact request bytes; pure and deterministic. Raises Unsendable."""

    async def send(self, request: Request) -> SendResult:
        """Make one network attempt with the frozen bytes."""

    async def close(self) -> None:
        """Give back sockets; called once, when the loop that owns the adapter ends."""


@dataclass(frozen=True, slots=True)
class LookupQuery:
    """One question: did you get this message?

    `ref` is the asker's own number for it. `body` are the frozen bytes, from which the adapter reads what to look for;
    None where they were erased. `since` and `until` bound the attempts by our clock, aware; `settled` says that the
    provider has had time to show what it took, so that absence may be believed. Where no bytes are known, `to` and
    `tags` say what to look for: a database that was restored may have forgotten them.
    """

    ref: int
    body: bytes | None
    provider_id: str | None
    since: datetime
    until: datetime
    settled: bool
    to: str | None = None
    tags: Mapping[str, str] = dataclass_field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LookupBudget:
    """How much one look-up may cost. A page is one call; `per_s` bounds all calls, None means as fast as they go.

    When `seconds` are over, questions without an answer stay without one: they may be asked again. `witness` is a
    message that this account is known to hold: a key that cannot see it proves no absence. `taken` is
    when it was, and `as_of` what our clock says, aware: a provider whose times differ proves no absence either. None
    where they are not to be compared.
    """

    pages: int = 60
    seconds: float = 30.0
    per_s: float | None = 3.0
    witness: str | None = None
    taken: tuple[datetime, datetime] | None = None
    as_of: datetime | None = None


@dataclass(frozen=True, slots=True)
class LookupResult:
    """One answer. `code` says why where nothing is proven; `ids` are all messages that bear this one's tags.

    Of what the provider shows nothing else is kept: its answers hold addresses, subjects and bodies.
    """

    ref: int
    answer: Found
    method: Literal["id", "scan", "none"]
    code: str | None = None
    ids: tuple[str, ...] = ()
    status: DeliveryStatus = DeliveryStatus.NONE


@dataclass(frozen=True, slots=True)
class Listed:
    """A message in the provider's list, by its id and our tags; nothing else of it is kept."""

    id: str
    created_at: datetime
    tags: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ListedPage:
    """One page that was read whole; go on after `cursor`. `done`: the rest is older. `code`: why it cannot be read.

    `known`: how many of its mails the asker knows already, which shows that the list is the account's own.
    """

    mails: tuple[Listed, ...]
    cursor: str
    done: bool = False
    code: str | None = None
    known: int = 0


@runtime_checkable
class Listing(Protocol):
    """A look-up that can also say what it holds that is unknown here, which few providers can."""

    def listed(
        self,
        since: datetime,
        cursor: str,
        unknown: Callable[[Sequence[str]], Awaitable[set[str]]],
        budget: LookupBudget,
    ) -> AsyncIterator[ListedPage]:
        """Give what was taken since then, newest first, from after `cursor`; of those that are `unknown`, the tags."""


class Lookup(Protocol):
    """What can be asked of one account. Its key is not the one that sends: reading needs other rights."""

    capabilities: Capabilities

    def lookup(self, queries: Sequence[LookupQuery], budget: LookupBudget) -> AsyncIterator[LookupResult]:
        """Answer each question at most once, as soon as it is decided; never raises for a provider's fault.

        NOT_FOUND only where everything that could hold the message was read whole, and the provider had settled.
        """

    async def close(self) -> None:
        """Give back sockets; called once, when the loop that owns the adapter ends."""

"""The account that the sandbox pretends to hold: everything it knows, and how it remembers it."""

from __future__ import annotations

import hashlib
import time
import uuid
from collections import Counter, deque
from dataclasses import asdict
from typing import Any

from notifications.sandbox.breakage import KINDS
from notifications.sandbox.clock import Clock, day_of, postgres_form
from notifications.sandbox.courier import Courier
from notifications.sandbox.faults import STAGES, FaultBook
from notifications.sandbox.happening import Happening
from notifications.sandbox.journal import Journal
from notifications.sandbox.knobs import Knobs
from notifications.sandbox.ledger import Ledger, Slots
from notifications.sandbox.mailbox import Mail, Mailbox, Payload
from notifications.sandbox.seen import Seen
from notifications.sandbox.webhooks import Endpoint, Hooks
from notifications.sandbox.wire import Call

MAX_EVENTS = 50_000
# Of a request's body; the latest 5,000 requests may have brought 40 MB of attachments each.
MAX_KEPT_BODY_BYTES = 256 * 1024


class World:
    """All state, owned by one event loop. `remember` must be called before the change it records is made."""

    def __init__(self, knobs: Knobs, journal: Journal) -> None:
        self.journal = journal
        self.clock = Clock()
        self.start_over(knobs)

    def start_over(self, knobs: Knobs) -> None:
        """Forget everything but the journal's file, which the caller clears if it means to."""
        self.knobs = knobs
        self.clock.offset_s = 0.0
        self.ledger = Ledger()
        self.slots = Slots()
        self.mailbox = Mailbox()
        self.suppressions: dict[str, dict[str, Any]] = {}
        self.hooks = Hooks()
        self.courier = Courier(self.hooks, self.clock, self.remember)
        self.faults = FaultBook(STAGES, KINDS)
        self.seen: deque[Seen] = deque(maxlen=knobs.log_limit)
        self.seen_count = 0
        # A UUID's form at the price of a number: logs are written by every request.
        self.log_prefix = str(uuid.uuid4())[:23]
        self.events: deque[Happening] = deque(maxlen=MAX_EVENTS)
        self.sent_on: Counter[str] = Counter()
        self.rate_window = (0, 0)

    def note(self, call: Call) -> Seen:
        """Write down that a request arrived, before anything can happen to it."""
        headers = call.headers
        key = headers.get("idempotency-key")
        agent = headers.get("user-agent", "")
        self.seen_count += 1
        seen = Seen(
            id=f"{self.log_prefix}-{self.seen_count:012x}",
            number=self.seen_count,
            method=call.method,
            path=call.path,
            key=key,
            user_agent=agent,
            body=call.body[:MAX_KEPT_BODY_BYTES],
            body_sha256=hashlib.sha256(call.body).hexdigest() if len(call.body) > MAX_KEPT_BODY_BYTES else None,
            at_s=time.time(),
            account_at_s=self.clock.now_s(),
        )
        self.seen.append(seen)
        if key is not None and call.method == "POST":
            self.remember({"fact": "request", "key": key})
            self.ledger.of(key).http_requests += 1
        return seen

    def used_quota(self) -> tuple[int, int]:
        """Give the recipients of today and of this month, by the account's clock in UTC."""
        today = day_of(self.clock.now_s())
        return self.sent_on[today], self.sent_on[today[:7]]

    def remember(self, fact: dict[str, Any]) -> None:
        self.journal.write(fact)

    def book(self, mails: list[Mail]) -> None:
        """Enter accepted messages into mailbox, ledger and quota."""
        for mail in mails:
            self.mailbox.add(mail)
            day, count = day_of(mail.created_at_s), len(mail.recipients)
            self.sent_on[day] += count
            self.sent_on[day[:7]] += count
            if mail.key is not None:
                row = self.ledger.of(mail.key)
                row.accepted += 1
                row.ids.append(mail.id)
                row.first_at_s = mail.created_at_s if row.first_at_s is None else row.first_at_s

    def suppress(self, email: str, origin: str, source_id: str | None) -> dict[str, Any]:
        """Put an address on the suppression list, or give the entry that is there already."""
        address = email.lower()
        if address not in self.suppressions:
            row = {
                "id": str(uuid.uuid4()),
                "email": address,
                "origin": origin,
                "source_id": source_id,
                "created_at": postgres_form(self.clock.now_s()),
            }
            self.remember({"fact": "suppression", "row": row})
            self.suppressions[address] = row
            self.announce(Happening("suppression.added", self.clock.now_s(), None, dict(row), to_webhooks=True))
        return self.suppressions[address]

    def unsuppress(self, row: dict[str, Any]) -> None:
        self.remember({"fact": "unsuppression", "email": row["email"]})
        del self.suppressions[row["email"]]
        self.announce(Happening("suppression.removed", self.clock.now_s(), None, dict(row), to_webhooks=True))

    def announce(self, happening: Happening) -> None:
        """Keep an event, and send it to the webhooks that want it."""
        self.events.append(happening)
        if happening.to_webhooks:
            self.courier.dispatch(happening, self.knobs)

    def remember_endpoint(self, endpoint: Endpoint) -> None:
        self.remember({"fact": "webhook", "endpoint": asdict(endpoint)})

    def new_mail(self, payload: Payload, key: str | None, send_at_s: float | None, number: int) -> Mail:
        last_event = "sent" if send_at_s is None else "scheduled"
        # Nothing of ours shows attachments again, and they may be large.
        payload = {name: value for name, value in payload.items() if name != "attachments"}
        return Mail(str(uuid.uuid4()), number, key, payload, self.clock.now_s(), send_at_s, last_event)

    def ensure_endpoint(self, raw: dict[str, Any]) -> Endpoint:
        """Give the endpoint registered for this URL, adding it or its brought-along secret where missing."""
        wanted = self.hooks.register(raw, self.clock.now_s())
        for endpoint in tuple(self.hooks.endpoints.values()):
            if endpoint is wanted or endpoint.url != wanted.url:
                continue
            del self.hooks.endpoints[wanted.id]
            known = {secret for secret, _ in endpoint.secrets}
            if raw.get("signing_secret") and not known >= {wanted.secrets[0][0]}:
                endpoint.secrets = wanted.secrets
                self.remember_endpoint(endpoint)
            return endpoint
        self.remember_endpoint(wanted)
        return wanted

    def turn(self, knobs: Knobs) -> None:
        """Use other knobs from now on."""
        if knobs.log_limit != self.knobs.log_limit:
            self.seen = deque(self.seen, maxlen=knobs.log_limit)
        self.knobs = knobs

"""What a loop works with: the accounts with their adapters, and the installation's numbers."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta

from notifications.policy.retry import AttemptFacts
from notifications.policy.windows import span
from notifications.providers.base import Provider
from notifications.states import LossModel
from notifications.types import NotificationType, Registry, registry

# Lane keys as the database's pick understands them: account × stride + lane.
LANE_STRIDE = 64


@dataclass(frozen=True, slots=True)
class Rules:
    """The installation's numbers; seconds unless the name says otherwise."""

    site: str
    lease_s: float = 60.0
    timeout_s: float = 10.0
    retry_delays_s: tuple[float, ...] = (60.0, 300.0)
    retry_after_cap_s: float = 3600.0
    window_s: float = 86_400.0
    margin_s: float = 1800.0
    concurrency: int = 32
    poll_s: float = 0.25
    config_failures: int = 3
    outage_failures: int = 3
    cooldown_s: float = 30.0
    sends: bool = True
    site_mode: str = "sandbox"
    # Who gets everything in mode `redirect`: all mail, all text messages, all of Telegram.
    redirect_to: str = ""
    redirect_phone: str = ""
    redirect_chat: str = ""

    @property
    def reserve(self) -> int:
        """How many places of a loop no single lane may use, so that one slow lane cannot hold up the others."""
        return max(1, self.concurrency // 8)


@dataclass(frozen=True, slots=True)
class Account:
    """One provider account as this host can use it."""

    id: int
    name: str
    sender: str
    provider: Provider
    timeout_s: float
    declares_receipts: bool = True
    # The account that takes over what this one is proven not to have taken.
    fallback: int | None = None

    @property
    def idempotent(self) -> bool:
        """Whether the provider's key makes a repeat safe."""
        return self.provider.capabilities.idempotency == "key"


@dataclass(slots=True)
class Shop:
    """One loop's workplace. `accounts` holds those that this host has an adapter and a secret for."""

    rules: Rules
    accounts: dict[int, Account]
    types: Registry = field(default_factory=lambda: registry)
    rng: random.Random = field(default_factory=random.Random)
    # Accounts whose circuit row is not clean: their next success clears it.
    troubled: set[int] = field(default_factory=set)
    # Accounts that this loop has seen closed, and when: leases that wait in memory are given back, not sent after it.
    stopped: dict[int, float] = field(default_factory=dict)
    # Answers of one kind in a row, as this loop saw them: refusals of the account, and none worth the name.
    refusals: Counter[int] = field(default_factory=Counter)
    outages: Counter[int] = field(default_factory=Counter)
    # The rates that providers stated and this loop has kept, in calls a second.
    learned: dict[int, float] = field(default_factory=dict)
    clock: Callable[[], float] | None = None
    _known_facts: dict[tuple[int, str | None, tuple[int, int, int], bool], AttemptFacts] = field(default_factory=dict)

    def delays_s(self, kind: NotificationType | None) -> tuple[float, ...]:
        """Give the type's ladder, or the installation's."""
        if kind is None or kind.retry_delays is None:
            return self.rules.retry_delays_s
        return tuple(delay.total_seconds() for delay in kind.retry_delays)

    def window_span_s(self, account: Account) -> float | None:
        """Give how long the account's key protects a repeat: the smaller of promise and setting, margin taken off."""
        promised = account.provider.capabilities.idempotency_window
        if promised is None:
            return None
        window = min(promised, timedelta(seconds=self.rules.window_s))
        usable = span(window, timedelta(seconds=self.rules.margin_s))
        return None if usable is None else usable.total_seconds()

    def facts(
        self,
        account: Account,
        kind: NotificationType | None,
        *,
        counts: tuple[int, int, int],
        ambiguous: bool,
        window_left_s: float | None,
    ) -> AttemptFacts:
        """Give what the policy needs to know; `counts` are failures, their limit, and answers `in flight`."""
        # Before an attempt was ambiguous they are alike for nearly all intents of a type, and dear to make.
        known = (account.id, None if kind is None else kind.name, counts, ambiguous)
        if window_left_s is None and known in self._known_facts:
            return self._known_facts[known]
        failures, limit, in_flight = counts
        facts = AttemptFacts(
            # Of a type that this release does not know, the careful one: it may be the type's own.
            loss_model=LossModel.NEVER_TWICE if kind is None else kind.loss_model,
            delays_s=self.delays_s(kind),
            failure_count=failures,
            failure_limit=limit,
            in_flight_count=in_flight,
            idempotent=account.idempotent,
            window_left_s=window_left_s,
            window_span_s=self.window_span_s(account),
            ambiguous_before=ambiguous,
            retry_after_cap_s=self.rules.retry_after_cap_s,
        )
        if window_left_s is None:
            self._known_facts[known] = facts
        return facts

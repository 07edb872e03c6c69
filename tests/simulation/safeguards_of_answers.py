"""The safeguards of what comes after the call, receipts and evidence, each with a way to remove it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, Final

from notifications.delivery import reconcile
from notifications.policy import receipt as policy
from notifications.providers import resend_lookup
from notifications.providers.base import LookupQuery, LookupResult
from notifications.providers.resend_scan import Scan
from notifications.receipts import apply, parked
from notifications.receipts import receive as receiving
from notifications.receipts.parked import Taken
from notifications.states import DeliveryStatus
from reviews import rules
from tests.simulation.database import Database
from tests.simulation.removing import Safeguard, all_of, cut, put
from tests.simulation.weather import DOUBTS, HASTE, STANDSTILLS


def _each_post_is_news(_: Database) -> AbstractContextManager[None]:
    real, numbers = receiving.receive, itertools.count()

    def receive(account: int, events: Sequence[Any], **options: Any) -> int:
        return real(account, [one._replace(event_id=f"{one.event_id}-{next(numbers)}") for one in events], **options)

    return put(receiving, "receive", receive)


def _stays_parked(_: Database) -> AbstractContextManager[None]:
    real = parked.let_go

    async def let_go(connection: Any, *, done: Sequence[int], later: Mapping[int, float]) -> None:
        await real(connection, done=[], later={**dict.fromkeys(done, 30.0), **later})

    return put(apply, "let_go", let_go)


def _of_any_generation(_: Database) -> AbstractContextManager[None]:
    real = apply._decided

    def decided(one: Taken) -> Any:
        return real(one if one.generation is None else one._replace(generation=one.current_generation))

    return put(apply, "_decided", decided)


def _whatever_moved(_: Database) -> AbstractContextManager[None]:
    real: Callable[..., Any] = apply._entry
    return put(apply, "_entry", lambda *arguments: real(*arguments)._replace(seq=None))


def _last_word_wins(database: Database) -> AbstractContextManager[None]:
    graver = "THEN i.delivery_status ELSE j.delivery_status END"
    return all_of(
        put(policy, "merged", lambda old, new: old if new is DeliveryStatus.NONE else new),
        cut(database, "append_v1", graver, "THEN j.delivery_status ELSE j.delivery_status END"),
    )


def _nobody_is_blocked(_: Database) -> AbstractContextManager[None]:
    async def block(connection: Any, reasons: Any) -> None:
        """Block nobody."""

    return put(apply, "block", block)


def _used_again(database: Database) -> AbstractContextManager[None]:
    return all_of(
        put(rules, "_evidence_missing", lambda situation, now: None),
        cut(database, "barred_v1", "WHEN e.used THEN 'evidence_used'", "WHEN false THEN ''"),
    )


def _always_settled(_: Database) -> AbstractContextManager[None]:
    real = reconcile._query

    def query(row: Any, lookup: Any, desk: Any) -> LookupQuery:
        return replace(real(row, lookup, desk), settled=True)

    return put(reconcile, "_query", query)


def _half_read(_: Database) -> AbstractContextManager[None]:
    def cut_short(scan: Scan, answer: Any, code: str) -> Iterator[LookupResult]:
        return scan.ended()

    return put(Scan, "cut_short", cut_short)


def _any_account(_: Database) -> AbstractContextManager[None]:
    real = reconcile.Absent
    return put(reconcile, "Absent", lambda *, is_proven: real(is_proven=True))


ANSWERS: Final = (
    Safeguard("an event's id counts once", "each post of it is kept as a new one", _each_post_is_news),
    Safeguard("a parked receipt goes with its entry", "it stays, and is applied again", _stays_parked),
    Safeguard("what comes back blocks its address", "nobody is blocked", _nobody_is_blocked),
    Safeguard("evidence serves once", "one absence allows any number of retries", _used_again),
    Safeguard(
        "absence only where all was read", "a look-up that broke off counts as whole", _half_read, weather=DOUBTS
    ),
    Safeguard(
        "absence only of an account that is known to have taken something",
        "the list of one that never did is believed",
        _any_account,
        weather=DOUBTS,
    ),
    Safeguard("what comes back makes a case", "it is noted alone", lambda _: put(policy, "BAD", {})),
    Safeguard("the graver word wins", "the last one does", _last_word_wins),
    Safeguard("receipts judge by generation", "any receipt counts for the present one", _of_any_generation),
    Safeguard(
        "an order on evidence is good for half an hour",
        "it is good for ever",
        lambda database: cut(database, "excused_v1", "AND e.at > t - interval '30 minutes'", ""),
        weather=STANDSTILLS,
    ),
    Safeguard(
        "absence only of a key that sees a witness",
        "any key is believed",
        lambda _: put(resend_lookup, "_seen", lambda result, blind: result),
        weather=HASTE,
    ),
)
# Written, and not yet seen to be noticed: each wants a rare meeting, such as a question within two minutes of the call
# beside a witness that is shown. Move one up once `make safeguards` has caught it.
CANDIDATES: Final = (
    Safeguard("absence only after the provider has settled", "it is believed at once", _always_settled, weather=HASTE),
    Safeguard("receipts judge by the newest entry", "whatever moved since it was read", _whatever_moved),
)

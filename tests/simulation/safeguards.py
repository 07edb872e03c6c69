"""The safeguards of delivery, each with a way to remove it from a simulated world, so that the harm can be seen.

Python's are wrapped at the names that the simulated worker calls; the database's are cut out of their function's text.
A text that is not found any more is an error: the removal must be written anew, or it would prove nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, Final

from notifications.delivery import claim as claiming
from notifications.delivery import record as recording
from notifications.delivery.lease import ROOM_TO_RECORD_S, Lease
from notifications.delivery.shop import Shop
from notifications.door import Entry, append_async
from notifications.door import pick as door_pick
from notifications.policy import claim as policy
from notifications.states import EntryKind, Known, LossModel, State
from notifications.types import Registry, registry
from tests.simulation.database import Database
from tests.simulation.line import Line
from tests.simulation.removing import Removal, Safeguard, all_of, cut, put
from tests.simulation.safeguards_of_answers import ANSWERS
from tests.simulation.safeguards_of_orders import ORDERS


def leases(change: Callable[[Shop, Lease], Lease]) -> Removal:
    """Give a removal that changes every lease that a claim gives."""

    def removal(_: Database) -> AbstractContextManager[None]:
        real = claiming.claim

        async def claim(connection: Any, shop: Shop, **options: Any) -> list[Lease]:
            return [change(shop, lease) for lease in await real(connection, shop, **options)]

        return put(claiming, "claim", claim)

    return removal


def entries(change: Callable[[EntryKind, Entry], Entry]) -> AbstractContextManager[None]:
    """Give a removal that changes every entry on its way to the door."""
    real = append_async

    async def append(connection: Any, kind: EntryKind, said: Any, *, worker: str) -> Any:
        return await real(connection, kind, [change(kind, entry) for entry in said], worker=worker)

    return all_of(put(claiming, "append_async", append), put(recording, "append_async", append))


def _rebuilt(shop: Shop, lease: Lease) -> Lease:
    """Give the bytes that this host's release would make, instead of the frozen ones."""
    provider: Any = shop.accounts[lease.account_id].provider
    return replace(lease, body=json.dumps(json.loads(lease.body) | {"release": provider.release}).encode())


def _to_the_end(shop: Shop, lease: Lease) -> Lease:
    taken_off = shop.accounts[lease.account_id].timeout_s + ROOM_TO_RECORD_S
    return replace(lease, write_until=lease.write_until + taken_off)


def _timed_after(shop: Shop, lease: Lease) -> Lease:
    assert shop.clock is not None
    usable = shop.rules.lease_s - shop.accounts[lease.account_id].timeout_s - ROOM_TO_RECORD_S
    return replace(lease, write_until=shop.clock() + usable)


def _careless_types(shop: Shop, lease: Lease) -> Lease:
    shop.types = Registry()
    for kind in registry:
        loss_model = LossModel.AT_LEAST_ONCE if kind.loss_model is LossModel.NEVER_TWICE else kind.loss_model
        shop.types.add(replace(kind, loss_model=loss_model))
    facts = replace(lease.facts, loss_model=LossModel.AT_LEAST_ONCE)
    return replace(lease, facts=facts) if lease.facts.loss_model is LossModel.NEVER_TWICE else lease


def _commit_late(_: Database) -> AbstractContextManager[None]:
    """Let a claim's COMMIT go out with the worker's next claim, after its calls have begun."""
    real_commit, real_run, waiting = Line._commit, Line._run, set[Line]()

    async def commit(self: Line) -> None:
        if self._name != "claim" or self._depth != 1:
            await real_commit(self)
            return
        self._depth = 0
        waiting.add(self)

    def run(self: Line, query: Any, params: Any = None, **options: Any) -> Any:
        if query == "BEGIN" and self in waiting:
            waiting.discard(self)
            real_run(self, "COMMIT")
        return real_run(self, query, params, **options)

    return all_of(put(Line, "_commit", commit), put(Line, "_run", run))


def _no_window(database: Database) -> AbstractContextManager[None]:
    return all_of(
        put(policy, "_key_protects", lambda facts: facts.idempotent),
        cut(database, "append_v1", "WHEN l.safe_until <= t AND", "WHEN false AND"),
    )


def _lost_is_not_sent(_: Database) -> AbstractContextManager[None]:
    def change(kind: EntryKind, entry: Entry) -> Entry:
        if kind is not EntryKind.LEASE_LOST:
            return entry
        return entry._replace(to_state=State.RETRY, ambiguous=None, window_s=None, known=Known.NOT_SENT, failure=None)

    return entries(change)


def _always_anew(database: Database) -> AbstractContextManager[None]:
    """Let a person's retry prepare anew, under a new key, whatever may have arrived."""

    async def pick(*arguments: Any) -> Any:
        picked = await door_pick(*arguments)
        return [one._replace(ambiguous=False, known=Known.INVALID.value) if one.manual else one for one in picked]

    return all_of(
        put(claiming, "pick", pick),
        cut(database, "barred_v1", "THEN 'ambiguous' END END", "THEN NULL END END"),
    )


NO_LEASE: Final = "(i.next_attempt_at <= t OR i.state = 'sending')"
DUE: Final = "AND i.lane = s.lane AND i.next_attempt_at <= t"
SENDING: Final = (
    Safeguard(
        "stable key",
        "each attempt has a key of its own",
        leases(lambda _, lease: replace(lease, key=f"{lease.key}~t{lease.attempt}")),
    ),
    Safeguard("frozen bytes", "each attempt is rendered by the release that sends it", leases(_rebuilt)),
    Safeguard("claim is committed before the call", "COMMIT goes out with the next claim", _commit_late),
    Safeguard(
        "fence",
        "the door takes a result whoever holds the lease",
        lambda database: cut(
            database, "append_v1", "WHEN kind_ IN ('result', 'lease_lost') AND u.fence", "WHEN false AND u.fence"
        ),
    ),
    Safeguard(
        "take-over of expired leases",
        "what is being sent is never picked again",
        lambda database: cut(database, "pick_v1", DUE, f"{DUE} AND i.state <> 'sending'"),
    ),
    Safeguard(
        "lease",
        "what is being sent is picked again at once",
        lambda database: all_of(
            cut(database, "pick_v1", "i.next_attempt_at <= t LIMIT 1", f"{NO_LEASE} LIMIT 1"),
            cut(database, "pick_v1", DUE, f"AND i.lane = s.lane AND {NO_LEASE}"),
            cut(database, "barred_v1", "WHEN i.next_attempt_at > t THEN 'lease_live'", "WHEN false THEN ''"),
        ),
    ),
    Safeguard("check at the write", "the write is not checked", lambda _: put(Lease, "may_write", lambda lease: None)),
    Safeguard("lease budget", "writing is allowed until the lease's very end", leases(_to_the_end)),
    Safeguard(
        "lease timed from before BEGIN",
        "it is counted from the claim's answer",
        leases(_timed_after),
    ),
    Safeguard("window check, at the claim and at the door", "neither looks at the window", _no_window),
    Safeguard(
        "ambiguity starts the clock",
        "no attempt is ever marked ambiguous",
        lambda _: entries(lambda kind, entry: entry._replace(ambiguous=None, window_s=None)),
    ),
    Safeguard(
        "the clock starts with the attempt",
        "it starts when the result is written",
        lambda database: cut(
            database, "append_v1", "coalesce(started_at[array_position(ambiguous_ids, j.id)], t) AS began", "t AS began"
        ),
    ),
    Safeguard("a lost lease is unknown", "it counts as not sent", _lost_is_not_sent),
    Safeguard("never_twice", "repeated like any other type", leases(_careless_types)),
    Safeguard("a new generation only where nothing can have arrived", "any retry makes one", _always_anew),
)
SAFEGUARDS: Final = SENDING + ANSWERS + ORDERS

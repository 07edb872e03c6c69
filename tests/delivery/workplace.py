"""A loop's workplace in a test: the real tables and door, the sandbox as provider, and a clock that can be put on."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import psycopg
from psycopg import AsyncConnection
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from notifications.delivery import slots
from notifications.delivery.beats import Beat
from notifications.delivery.claim import claim
from notifications.delivery.lease import Lease, Sent
from notifications.delivery.loop import Loop
from notifications.delivery.record import record
from notifications.delivery.send import send
from notifications.delivery.shop import Account, Rules, Shop
from notifications.door import Appended, Entry, append_call
from notifications.models import Intent
from notifications.providers.base import Provider
from notifications.providers.resend import ResendProvider
from notifications.sandbox.app import RunningSandbox
from notifications.states import EntryKind, State
from notifications.types import Registry, registry

WORKER = "host/1/loop0/0001"
SENDER = "Acme <reports@example.com>"
_ENQUEUE = "SELECT id FROM notifyops.enqueue(%s, %s, %s, %s, %s)"
_LOG = (
    "SELECT kind, from_state, to_state, attempt, generation, trigger, fence, outcome, code, phase, http_status, "
    "provider_message_id, actor, detail, worker FROM notifyops_private.notifications_logentry "
    "WHERE intent_id = %s ORDER BY seq"
)
_WAITING = "SELECT count(*) FROM notifyops_private.notifications_intent WHERE next_attempt_at IS NOT NULL"


@dataclass
class Workplace:
    """Enqueue, deliver, look. `shift_s` puts the database's clock on for everything that this object does."""

    sandbox: RunningSandbox
    database_url: Callable[[str], str]
    account: int
    shift_s: float = 0.0
    _shops: list[Shop] = field(default_factory=list)

    def dsn(self, role: str = "worker") -> str:
        shift = f"-c notifyops_test.shift={self.shift_s:.3f}s"
        return psycopg.conninfo.make_conninfo(self.database_url(role), options=shift)

    def later(self, seconds: float) -> None:
        """Let time pass in the database, and at the provider."""
        self.shift_s += seconds
        self.sandbox.clock(seconds)

    def enqueue(
        self,
        report: str = "demo-001",
        *,
        kind: str = "report_ready",
        to: str = "ana@example.com",
        data: Mapping[str, Any] | None = None,
        **options: str,
    ) -> int:
        """Owe one notification, as a web process does in plain SQL; give the intent's id."""
        with psycopg.connect(self.dsn("web")) as connection:
            content = Jsonb({"title": "Q3"} if data is None else dict(data))
            row = connection.execute(_ENQUEUE, (kind, report, to, content, Jsonb(options))).fetchone()
        assert row is not None
        return int(row[0])

    def enqueue_many(self, count: int, *, prefix: str = "r", **options: str) -> None:
        """Owe `count` notifications in one call."""
        item = {"notification_type": "report_ready", "recipient": "ana@example.com", "data": {"title": "Q3"}}
        items = [item | {"report_id": f"{prefix}-{place:05d}", "options": options} for place in range(count)]
        with psycopg.connect(self.dsn("web")) as connection:
            connection.execute("SELECT count(*) FROM notifyops.enqueue_many(%s)", (Jsonb(items),))

    def shop(self, provider: Provider | None = None, *, types: Registry = registry, **numbers: Any) -> Shop:
        """Give a loop's shop: the sandbox's account, or one with another adapter; `numbers` are those of Rules."""
        rules = replace(Rules(site="test", poll_s=0.05), **numbers)
        adapter = provider or self.adapter(rules.concurrency + rules.reserve)
        account = Account(self.account, "resend", SENDER, adapter, rules.timeout_s)
        shop = Shop(rules, {self.account: account}, types=types, rng=random.Random(7))
        self._shops.append(shop)
        return shop

    def adapter(self, connections: int = 36) -> ResendProvider:
        return ResendProvider(base_url=self.sandbox.url, api_key=self.sandbox.sending_key, connections=connections)

    def play(self, scene: Coroutine[Any, Any, Any]) -> Any:
        """Run a coroutine on a loop of its own, and close the adapters that it opened."""

        async def play() -> Any:
            try:
                return await asyncio.wait_for(scene, 240)
            finally:
                for shop in self._shops:
                    for account in shop.accounts.values():
                        await account.provider.close()

        return asyncio.run(play())

    def turn(self, shop: Shop | None = None, *, worker: str = WORKER, room: int = 32) -> list[Sent]:
        """Do one whole turn: claim, send, record."""
        shop = shop or self.shop()

        async def scene() -> list[Sent]:
            async with await connected(self.dsn()) as connection:
                leases = await claim(connection, shop, worker=worker, room=room)
                sent = await sent_all(shop, leases)
                await record(connection, shop, sent, worker=worker)
                return sent

        result: list[Sent] = self.play(scene())
        return result

    def claim(self, shop: Shop | None = None, *, worker: str = WORKER, room: int = 32) -> list[Lease]:
        """Only claim: what a worker that dies at once leaves behind."""
        shop = shop or self.shop()

        async def scene() -> list[Lease]:
            async with await connected(self.dsn()) as connection:
                return await claim(connection, shop, worker=worker, room=room)

        result: list[Lease] = self.play(scene())
        return result

    def record(self, sent: list[Sent], shop: Shop | None = None, *, worker: str = WORKER) -> None:
        shop = shop or self.shop()

        async def scene() -> None:
            async with await connected(self.dsn()) as connection:
                await record(connection, shop, sent, worker=worker)

        self.play(scene())

    def run(self, shop: Shop | None = None, *, budget_s: float = 90.0, until: Callable[[], bool] | None = None) -> int:
        """Run one loop until nothing waits any more (or `until`), at most for `budget_s`."""
        shop = shop or self.shop()

        async def scene() -> int:
            async with await connected(self.dsn()) as look:
                return await looped(self.dsn(), shop, budget_s=budget_s, until=until or await nothing_waits(look))

        recorded: int = self.play(scene())
        return recorded

    def person(
        self, kind: EntryKind, intent: int, to_state: State | None, *, by: str = "olga", **said: Any
    ) -> Appended:
        """Write a person's entry, as the console does: under the seq that was on the screen."""
        entry = Entry(id=intent, to_state=to_state, seq=self.intent(intent).seq, reason_code="checked", **said)
        query, values = append_call(kind, [entry], actor=by)
        with psycopg.connect(self.dsn("web")) as connection:
            row = connection.execute(query, values).fetchone()
        assert row is not None
        return Appended(*row)

    def intent(self, intent: int) -> Intent:
        return Intent.objects.get(pk=intent)

    def states(self) -> dict[str, str]:
        """Give every intent's state by its report."""
        return dict(Intent.objects.values_list("report_id", "state"))

    def log(self, intent: int) -> list[dict[str, Any]]:
        """Give the whole story of one intent, in order."""
        with psycopg.connect(self.dsn("web"), row_factory=dict_row) as connection:
            return connection.execute(_LOG, (intent,)).fetchall()

    def kinds(self, intent: int) -> list[str]:
        return [entry["kind"] for entry in self.log(intent)]

    def sql(self, query: str, *values: Any, role: str = "owner") -> list[tuple[Any, ...]]:
        with psycopg.connect(self.dsn(role)) as connection:
            cursor = connection.execute(query, values)
            return cursor.fetchall() if cursor.description else []


async def connected(dsn: str) -> AsyncConnection[Any]:
    return await AsyncConnection.connect(dsn, autocommit=True)


async def sent_all(shop: Shop, leases: list[Lease]) -> list[Sent]:
    return list(await asyncio.gather(*(send(lease, shop.accounts[lease.account_id]) for lease in leases)))


async def nothing_waits(look: AsyncConnection[Any]) -> Callable[[], bool]:
    """Give a question that is true once no intent is due, waiting or being sent; asked beside the loop."""
    answer = False

    async def ask() -> None:
        nonlocal answer
        while not answer:
            row = await (await look.execute(_WAITING)).fetchone()
            answer = row == (0,)
            await asyncio.sleep(0.03)

    asking = asyncio.create_task(ask())

    def quiet() -> bool:
        if asking.done():
            asking.result()
        return answer

    return quiet


async def looped(
    dsn: str,
    shop: Shop,
    *,
    until: Callable[[], bool],
    budget_s: float = 90.0,
    number: int = 0,
    handed: Callable[[], Awaitable[None]] | None = None,
) -> int:
    """Hold a slot and run the loop in it, as a task of the cluster does; `handed` is told at the hand-over."""
    async with slots.slot(dsn, slots.LOOPS, number) as slot:
        assert slot is not None, "the slot is held by somebody else"

        async def hand_over() -> None:
            await slot.release()
            if handed is not None:
                await handed()

        loop = Loop(
            dsn=dsn,
            shop=shop,
            slot=slot,
            beat=Beat("loop", number),
            stopping=until,
            budget_s=budget_s,
            hand_over=hand_over,
        )
        return await loop.run()

"""One world: a database, a provider, hosts with their processes, and everything that may go wrong, from one seed."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import random
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Final

from notifications.delivery import lease
from notifications.delivery.shop import Account, Rules, Shop
from notifications.states import DeliveryStatus
from notifications.types import Registry, registry
from tests.simulation.courier import Courier
from tests.simulation.database import Database
from tests.simulation.eventloop import SimulatedLoop
from tests.simulation.faults import Coverage, Fault
from tests.simulation.line import Wires
from tests.simulation.provider import KEYED, KEYLESS, SPARE, Acceptance, Adapter, SimulatedProvider
from tests.simulation.scheduler import PACES, PROCESS, Process, Scheduler
from tests.simulation.weather import Weather

STORM: Final = (340, 560)
SITE: Final = "simulation"
# Everything is settled within two hours of the world's time once the faults stop.
SETTLES_WITHIN_S: Final = 7200.0
# So long people go on with what is in doubt: only then may they rely on a provider that has settled.
PEOPLE_STAY_S: Final = 420.0
# Who restores the database, and alone lives while it is away.
RESTORER: Final = "vera"
# Looking at the database costs: not more often than this.
LOOK_S: Final = 25.0

Role = Callable[["World", Process], Coroutine[Any, Any, None]]


@dataclass(slots=True)
class World:
    """What the actors share. `channel` is this world's own account, and so the mark of its notifications."""

    database: Database
    seed: int
    channel: str
    scheduler: Scheduler
    wires: Wires
    provider: SimulatedProvider
    account: int
    courier: Courier
    types: Registry
    weather: Weather
    # The account that takes over from the first one, in some weather.
    spare: int | None = None
    # What the provider said of messages' fates when it was asked, by intent.
    said: dict[int, set[DeliveryStatus]] = field(default_factory=dict)
    releases: int = 0
    booted: int = 0
    owed: list[str] = field(default_factory=list)
    refused: int = 0
    is_over: bool = False
    calm_since: float | None = None
    finished: asyncio.Event = field(default_factory=asyncio.Event)
    # The moment of the copy that was put back, once it is; and whose sending is forgotten.
    copied_at: datetime | None = None
    is_restored: bool = False
    forgotten: set[int] = field(default_factory=set)
    # Attempts that were an open circuit's probes: account, intent, attempt, and a moment before which none was picked.
    probes: list[tuple[int, int, int, datetime]] = field(default_factory=list)
    _silent: list[tuple[Role, str]] = field(default_factory=list)
    _roles: dict[Process, Role] = field(default_factory=dict)

    @property
    def rng(self) -> random.Random:
        return self.scheduler.rng

    @property
    def accounts(self) -> list[int]:
        return [self.account] if self.spare is None else [self.account, self.spare]

    def account_of(self, message: Acceptance) -> int:
        """Give whose message it is."""
        assert self.spare is not None or not message.is_spare
        return self.spare if self.spare is not None and message.is_spare else self.account

    @property
    def is_calm(self) -> bool:
        return self.scheduler.plan.calm

    async def turn(self, point: str) -> Fault | None:
        return await self.scheduler.turn(point)

    def fixed_rng(self, name: str) -> random.Random:
        """Give dice that fall the same whenever they are asked for."""
        return random.Random(f"{self.seed} {name}")

    def end(self) -> None:
        """End every process for good."""
        self.is_over = True
        self._roles.clear()
        for process in list(self.scheduler.processes):
            self.scheduler.kill(process)

    @property
    def is_away(self) -> bool:
        """Whether the installation is down for a restore."""
        return self.copied_at is not None and not self.is_restored

    def silence(self) -> None:
        """Kill every process but the restorer's; they start again when the database is back."""
        for process in list(self.scheduler.processes):
            name = process.name.partition(".")[0]
            if name != RESTORER:
                self._silent.append((self._roles.pop(process), name))
                self.scheduler.kill(process)

    def rouse(self) -> None:
        """Start again what was silenced, and what ended meanwhile."""
        self.is_restored = True
        silent, self._silent = self._silent, []
        for role, name in silent:
            self.boot(role, name)

    def boot(self, role: Role, name: str) -> None:
        """Start a process in its role; where it ends or is killed, another takes its place."""
        if self.is_over:
            return
        if self.is_away and name != RESTORER:
            self._silent.append((role, name))
            return
        self.booted += 1
        process = Process(f"{name}.{self.booted}", boot_clock=1000.0 * len(name.rstrip("12")))
        self._roles[process] = role
        self.scheduler.processes.append(process)
        context = contextvars.copy_context()
        context.run(PROCESS.set, process)
        loop = self.scheduler.loop
        assert loop is not None
        task = loop.create_task(role(self, process), context=context)
        task.add_done_callback(lambda done: self._ended(process, done))

    def crashed(self, process: Process) -> None:
        """Kill a process; soon afterwards its successor starts."""
        role = self._roles.pop(process, None)
        self.scheduler.kill(process)
        if role is not None:
            name = process.name.partition(".")[0]
            assert self.scheduler.loop is not None
            self.scheduler.loop.call_later(self.rng.choice((0.0, 1.0, 20.0)), self.boot, role, name)

    def shop(self, process: Process) -> Shop:
        """Give a worker's workplace: production's, with the simulated adapter and this host's boot clock."""
        self.releases += self.rng.random() < 0.5
        clock = boot_clock(self.scheduler, process)
        promises = KEYED if self.provider.keyed else KEYLESS
        accounts = {}
        for number in self.accounts:
            ledger = SPARE if number == self.spare else ""
            adapter = Adapter(self.provider, self.scheduler.plan, process, self.releases, clock, promises, ledger)
            one = Account(number, self.channel + ledger, "Acme <reports@example.com>", adapter, 10.0)
            accounts[number] = one if ledger else replace(one, fallback=self.spare)
        rules = Rules(site=SITE, retry_delays_s=(20.0, 60.0))
        dice = random.Random(self.rng.random())
        return Shop(rules, accounts, types=self.types, rng=dice, clock=clock)

    def _ended(self, process: Process, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and process.alive:
            self.crashed(process)


def boot_clock(scheduler: Scheduler, process: Process) -> Callable[[], float]:
    """Give a host's boot clock: it runs while the process, or the whole host, stands still."""
    return lambda: scheduler.now + process.boot_clock


@contextlib.contextmanager
def simulated_boot_clock(scheduler: Scheduler) -> Iterator[None]:
    """Let the last check at the write read the boot clock of the host on which it runs."""
    real = lease.boot_clock
    lease.boot_clock = lambda: scheduler.now + PROCESS.get().boot_clock
    try:
        yield
    finally:
        lease.boot_clock = real


def made(database: Database, seed: int, coverage: Coverage, mark: str, weather: Weather) -> World:
    """Make the world of a seed; `mark` keeps its rows apart from those of every other run."""
    rng = random.Random(seed)
    scheduler = Scheduler(rng, weather.plan(rng, seed, coverage), rng.randint(*STORM), rng.choice(PACES))
    channel = f"{mark}-{seed}"
    wires = Wires(database, scheduler, timedelta(hours=rng.randrange(24 * 40)))
    keyed = rng.random() < 0.75
    world = World(
        database=database,
        seed=seed,
        channel=channel,
        scheduler=scheduler,
        wires=wires,
        provider=SimulatedProvider(
            scheduler, keyed if weather.keyed is None else weather.keyed, channel, wires.lease_left_s
        ),
        account=database.new_account(channel),
        courier=Courier(scheduler, wires.start, rng.random() < weather.deaf),
        types=_types(confirm=rng.random() < 0.5),
        weather=weather,
    )
    if weather.fallback_after_s is not None:
        world.spare = database.new_fallback(world.account, channel, weather.fallback_after_s)
    scheduler.jump_s = weather.quiet_s(scheduler, world.provider)
    world.provider.on_accepted = world.courier.follow
    scheduler.loop = SimulatedLoop(scheduler)
    scheduler.on_crash = world.crashed
    return world


def _types(*, confirm: bool) -> Registry:
    """Give production's types, some of which want to hear that they arrived."""
    types = Registry()
    for kind in registry:
        types.add(replace(kind, confirm=confirm and kind.name in ("report_ready", "report_once")))
    return types

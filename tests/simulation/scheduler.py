"""The scheduler: exactly one strand of one process moves at a time, and a seed decides which, and what befalls it.

A strand is a task that waits for its turn at a named point. Progress cannot deadlock: whatever holds a lock in the
database holds it across turns, but a statement that would wait fails within milliseconds (line.py), so that the one who
holds the lock gets its turn; and a transaction that stands still for a minute is ended, as the server does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import Context, ContextVar
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

from tests.simulation.eventloop import SimulatedLoop
from tests.simulation.faults import Fault, Plan

PROCESS: ContextVar[Process] = ContextVar("process")

TICKS_S: Final = (0.0, 0.0, 0.0, 0.3, 0.5, 2.0, 8.0)
# In a slow world much happens within a lease, in a quick one leases end between two steps.
PACES: Final = (0.05, 0.05, 0.3, 1.0)
PAUSES_S: Final = (20.0, 35.0, 45.0, 50.0, 55.0, 65.0, 200.0, 2000.0)
# One of them ends about when a provider's key does, which is a day after its message.
JUMPS_S: Final = (70.0, 400.0, 3600.0, 86_330.0, 108_000.0)
# Pauses that end about when the lease of the last claim does, which is for 60 seconds, 49 of them for the write.
AROUND_LEASE_S: Final = (44.0, 47.0, 49.5, 51.0, 53.0, 56.0, 59.0, 62.0)
FREEZE_S: Final = 108_000.0
STEPS_S: Final = (-300.0, -60.0, 60.0, 300.0)
# Ten times as many as the longest schedule had; this ends one that moves without getting anywhere.
MOST_STEPS: Final = 50_000
# The database's clock may be wrong by less than the margin of the window (docs/guarantees.md, assumption 3).
MOST_WRONG_S: Final = 600.0


@dataclass(eq=False, slots=True)
class Process:
    """One process of one host. Whatever runs in it ends with it."""

    name: str
    boot_clock: float  # what its host's shows when the world begins
    alive: bool = True
    claimed_at: float = 0.0
    paused_until: float = 0.0
    thaws_after: int | None = None
    tasks: dict[asyncio.Task[Any], None] = field(default_factory=dict)  # a set has no order
    at_end: list[Callable[[], None]] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class Parked:
    """A strand that waits for its turn."""

    process: Process
    point: str
    turn: asyncio.Future[Fault | None]


@dataclass(slots=True)
class Scheduler:
    """Whose turn it is, and what time it is. `now` is the world's true time in seconds."""

    rng: Random
    plan: Plan
    storm: int
    pace: float = 1.0
    now: float = 0.0
    steps: int = 0
    database_off_by_s: float = 0.0
    farthest_off_s: float = 0.0
    stepped_at: float = -1.0  # when the database's clock was last put on or back
    trace: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    watchers: list[Callable[[], None]] = field(default_factory=list)
    on_crash: Callable[[Process], None] = lambda _: None
    on_restart: Callable[[], None] = lambda: None
    loop: SimulatedLoop | None = None
    jump_s: Callable[[], float] = lambda: 0.0
    processes: list[Process] = field(default_factory=list)
    _parked: list[Parked] = field(default_factory=list)

    async def turn(self, point: str) -> Fault | None:
        """Wait until it is this strand's turn; give the fault that the caller itself must play, where there is one."""
        process = PROCESS.get()
        if not process.alive:
            raise asyncio.CancelledError
        assert self.loop is not None
        parked = Parked(process, point, self.loop.create_future())
        self._parked.append(parked)
        return await parked.turn

    def started(self, task: asyncio.Task[Any], context: Context | None) -> None:
        """Note whose task it is."""
        process = context.get(PROCESS) if context is not None else PROCESS.get(None)
        if process is not None:
            process.tasks[task] = None
            task.add_done_callback(lambda done: self._ended(process, done))

    def move(self, until_timer_s: float | None) -> None:
        """Do one thing, now that nothing is ready: time, and one strand or one fault."""
        if self.storm > 0:
            self.storm -= 1
            if self.storm == 0:
                self._calm_down()
        self.plan.coverage.steps += 1
        self.steps += 1
        assert self.steps < MOST_STEPS, "the schedule moves, and gets nowhere"
        runnable = [one for one in self._parked if one.process.paused_until <= self.now]
        if not runnable:
            # Nothing can happen before the next timer: a pause's end, a nap's, a delivery.
            assert until_timer_s is not None, "nothing can ever happen again"
            self.advance(until_timer_s)
        else:
            tick_s = self.pace * self.rng.choice(TICKS_S)
            self.advance(tick_s)
            # What the time brings comes before what the strand does then.
            if until_timer_s is None or tick_s < until_timer_s:
                self._go_on(self._chosen(runnable))
        for process in self.processes:
            self._thaw(process)

    def advance(self, seconds: float) -> None:
        """Let time pass for everyone."""
        self.now += seconds
        for watch in self.watchers:
            watch()

    @property
    def was_stepped(self) -> bool:
        return self.stepped_at >= 0.0

    def kill(self, process: Process) -> None:
        """End a process at once; none of its code runs any more, and its connections are gone."""
        process.alive = False
        if process in self.processes:
            self.processes.remove(process)
        self._parked = [one for one in self._parked if one.process is not process]
        for end in process.at_end:
            end()
        for task in list(process.tasks):
            task.cancel()

    def waits_at(self, *beginnings: str) -> bool:
        """Say whether any strand stands at a point that begins so."""
        return any(one.point.startswith(beginnings) for one in self._parked)

    def _chosen(self, runnable: list[Parked]) -> Parked:
        # Whoever is busy goes first, mostly, and whoever calls before all: idle ones are many, and have little to tell.
        calling = [one for one in runnable if one.point.startswith(("send", "record", "receive"))]
        if calling and self.rng.random() < 0.4:
            return self.rng.choice(calling)
        busy = [one for one in runnable if one.point not in ("worker idle", "person read")]
        return self.rng.choice(busy if busy and self.rng.random() < 0.8 else runnable)

    def _go_on(self, one: Parked) -> None:
        fault = self.plan.at(one.point)
        if one.point == "claim begin":
            one.process.claimed_at = self.now
        self.trace.append(f"{self.now:.1f} {one.process.name} {one.point}{f' {fault}' if fault else ''}")
        match fault:
            case Fault.CRASH:
                self.on_crash(one.process)
                return
            case Fault.PAUSE:
                self._pause(one.process, self._pause_s(one.process))
                return
            case Fault.FREEZE:
                self._pause(one.process, FREEZE_S + 3600 * self.rng.random())
                return
            case Fault.RESTART:
                self.on_restart()
            case Fault.JUMP:
                self.advance(self.jump_s())
                return
            case Fault.STEP:
                self._step()
        self._parked.remove(one)
        one.turn.set_result(fault if fault in (Fault.COMMIT_LOST, Fault.ANSWER_LOST) else None)

    def _step(self) -> None:
        wanted = self.database_off_by_s + self.rng.choice(STEPS_S)
        self.database_off_by_s = max(-MOST_WRONG_S, min(MOST_WRONG_S, wanted))
        self.farthest_off_s = max(self.farthest_off_s, abs(self.database_off_by_s))
        self.stepped_at = self.now

    def _pause_s(self, process: Process) -> float:
        ends_at = process.claimed_at + self.rng.choice(AROUND_LEASE_S)
        return ends_at - self.now if ends_at > self.now and self.rng.random() < 0.7 else self.rng.choice(PAUSES_S)

    def _pause(self, process: Process, seconds: float) -> None:
        process.paused_until = self.now + seconds
        # The others go on for a while before the rest of the time passes for all.
        process.thaws_after = self.rng.randrange(4, 50)
        assert self.loop is not None
        self.loop.call_at(process.paused_until, lambda: None)

    def _thaw(self, process: Process) -> None:
        if process.thaws_after is None or process.paused_until <= self.now:
            process.thaws_after = None
            return
        process.thaws_after -= 1
        if process.thaws_after <= 0:
            process.thaws_after = None
            self.advance(process.paused_until - self.now)

    def _calm_down(self) -> None:
        self.plan.calm = True
        self.pace = 1.0
        for process in self.processes:
            process.paused_until = self.now
        self.trace.append(f"{self.now:.1f} the faults stop")

    def _ended(self, process: Process, task: asyncio.Task[Any]) -> None:
        process.tasks.pop(task, None)
        if task.cancelled() or not process.alive:
            if not task.cancelled():
                task.exception()
            return
        error = task.exception()
        if error is not None:
            self.broken.append(f"{process.name}: {type(error).__name__}: {error}")
            self.on_crash(process)

"""A connection as production code knows it, that gives up its turn around every statement.

Beneath it is a real session. Nothing of the production code is changed or hooked: it is handed this connection instead
of psycopg's. BEGIN goes with the first statement, as in the pipeline that the claim uses.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from typing import Any

import psycopg

from tests.simulation.database import Database, Session, at, set_clock
from tests.simulation.faults import Fault
from tests.simulation.scheduler import Process, Scheduler

# PostgreSQL's own limit for a transaction that stands still (delivery/link.py).
IDLE_IN_TRANSACTION_S = 60.0
# So many turns is a wait for a row's lock at most; then it fails as a lock_timeout does.
MOST_WAITS = 30


class Line:
    """One connection of one process, named after what it is for: its points are `<name> begin`, `<name> commit` …"""

    def __init__(self, world: Wires, process: Process, role: str, name: str) -> None:
        self._world = world
        self._role = role
        self._name = name
        self._session: Session | None = world.database.lend(role, world.scheduler.rng.random())
        self._set_to: datetime | None = None
        self._depth = 0
        self._pipelined = False
        self._began = False
        self._used_at = world.scheduler.now
        process.at_end.append(self.drop)
        world.lines.append(self)

    @property
    def closed(self) -> bool:
        return self._session is None

    @property
    def stands_still(self) -> bool:
        """Whether a transaction has been open, and unused, for longer than the server allows."""
        return self._depth > 0 and self._world.scheduler.now - self._used_at > IDLE_IN_TRANSACTION_S

    def drop(self) -> None:
        """Lose the connection: the server rolls back what was open."""
        if self._session is not None:
            session, self._session = self._session, None
            self._world.lines.remove(self)
            self._world.database.give_back(self._role, session)

    async def close(self) -> None:
        self.drop()

    @contextlib.asynccontextmanager
    async def pipeline(self) -> AsyncIterator[None]:
        """Let a BEGIN go with the statement after it; what else a pipeline does can be seen by nobody."""
        self._pipelined = True
        try:
            yield
        finally:
            self._pipelined = False

    @contextlib.asynccontextmanager
    async def transaction(self) -> AsyncIterator[None]:
        """Open a transaction, or a savepoint inside one."""
        if self._depth == 0:
            await self._turn("begin")
        self._run("BEGIN" if self._depth == 0 else f"SAVEPOINT s{self._depth}")
        self._depth += 1
        self._began = self._depth == 1 and self._pipelined
        try:
            yield
        except BaseException:
            self._roll_back()
            raise
        await self._commit()

    async def execute(self, query: Any, params: Any = None, **options: Any) -> Cursor:
        """Run one statement."""
        cursor = self.cursor(**options)
        await cursor.execute(query, params)
        return cursor

    def cursor(self, **options: Any) -> Cursor:
        return Cursor(self, options)

    async def answer(self, options: dict[str, Any], query: Any, params: Any) -> psycopg.Cursor[Any]:
        """Run one statement between two turns; inside a transaction the turn before it is enough."""
        if self._depth:
            if not self._began:
                await self._turn("inside")
            self._began = False
            return self._run(query, params, **options)
        if await self._turn("statement") is Fault.COMMIT_LOST:
            self._lose()
        cursor = await self._waited(query, params, options)
        if await self._turn("executed") is Fault.ANSWER_LOST:
            self._lose()
        return cursor

    async def _waited(self, query: Any, params: Any, options: dict[str, Any]) -> psycopg.Cursor[Any]:
        """Run a statement that is a transaction of its own; wait, turn by turn, for whoever holds its rows."""
        for _ in range(MOST_WAITS):
            try:
                return self._run(query, params, **options)
            except psycopg.errors.LockNotAvailable:
                await self._turn("waits")
        return self._run(query, params, **options)

    async def _commit(self) -> None:
        if self._depth > 1:
            self._depth -= 1
            self._run(f"RELEASE s{self._depth}")
            return
        if await self._turn("commit") is Fault.COMMIT_LOST:
            self._lose()
        self._run("COMMIT")
        self._depth = 0
        if await self._turn("committed") is Fault.ANSWER_LOST:
            self._lose()

    def _roll_back(self) -> None:
        self._depth -= 1
        if self._session is not None:
            # A rollback takes what was set since back as well.
            self._set_to = None
            self._session.execute(f"ROLLBACK TO s{self._depth}".encode() if self._depth else b"ROLLBACK")

    async def _turn(self, step: str) -> Fault | None:
        return await self._world.scheduler.turn(f"{self._name} {step}")

    def _run(self, query: Any, params: Any = None, **options: Any) -> psycopg.Cursor[Any]:
        if self._session is None:
            raise psycopg.OperationalError("the connection is lost")
        scheduler = self._world.scheduler
        self._used_at = scheduler.now
        now = self._world.moment()
        if now != self._set_to:
            set_clock(self._session, now)
            self._set_to = now
        cursor: psycopg.Cursor[Any] = self._session.cursor(**options)
        cursor.execute(query.encode() if isinstance(query, str) else query, params)
        return cursor

    def _lose(self) -> None:
        self._depth = 0
        self.drop()
        raise psycopg.OperationalError("the connection is lost")


class Cursor:
    """A cursor as production code knows it."""

    def __init__(self, line: Line, options: dict[str, Any]) -> None:
        self._line = line
        self._options = options
        self._rows: psycopg.Cursor[Any] | None = None

    async def execute(self, query: Any, params: Any = None) -> Cursor:
        self._rows = await self._line.answer(self._options, query, params)
        return self

    async def fetchall(self) -> list[Any]:
        assert self._rows is not None
        return self._rows.fetchall()

    async def fetchone(self) -> Any:
        assert self._rows is not None
        return self._rows.fetchone()


class Link:
    """A link as production code knows it (delivery/link.py): a line that is made again when it is lost."""

    def __init__(self, world: Wires, process: Process, role: str, name: str) -> None:
        self._made = (world, process, role, name)
        self._line: Line | None = None

    async def get(self) -> Any:
        """Give the open line. Raises psycopg.OperationalError while the database is away."""
        world, process, role, name = self._made
        if self._line is None or self._line.closed:
            if world.scheduler.now < world.away_until:
                raise psycopg.OperationalError("the database is away")
            self._line = Line(world, process, role, name)
        return self._line

    async def replan(self, *, now: bool) -> None:
        """Plans are kept: they are the same for every schedule."""

    async def lost(self, error: psycopg.Error) -> bool:
        """Wait until the database is back, and for a turn; the next `get` opens a new line."""
        await self.close()
        await asyncio.sleep(max(0.0, self._made[0].away_until - self._made[0].scheduler.now))
        await self._made[0].scheduler.turn(f"{self._made[3]} lost")
        return True

    async def close(self) -> None:
        if self._line is not None:
            self._line.drop()
            self._line = None


class Wires:
    """Every line of one world, and what can befall them together."""

    def __init__(self, database: Database, scheduler: Scheduler, start: timedelta) -> None:
        self.database = database
        self.scheduler = scheduler
        self.start = start
        self.lines: list[Line] = []
        self.away_until = 0.0
        scheduler.watchers.append(self._end_idle)
        scheduler.on_restart = self.restart

    def moment(self) -> datetime:
        """Give the database's own time."""
        return self.moment_at(self.scheduler.now)

    def moment_at(self, seconds: float) -> datetime:
        """Give what the database's clock shows, or would show, then."""
        return at(seconds + self.scheduler.database_off_by_s, self.start)

    def lease_left_s(self, intent: int, worker: str) -> float:
        """Give how long the worker still holds the intent's lease, as all others see it; 0 where it does not."""
        query = (
            "SELECT extract(epoch FROM next_attempt_at - %s)::float FROM notifyops_private.notifications_intent "
            "WHERE id = %s AND state = 'sending' AND leased_by = %s"
        )
        row = self.database.owner.execute(query, (self.moment(), intent, worker)).fetchone()
        return 0.0 if row is None else float(row[0])

    def restart(self) -> None:
        """Restart the database: every connection is lost, and for some seconds none can be made."""
        self.away_until = self.scheduler.now + self.scheduler.rng.choice((0.0, 5.0, 30.0))
        for line in list(self.lines):
            line.drop()

    def _end_idle(self) -> None:
        for line in [line for line in self.lines if line.stands_still]:
            line.drop()

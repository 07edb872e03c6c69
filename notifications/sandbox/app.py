"""Run the sandbox: as a process until it is told to end, or in a thread beside the program that uses it."""

from __future__ import annotations

import asyncio
import gc
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import uvloop

from notifications.sandbox import control, receivers
from notifications.sandbox.api import answer_call
from notifications.sandbox.compact import compacted
from notifications.sandbox.connection import Connection
from notifications.sandbox.gate import put_off
from notifications.sandbox.journal import Journal
from notifications.sandbox.knobs import Knobs, tuned
from notifications.sandbox.ledger import Row
from notifications.sandbox.recall import recalled, unsent
from notifications.sandbox.refusals import Misused
from notifications.sandbox.wire import Answer, Call
from notifications.sandbox.world import World

# A burst of connections must wait in the kernel's queue, not be refused.
BACKLOG = 1_024
Result = TypeVar("Result")


class Server:
    """One world behind one listening port."""

    def __init__(self, knobs: Knobs, journal: Journal, *, with_control: bool) -> None:
        self.world = World(knobs, journal)
        self.with_control = with_control
        self._connections: set[Connection] = set()
        self._server: asyncio.Server | None = None
        self._is_ready = False

    async def start(self, host: str, port: int) -> int:
        """Listen, recall the journal, shorten it, and give the port. Raises Misused with a sentence.

        Until it has been read, calls to the API are put off and the control plane tells nothing but our health.
        """
        loop = asyncio.get_running_loop()
        try:
            self._server = await loop.create_server(
                lambda: Connection(self._answer, self._connections), host, port, backlog=BACKLOG
            )
        except OSError as problem:
            raise Misused(
                f"The sandbox cannot listen on {host}:{port}: {problem.strerror}. Is another one running? "
                "Stop it, or choose another port."
            ) from None
        await recalled(self.world)
        await compacted(self.world)
        self._is_ready = True
        for mail in self.world.mailbox.mails:
            receivers.resume(self.world, mail)
        self.world.courier.resume(unsent(self.world), self.world.knobs)
        return int(self._server.sockets[0].getsockname()[1])

    def stop(self) -> None:
        """Drop everything at once; what was accepted is in the journal."""
        if self._server is not None:
            self._server.close()
        for connection in tuple(self._connections):
            connection.reset()
        self.world.courier.stop()
        self.world.clock.clear()
        self.world.journal.close()

    async def _answer(self, call: Call, connection: Connection) -> Answer | None:
        is_order = self.with_control and (call.path == control.ROOT or call.path.startswith(control.ROOT + "/"))
        if is_order and (call.method, call.path.removeprefix(f"{control.ROOT}/")) == control.HEALTH:
            return control.health(self.world, is_ready=self._is_ready)
        if not self._is_ready:
            return put_off()
        if is_order:
            return control.answer_order(self.world, call)
        return await answer_call(self.world, call, connection)


def run_until_told(server: Server, host: str, port: int, ready: Callable[[str], None]) -> None:
    """Serve until SIGTERM or SIGINT; `ready` gets the address once it listens. Raises Misused with a sentence."""

    async def main() -> None:
        told = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, told.set)
        starting, ending = asyncio.ensure_future(server.start(host, port)), asyncio.ensure_future(told.wait())
        await asyncio.wait((starting, ending), return_when=asyncio.FIRST_COMPLETED)
        if starting.done():
            ready(f"http://{host}:{starting.result()}")
            # All of that stays: looking for garbage among it would hold up the calls.
            gc.freeze()
            await ending
        server.stop()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main())


class RunningSandbox:
    """A sandbox in a thread of this process; the methods may be called from any other thread."""

    def __init__(self, server: Server, loop: asyncio.AbstractEventLoop, port: int) -> None:
        self._server = server
        self._loop = loop
        self.port = port
        self.url = f"http://127.0.0.1:{port}"
        self.control_url = self.url + control.ROOT

    @property
    def full_key(self) -> str:
        return self._server.world.knobs.full_key

    @property
    def sending_key(self) -> str:
        return self._server.world.knobs.sending_key

    def order(self, method: str, name: str, order: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Carry out any control call, as over HTTP. Raises Misused."""
        carry_out = control.ORDERS[method, name]
        return self._inside(lambda: carry_out(self._server.world, dict(order or {})))

    def ledger(self, key: str) -> Row:
        """Give what was really accepted under a key; zeros for one that was never seen."""
        return self._inside(lambda: self._server.world.ledger.copy_of(key))

    def fault(self, **rule: Any) -> None:
        self.order("POST", "faults", rule)

    def webhook_fault(self, **rule: Any) -> None:
        self.order("POST", "webhook-faults", rule)

    def configure(self, **knobs: Any) -> None:
        self.order("POST", "config", knobs)

    def clock(self, advance: float) -> None:
        self.order("POST", "clock", {"advance": advance})

    def requests(self, key: str | None = None) -> list[dict[str, Any]]:
        """Give the requests seen so far, oldest first."""
        found: list[dict[str, Any]] = self.order("GET", "requests", {} if key is None else {"key": key})["requests"]
        return found

    def events(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.order("GET", "events")["events"]
        return found

    def attempts(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.order("GET", "attempts")["attempts"]
        return found

    def emit(self, event_type: str, **order: Any) -> None:
        self.order("POST", "emit", {"type": event_type, **order})

    def reset(self) -> None:
        self.order("POST", "reset")

    def _inside(self, work: Callable[[], Result]) -> Result:
        async def run() -> Result:
            return work()

        return asyncio.run_coroutine_threadsafe(run(), self._loop).result(timeout=30)


@contextmanager
def running_sandbox(
    *, port: int = 0, with_control: bool = True, journal: Path | None = None, **knobs: Any
) -> Iterator[RunningSandbox]:
    """Run a sandbox beside the caller, on a free port unless one is given, until the block ends.

    Unlike the documented account it has no rate limit, unless `rate_per_s` is given.
    """
    server = Server(tuned(Knobs(rate_per_s=None), knobs), Journal(journal), with_control=with_control)
    loop = uvloop.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="sandbox", daemon=True)
    thread.start()
    try:
        bound = asyncio.run_coroutine_threadsafe(server.start("127.0.0.1", port), loop).result(timeout=30)
        yield RunningSandbox(server, loop, bound)
    finally:
        asyncio.run_coroutine_threadsafe(_wind_up(server), loop).result(timeout=30)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(timeout=30)
        loop.close()


async def _wind_up(server: Server) -> None:
    """Stop, and see every task to its end, so that a closed loop leaves no warning behind."""
    server.stop()
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    for task in others:
        with suppress(asyncio.CancelledError):
            await task

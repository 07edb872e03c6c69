"""A server of files in a thread, whose answers a test chooses, and the chore that fetches from it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_network
from threading import Event, Thread
from typing import Any, Final

from notifications.delivery.fetching import Fetching
from notifications.delivery.shop import Shop
from notifications.models import Fetch
from notifications.providers.fetcher import Fetcher
from tests.delivery.workplace import Workplace, connected
from tests.intake.attaching import PDF

LOOPBACK: Final = (ip_network("127.0.0.0/8"),)


@dataclass(slots=True)
class Files:
    """What the server answers: by path, else `status` and `body`. A hung answer waits for `released`."""

    status: int = 200
    body: bytes = PDF
    headers: dict[str, str] = field(default_factory=dict)
    hangs: bool = False
    asked: Counter[str] = field(default_factory=Counter)
    released: Event = field(default_factory=Event)
    port: int = 0

    def link(self, path: str = "/q3.pdf") -> str:
        return f"http://127.0.0.1:{self.port}{path}"


@contextmanager
def files() -> Iterator[Files]:
    """Serve until the block ends."""
    served = Files()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            served.asked[self.path] += 1
            if served.hangs:
                served.released.wait(60)
            self.send_response(served.status)
            for name, value in {"Content-Length": str(len(served.body)), **served.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(served.body)

        def log_message(self, *_words: Any) -> None:
            """Say nothing."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_words: Any) -> None:
            """Who leaves early is a part of the tests."""

    server = Server(("127.0.0.1", 0), Handler)
    served.port = server.server_port
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield served
    finally:
        served.released.set()
        server.shutdown()
        thread.join(30)
        server.server_close()


def nothing_wanted() -> bool:
    return not Fetch.objects.filter(wanted=True).exists()


def fetch(place: Workplace, until: Callable[[], bool] = nothing_wanted, networks: tuple[Any, ...] = LOOPBACK) -> None:
    """Do the chore until that is so, for a minute at most."""
    asked = until  # Django's connection belongs to this thread, and the chore runs on a loop of its own

    async def scene() -> None:
        from asgiref.sync import sync_to_async

        ends_at = time.monotonic() + 60
        async with await connected(place.dsn()) as connection:
            fetching = Fetching(connection, Fetcher(networks), Shop(place.shop().rules, {}))
            try:
                while not await sync_to_async(asked)():
                    assert time.monotonic() < ends_at, "the chore does not end"
                    await fetching.turn()
                    await fetching.wait(0.02)
            finally:
                await fetching.close()

    place.play(scene())

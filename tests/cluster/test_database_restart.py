"""PostgreSQL crashes in the middle of the work, on a server of this test's own."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import psycopg
import pytest

from notifications.sandbox.app import RunningSandbox
from notifyops import children, embedded, postmaster
from tests import postgres
from tests.cluster.machine import OWE, ROOT, Field, eventually

pytestmark = pytest.mark.slow

# Commits are waited for, as in production: what was acknowledged must survive the server's crash.
SETTINGS: Final = ("fsync=off", "full_page_writes=off", "max_connections=60")
# The queue's pusher rests for 10 s after a failure, and the parent waits 10 s for a beat before it looks for loops.
RESUMES_WITHIN_S: Final = 45.0


@dataclass(slots=True)
class Server:
    """A server of one's own, which can crash."""

    child: children.Child
    urls: dict[str, str]

    def crash(self, *, down_s: float) -> None:
        """End it like a power cut does, leave it down for a while, and start it again."""
        os.kill(self.child.pid, signal.SIGQUIT)
        eventually(lambda: children.has_ended(self.child.pid), 60)
        self.child.reap()
        time.sleep(down_s)
        self.child.start()
        eventually(self.answers, 60)

    def answers(self) -> bool:
        with suppress(psycopg.OperationalError), psycopg.connect(self.urls["owner"], connect_timeout=2):
            return True
        return False


@pytest.fixture
def server() -> Iterator[Server]:
    home = Path(tempfile.mkdtemp(prefix="notifyops-crash-"))
    # The database's own user must pass through, and mkdtemp lets nobody in.
    home.chmod(0o711)
    port = postgres.free_port()
    made = embedded.prepare(home, password=postgres.PASSWORD, port=port)
    admin_url = f"postgresql://postgres:{postgres.PASSWORD}@127.0.0.1:{port}/postgres"
    child = postmaster.start(made.command(log=home / "log", settings=SETTINGS), admin_url=admin_url, data=made.data)
    try:
        yield Server(child, postgres.provision_site(admin_url))
    finally:
        children.stop([child])
        postmaster.remove_sockets(made.sockets)
        shutil.rmtree(home, ignore_errors=True)


@pytest.fixture
def place(server: Server, sandbox: RunningSandbox, tmp_path: Path) -> Iterator[Field]:
    env = {
        **os.environ,
        "NOTIFYOPS_ROLE": "worker",
        "NOTIFYOPS_DATABASE_URL": server.urls["worker"],
        "NOTIFYOPS_RESEND_BASE_URL": sandbox.url,
        "NOTIFYOPS_RESEND_API_KEY": sandbox.sending_key,
    }
    owner = {"NOTIFYOPS_ROLE": "owner", "NOTIFYOPS_DATABASE_URL": server.urls["owner"]}
    owner["NOTIFYOPS_OWNER_DATABASE_URL"] = server.urls["owner"]
    migrate = [sys.executable, "manage.py", "migrate", "-v0"]
    subprocess.run(migrate, cwd=ROOT, env=env | owner, check=True, timeout=120)
    del env["NOTIFYOPS_OWNER_DATABASE_URL"]
    connection = psycopg.connect(server.urls["owner"], autocommit=True)
    made = Field(env, sandbox, tmp_path, connection, connection, server.urls["web"])
    yield made
    for cluster in made.clusters:
        cluster.kill()
    made.owner.close()
    connection.close()


@dataclass(slots=True)
class Caller:
    """An application that goes on enqueuing, and notes what was acknowledged to it."""

    url: str
    acknowledged: list[str] = field(default_factory=list)
    ended: threading.Event = field(default_factory=threading.Event)

    def work(self) -> None:
        number = 0
        while not self.ended.is_set():
            try:
                with psycopg.connect(self.url, autocommit=True, connect_timeout=2) as connection:
                    while not self.ended.wait(0.02):
                        number += 1
                        row = connection.execute(OWE, ["report_ready", f"crash-{number}"]).fetchone()
                        assert row is not None
                        self.acknowledged.append(row[0])
            except psycopg.OperationalError:
                time.sleep(0.05)


def test_every_acknowledged_enqueue_is_delivered_once_over_crashes_of_the_database(
    server: Server, place: Field, sandbox: RunningSandbox
) -> None:
    sandbox.configure(latency_s=0.2)  # calls are under way at any moment
    cluster = place.start()
    caller = Caller(server.urls["web"])
    working = threading.Thread(target=caller.work)
    working.start()
    try:
        for down_s in (6.0, 0.0):
            time.sleep(1.5)
            server.crash(down_s=down_s)
            resumes(server, place, caller)
    finally:
        caller.ended.set()
        working.join()
    assert len(caller.acknowledged) > 50
    # Commits whose answer was lost count too: they stand, and so they are delivered.
    eventually(lambda: set(place.states()) == {"accepted"}, RESUMES_WITHIN_S, every_s=0.5)
    place.nothing_lost_nothing_doubled(caller.acknowledged)
    assert sandbox.order("GET", "ledger")["twice"] == []
    assert cluster.process.poll() is None, "it came back without a restart"
    assert cluster.stop() == 0


def resumes(server: Server, place: Field, caller: Caller) -> None:
    """See what is enqueued after the crash being delivered."""
    place.owner.close()
    place.owner = psycopg.connect(server.urls["owner"], autocommit=True)
    known = len(caller.acknowledged)
    eventually(lambda: len(caller.acknowledged) > known, 60)
    eventually(lambda: place.all_accepted([caller.acknowledged[known]]), RESUMES_WITHIN_S)

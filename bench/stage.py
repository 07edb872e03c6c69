"""The stage of a run: a durable PostgreSQL of its own, migrated, a provider, and clusters on request.

Everything lives in one temporary directory and in child processes that the kernel ends with us. PostgreSQL has its
own default settings: a commit that is acknowledged is on the disk.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import psycopg

from notifyops import children, dsn, embedded, firstrun, keep, postmaster, provision
from notifyops.children import Child, Command

BASE: Final = Path(__file__).resolve().parent.parent
SITE: Final = "bench"
DATABASE: Final = "notifyops"
KEY: Final = "re_bench"
# A cluster has forked, imported and taken its slots well within this.
READY_WITHIN_S: Final = 30.0


class BenchFailed(Exception):
    """A measurement cannot be made; the text says why."""


@dataclass(slots=True)
class Stage:
    """What every measurement works with."""

    home: Path
    quick: bool
    urls: Mapping[str, str] = field(repr=False)
    provider_port: int
    postgres: Child
    provider: Child

    @property
    def runs(self) -> int:
        """Give how often each figure is measured."""
        return 1 if self.quick else 3

    def sized(self, full: int, quick: int) -> int:
        """Give the size of a measurement."""
        return quick if self.quick else full

    @contextlib.contextmanager
    def owner(self) -> Iterator[psycopg.Connection[Any]]:
        """Connect as the tables' owner."""
        with psycopg.connect(self.urls["owner"], autocommit=True) as connection:
            yield connection

    def env(self, role: str, **settings: str | int) -> dict[str, str]:
        """Give the environment of one of our processes in the role's part."""
        plain = {name: value for name, value in os.environ.items() if not name.startswith("NOTIFYOPS_")}
        ours = {
            "NOTIFYOPS_HOME": str(self.home / "home"),
            "NOTIFYOPS_SITE": SITE,
            "NOTIFYOPS_ROLE": role,
            "NOTIFYOPS_DATABASE_URL": self.urls[role],
            "NOTIFYOPS_OWNER_DATABASE_URL": self.urls["owner"] if role == "web" else "",
            "NOTIFYOPS_RESEND_BASE_URL": f"http://127.0.0.1:{self.provider_port}",
            "NOTIFYOPS_RESEND_API_KEY": KEY,
            "DJANGO_SETTINGS_MODULE": "notifyops.settings",
        }
        return plain | ours | {name: str(value) for name, value in settings.items()}

    def command(self, name: str, argv: tuple[str, ...], env: Mapping[str, str]) -> Command:
        """Give how to run one of our Python programs, its log in the stage's directory."""
        log = self.home / f"{name}.log"
        return Command(name=name, argv=(sys.executable, *argv), log=log, cwd=BASE, env=env, grace_s=25)

    def run(self, argv: tuple[str, ...], env: Mapping[str, str]) -> str:
        """Run one of our Python programs to its end and give what it printed."""
        return firstrun.run(argv, base=BASE, env=env)

    def ask_provider(self, path: str) -> dict[str, Any]:
        """Ask the provider's own figures, or reset it."""
        url = f"http://127.0.0.1:{self.provider_port}{path}"
        # Never through a proxy: the provider is on loopback.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(url, timeout=30) as answer:
            found: dict[str, Any] = json.load(answer)
        return found

    @contextlib.contextmanager
    def cluster(self, *, loops: int, in_flight: int, **settings: str | int) -> Iterator[Child]:
        """Run `manage.py qcluster` while the block runs; it has its slots when the block begins."""
        env = self.env("worker", NOTIFYOPS_LOOPS=loops, NOTIFYOPS_CONCURRENCY=in_flight, **settings)
        child = Child(self.command("qcluster", ("manage.py", "qcluster"), env))
        child.start()
        try:
            with self.owner() as owner:
                wait(lambda: _held_slots(owner) == loops, READY_WITHIN_S, child, "the cluster took no slot")
            yield child
        finally:
            children.stop([child])


def _held_slots(owner: psycopg.Connection[Any]) -> int:
    # 7800 is the family of the loops' advisory locks (notifications/delivery/slots.py).
    row = owner.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND classid = 7800").fetchone()
    return int(row[0]) if row else 0


def wait(done: Callable[[], bool], within_s: float, child: Child, otherwise: str) -> None:
    """Wait until `done`, looking every 20 ms; the end of the child or of the time is a failure."""
    ends_at = time.monotonic() + within_s
    while not done():
        ended = children.has_ended(child.pid)
        if ended or time.monotonic() > ends_at:
            why = "it ended" if ended else f"not within {within_s:.0f} s"
            raise BenchFailed(f"{otherwise}: {why}; its log ends: {tail(child.command.log)}")
        time.sleep(0.02)


def tail(log: Path) -> str:
    """Give a log's last lines in one."""
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return "(no log)"
    return " / ".join(lines[-4:]) or "(empty)"


@contextlib.contextmanager
def raised(*, quick: bool, say: Callable[[str], None]) -> Iterator[Stage]:
    """Set the stage up; take all of it down again, whatever happened."""
    home = Path(tempfile.mkdtemp(prefix="notifyops-bench-"))
    # The database's own user must pass through, and mkdtemp lets nobody in.
    home.chmod(0o711)
    running: list[Child] = []
    sockets: Path | None = None
    try:
        say("  starting PostgreSQL and the provider …")
        password, port = keep.token(home / "password"), free_port()
        server = embedded.prepare(home / "postgres", password=password, port=port)
        sockets = server.sockets
        admin_url = f"postgresql://postgres:{password}@127.0.0.1:{port}/postgres"
        command = server.command(log=home / "postgres.log")
        running.append(postmaster.start(command, admin_url=admin_url, data=server.data))
        provider_port = free_port()
        running.append(_provider(home, provider_port))
        stage = Stage(home, quick, _site(admin_url, home), provider_port, running[0], running[1])
        _furnish(stage)
        yield stage
    finally:
        children.stop(list(reversed(running)))
        if sockets is not None:
            postmaster.remove_sockets(sockets)
        shutil.rmtree(home, ignore_errors=True)


def _provider(home: Path, port: int) -> Child:
    """Start the provider; whoever gets it also ends it."""
    argv = (sys.executable, "-m", "bench.provider", str(port))
    child = Child(Command(name="provider", argv=argv, log=home / "provider.log", cwd=BASE, env=dict(os.environ)))
    child.start()
    return child


def _furnish(stage: Stage) -> None:
    """Make the tables, and let the writer enqueue."""
    wait(lambda: _listens(stage.provider_port), 10, stage.provider, "the provider did not listen")
    keep.folder(stage.home / "home")
    stage.run(("manage.py", "migrate", "-v0"), stage.env("web"))
    firstrun.grant_workspaces(stage.urls["owner"], dsn.role_names(SITE)["writer"])


def _site(admin_url: str, home: Path) -> dict[str, str]:
    """Make the site's roles and database; give each role's address."""
    names = dsn.role_names(SITE)
    passwords = {role: keep.token(home / f"{role}-password") for role in names}
    with psycopg.connect(admin_url, autocommit=True) as admin:
        provision.make_roles(admin, names, passwords)
        provision.make_database(admin, DATABASE, names)
    return {
        role: dsn.with_login(admin_url, user=name, password=passwords[role], database=DATABASE)
        for role, name in names.items()
    }


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def free_port() -> int:
    """Give a port of loopback that nothing listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])

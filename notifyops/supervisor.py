"""Run the whole installation in the foreground: `python -m notifyops.supervisor`, which `make up` becomes.

One process starts PostgreSQL, the sandbox, the console and the cluster, restarts what dies, and ends all of them,
the database last. Linux only: children die with us by the kernel's help.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import IO, Final

from notifyops import children, firstrun, hosting, installation, keep, plan, postmaster, standin
from notifyops.env import BadValue
from notifyops.terminal import say, step
from notifyops.watchdog import Watchdog

ENDINGS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
ANSWER_WITHIN_S: Final = 60.0
LOOK_EVERY_S: Final = 0.1
SWEEP_EVERY: Final = 10  # looks


class Ended(BaseException):
    """We were told to end; not an Exception, so that no handler in between takes it for a fault."""


def main() -> int:
    """Run until told to end; give the exit code. A bad setting or a missing thing is one sentence on stderr."""
    if sys.platform != "linux":
        print("`make up` needs Linux: run the parts by hand elsewhere (see docs/operate.md).", file=sys.stderr)
        return 1
    for sign in ENDINGS:
        signal.signal(sign, _end)
    try:
        from notifyops import settings

        with _only_one(keep.folder(settings.NOTIFYOPS_HOME)), contextlib.ExitStack() as cleanup:
            try:
                _run(plan.read(), cleanup)
            except Ended:
                say("Ending: what is under way is finished first, which may take some seconds ...")
                raise
    except Ended:
        say("Ended.")
        return 0
    except BadValue as bad:
        print(str(bad), file=sys.stderr)
        return 1
    return 0


def _end(number: int, frame: FrameType | None) -> None:
    # Once is enough: a second Ctrl-C must not cut the tidy end short.
    for sign in ENDINGS:
        signal.signal(sign, signal.SIG_IGN)
    raise Ended


@contextlib.contextmanager
def _only_one(home: Path) -> Iterator[None]:
    """Hold the home's lock; the kernel lets it go with us, however we end."""
    with (home / "lock").open("a+", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.seek(0)
            raise BadValue(
                f"An installation runs in {home} already (process {lock.read().strip() or 'unknown'}): "
                f"end that one first, or set NOTIFYOPS_HOME to another directory."
            ) from None
        _note_holder(lock)
        # Children inherit no descriptor, so the lock is ours alone.
        yield


def _note_holder(lock: IO[str]) -> None:
    lock.truncate(0)
    lock.write(str(os.getpid()))
    lock.flush()


def _run(ours: plan.Plan, cleanup: contextlib.ExitStack) -> None:
    children.adopt_orphans()
    cleanup.callback(children.sweep_orphans, [])
    if not hosting.is_free(ours.port):
        raise BadValue(f"Port {ours.port} is in use: end the program that listens there, or set NOTIFYOPS_PORT.")
    say(f"notifyops starts in {ours.home}")
    for sentence in ours.ignored:
        say(f"  {sentence}")
    ours.logs.mkdir(mode=0o700, exist_ok=True)
    sandbox = children.Child(ours.sandbox())
    cleanup.callback(_stop, [sandbox])
    sandbox.start()  # it needs no database, so it warms up while ours does
    database = _database(ours, cleanup)
    installation.write_settings(ours.home, ours.shared_settings())
    cleanup.callback(installation.remove, ours.home)
    found = ours.installation(database.urls)
    installation.write(found)
    with step("tables"):
        firstrun.run(("manage.py", "migrate", "-v0"), base=plan.BASE, env=ours.env())
    found = replace(found, people=firstrun.people(ours.home, base=plan.BASE, env=ours.env()))
    firstrun.grant_workspaces(database.urls["owner"], ours.roles["writer"])
    with step("sandbox"):
        provider = _provider(ours, sandbox)
        provider.wait()
    everyone = [sandbox, *_start_served(ours, cleanup), *([database.child] if database.child else [])]
    installation.write(_with_pids(found, everyone))
    if ours.uses_sandbox and provider.is_ready:  # demo cases have no place in the queue of a site that mails people
        firstrun.play(ours.home, base=plan.BASE, env=ours.env())
    who = next((f"operator: {one.username} / {one.password}" for one in found.people if one.role == "operator"), "")
    say(f"READY {ours.web_url}/reviews/ ({who or 'log in with the account that you know'})")
    _keep(everyone, found, Watchdog(_named(everyone, "qcluster"), database.urls["worker"]), provider)


def _database(ours: plan.Plan, cleanup: contextlib.ExitStack) -> plan.Database:
    if ours.database_url:
        with step("roles on your PostgreSQL"):
            urls = hosting.use_server(
                ours.home, site=ours.site, url=ours.database_url, owner_url=ours.owner_database_url
            )
        return plan.Database(urls)
    with step("PostgreSQL"):
        child, server, urls = hosting.start_embedded(ours.home, site=ours.site, log=ours.logs / "postgres.log")
    cleanup.callback(postmaster.remove_sockets, server.sockets)
    cleanup.callback(_stop, [child])
    return plan.Database(urls, child)


def _provider(ours: plan.Plan, sandbox: children.Child) -> standin.Standin:
    def register() -> None:
        firstrun.webhook_secret(
            ours.home, sandbox_url=ours.sandbox_url, web_url=ours.web_url, key=ours.sandbox_full_key
        )

    return standin.Standin(sandbox, ours.sandbox_url, ours.sandbox_journal, register)


def _start_served(ours: plan.Plan, cleanup: contextlib.ExitStack) -> tuple[children.Child, children.Child]:
    """Start console and cluster; the console knows the secret that the sandbox signs with, now or when it serves."""
    secret = firstrun.kept_secret(ours.home)
    web, cluster = children.Child(ours.web(webhook_secret=secret)), children.Child(ours.cluster())
    cleanup.callback(_stop, [web, cluster])
    with step("console and cluster"):
        web.start()
        cluster.start()
        _await_answer(web, f"{ours.web_url}/readyz")
    return web, cluster


def _await_answer(child: children.Child, url: str) -> None:
    """Wait until the child answers; one that ends instead, or never answers, is a sentence that names its log."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    end = time.monotonic() + ANSWER_WITHIN_S
    while time.monotonic() < end:
        try:
            opener.open(url, timeout=5).close()
            return
        except urllib.error.HTTPError as error:
            error.close()
        except OSError:
            pass
        if children.has_ended(child.pid):
            raise BadValue(f"{child.command.name} ended as soon as it was started: see {child.command.log}.")
        time.sleep(0.05)
    raise BadValue(f"{child.command.name} does not answer at {url}: see {child.command.log}.")


def _keep(
    everyone: list[children.Child], found: installation.Installation, dog: Watchdog, provider: standin.Standin
) -> None:
    """Restart what dies until we are told to end."""
    looks = 0
    while True:
        time.sleep(LOOK_EVERY_S)
        before = [child.pid for child in everyone]
        for child in everyone:
            code = child.tend()
            if code is not None:
                say(f"{child.command.name} ended with code {code} and starts again (log: {child.command.log})")
        provider.look()
        if dog.look():
            say("The cluster claimed nothing for 30 s and was killed; a fresh one starts.")
        if before != [child.pid for child in everyone]:
            installation.write(_with_pids(found, everyone))
        looks += 1
        if looks % SWEEP_EVERY == 0:
            children.sweep_orphans(everyone)


def _with_pids(found: installation.Installation, everyone: list[children.Child]) -> installation.Installation:
    return replace(found, pids={"supervisor": os.getpid()} | {child.command.name: child.pid for child in everyone})


def _named(everyone: list[children.Child], name: str) -> children.Child:
    return next(child for child in everyone if child.command.name == name)


def _stop(some: list[children.Child]) -> None:
    for name in children.stop(some):
        say(f"{name} did not end in time and was killed.")


if __name__ == "__main__":
    sys.exit(main())

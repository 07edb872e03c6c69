"""Run a whole installation for a test: the real supervisor with its own database, sandbox, console and cluster."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from notifyops import children, embedded, postmaster
from tests import postgres

BASE: Final = Path(__file__).resolve().parent.parent
READY_WITHIN_S: Final = 240.0
# The promise is thirty seconds; a shared machine may add its own.
ENDS_WITHIN_S: Final = 40.0
# The shortest times that the ranges allow, so that a test need not wait for a lease.
QUICK: Final = {
    "NOTIFYOPS_PROVIDER_TIMEOUT_S": "2",
    "NOTIFYOPS_LEASE_S": "6",
    "NOTIFYOPS_RETRY_DELAYS_S": "0.2,0.5",
    "NOTIFYOPS_POLL_MAX_MS": "100",
    "NOTIFYOPS_BREAKER_COOLDOWN_S": "1",
    "NOTIFYOPS_UNDO_S": "1",
}


@contextlib.contextmanager
def fresh_home() -> Iterator[Path]:
    """Give an empty data directory that the database's own user can reach, unlike pytest's."""
    home = Path(tempfile.mkdtemp(prefix="notifyops-home-"))
    home.chmod(0o711)
    try:
        yield home
    finally:
        shutil.rmtree(home, ignore_errors=True)
        postmaster.remove_sockets(embedded.socket_path(home / "postgresql"))


def start(home: Path, env: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
    """Start the supervisor on a free port; the caller reads its output and ends it."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("NOTIFYOPS_", "DJANGO_"))}
    ours = {"NOTIFYOPS_HOME": str(home), "NOTIFYOPS_PORT": str(postgres.free_port()), **QUICK, **(env or {})}
    return subprocess.Popen(
        [sys.executable, "-u", "-m", "notifyops.supervisor"],
        cwd=BASE,
        env=plain | ours,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        # A run of the tests that is killed must leave no installation behind.
        preexec_fn=children.die_with(os.getpid(), signal.SIGTERM),  # noqa: PLW1509
    )


@contextlib.contextmanager
def running(*, home: Path, env: Mapping[str, str] | None = None, story: bool = False) -> Iterator[dict[str, Any]]:
    """Run an installation until the block ends; give what installation.json says, its output so far and its pid.

    The first run's story and demo rows take their time and are left out unless asked for.
    """
    if not story:
        (home / "first-run-done").write_text("left out\n", encoding="utf-8")
    process = start(home, env)
    lines: list[str] = []
    reader = threading.Thread(target=_collect, args=(process, lines), daemon=True)
    reader.start()
    try:
        _await_ready(process, lines)
        info: dict[str, Any] = json.loads((home / "installation.json").read_text(encoding="utf-8"))
        yield info | {"lines": lines, "pid": process.pid}
    finally:
        end(process)
        reader.join(5)
        assert process.stdout is not None
        process.stdout.close()


def end(process: subprocess.Popen[str]) -> float:
    """Ask the supervisor to end, and wait; give the seconds it took. Too long is an error, and ends it hard."""
    began = time.monotonic()
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
    try:
        process.wait(ENDS_WITHIN_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        raise
    return time.monotonic() - began


def manage(home: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    """Run a management command as a person in another terminal would: only NOTIFYOPS_HOME is set."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("NOTIFYOPS_", "DJANGO_"))}
    return subprocess.run(
        [sys.executable, "manage.py", *argv],
        cwd=BASE,
        env=plain | {"NOTIFYOPS_HOME": str(home)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def _collect(process: subprocess.Popen[str], lines: list[str]) -> None:
    assert process.stdout is not None
    # The pipe may be closed under us when the test is over.
    with contextlib.suppress(ValueError):
        for line in process.stdout:
            lines.append(line)


def _await_ready(process: subprocess.Popen[str], lines: list[str]) -> None:
    end_at = time.monotonic() + READY_WITHIN_S
    while time.monotonic() < end_at:
        if any(line.startswith("READY ") for line in lines):
            return
        assert process.poll() is None, "the installation ended: " + "".join(lines)
        time.sleep(0.05)
    raise AssertionError("the installation is not ready: " + "".join(lines))

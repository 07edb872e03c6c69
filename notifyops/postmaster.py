"""Start the embedded server and wait until it answers; mend what a power cut or a kill left behind."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import time
from pathlib import Path
from typing import Final

import psycopg

from notifyops import children
from notifyops.env import BadValue

# A crash recovery replays at most a few segments; a disk that is busy may still take its time.
ANSWER_WITHIN_S: Final = 120.0
# After kill -9 the lock is refused until the dead server is collected and its last backend has left.
RETRY_LOCK_FOR_S: Final = 5.0
HELD: Final = re.compile(r"lock file .* already exists|shared memory block .* still in use")
# What the server says, and what to do about it.
CURES: Final = (
    (r"No space left on device", "the disk is full: free some space and start again"),
    (r"could not bind|Address already in use", "its port is taken: start again, and another one is chosen"),
    (r"incompatible with server", "it was made by another version of PostgreSQL: move it away, or use that version"),
    (r"has (group or world access|wrong ownership|invalid permissions)", "its owner or mode was changed: restore them"),
    (r"could not locate a valid checkpoint|PANIC", "it is damaged: restore a backup, or move it away to start anew"),
    (r"Permission denied", "a file there belongs to another user: give it back to the database's user"),
    (r"could not (create|map|resize) .*shared memory", "there is too little shared memory: give /dev/shm more room"),
)


def start(command: children.Command, *, admin_url: str, data: Path) -> children.Child:
    """Start the server and return when it answers; a server that cannot start raises BadValue with the cure."""
    child = children.Child(command)
    give_up_at = time.monotonic() + RETRY_LOCK_FOR_S
    try:
        while True:
            before = command.log.stat().st_size if command.log.exists() else 0
            child.start()
            if _answers(child, admin_url):
                return child
            child.reap()
            said = _new_text(command.log, before)
            if not HELD.search(said) or time.monotonic() > give_up_at:
                raise BadValue(explain(said, data))
            clear_leftovers(data)
            time.sleep(0.2)
    except BaseException:
        children.stop([child])
        raise


def _answers(child: children.Child, admin_url: str) -> bool:
    """Wait for an answer; False when the process has ended instead."""
    end = time.monotonic() + ANSWER_WITHIN_S
    while time.monotonic() < end:
        try:
            psycopg.connect(admin_url, connect_timeout=2).close()
        except psycopg.OperationalError as error:
            if "password authentication failed" in str(error):
                raise BadValue(
                    "The database refuses the password kept in its home: restore the file postgres-password, "
                    "or move the data directory away to start anew."
                ) from error
            if children.has_ended(child.pid):
                return False
            time.sleep(0.03)
        else:
            # Another server may hold the port while ours has already given up.
            return not children.has_ended(child.pid)
    raise BadValue(f"PostgreSQL does not answer after {ANSWER_WITHIN_S:.0f} s: see {child.command.log}.")


def _new_text(log: Path, start: int) -> str:
    with log.open("rb") as file:
        file.seek(start)
        return file.read().decode("utf-8", "replace")


def explain(said: str, data: Path) -> str:
    """Turn the server's own words into a sentence that says what to do."""
    last = [line.strip() for line in said.splitlines() if re.search(r"FATAL|PANIC|ERROR|error:|could not", line)]
    for pattern, cure in CURES:
        if re.search(pattern, said):
            return f"PostgreSQL cannot use {data}: {cure}. It said: {last[-1] if last else said.strip()[-200:]}"
    return f"PostgreSQL did not start on {data}. It said: {last[-1] if last else said.strip()[-200:] or 'nothing'}"


def clear_leftovers(data: Path) -> None:
    """End a server that was left on this directory, and remove a lock whose holder is gone or a zombie.

    The caller holds the home's lock, so no other starter can be using the directory.
    """
    lock = data / "postmaster.pid"
    try:
        lines = lock.read_text(encoding="utf-8").splitlines()
        pid = int(lines[0])
    except FileNotFoundError:
        return
    except (ValueError, IndexError):
        pid, lines = 0, []
    if pid and _serves(pid, data):
        _end(pid, data)
    lock.unlink(missing_ok=True)
    if len(lines) > 4 and lines[4].startswith("/"):
        with contextlib.suppress(OSError):
            Path(lines[4], f".s.PGSQL.{int(lines[3])}.lock").unlink(missing_ok=True)


def _serves(pid: int, data: Path) -> bool:
    """Tell whether the process is a living server on this directory: process ids are reused."""
    if children.parent_and_state(pid)[1] in ("", "Z", "X"):
        return False
    try:
        return Path(os.readlink(f"/proc/{pid}/cwd")) == data.resolve()
    except OSError:
        return False


def _end(pid: int, data: Path) -> None:
    for sign, wait_s in ((signal.SIGINT, 10), (signal.SIGQUIT, 3), (signal.SIGKILL, 2)):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, sign)
            os.kill(pid, signal.SIGCONT)
        end = time.monotonic() + wait_s
        while time.monotonic() < end:
            if not _serves(pid, data):
                return
            time.sleep(0.05)
    raise BadValue(f"An old PostgreSQL (process {pid}) holds {data} and cannot be ended: end it and start again.")


def remove_sockets(folder: Path) -> None:
    """Remove the socket's folder after the server has ended."""
    shutil.rmtree(folder, ignore_errors=True)

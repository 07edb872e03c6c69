"""Child processes that never outlive their parent: start, watch, stop, sweep. Linux only (/proc and prctl)."""

from __future__ import annotations

import contextlib
import ctypes
import os
import pwd
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

PR_SET_PDEATHSIG: Final = 1
PR_SET_CHILD_SUBREAPER: Final = 36
# A child that lived this long was well: its next failure starts counting anew.
WELL_AFTER_S: Final = 10.0
# The first restart comes at once or nearly so; a child that cannot start must not burn a core.
BACKOFF_S: Final = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)

_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True)
class Command:
    """How to run one child. `stop` asks it to end; `death` is what the kernel sends it when we die."""

    name: str
    argv: tuple[str, ...]
    log: Path
    cwd: Path
    env: Mapping[str, str] = field(repr=False)
    user: pwd.struct_passwd | None = None
    stop: signal.Signals = signal.SIGTERM
    death: signal.Signals = signal.SIGKILL
    grace_s: float = 10.0


def spawn(command: Command) -> subprocess.Popen[bytes]:
    """Start the command in a session of its own, so that the terminal's Ctrl-C reaches us alone."""
    user = command.user
    with command.log.open("ab") as log:
        return subprocess.Popen(
            command.argv,
            env=dict(command.env),
            cwd=command.cwd,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            # Runs after the change of user, which would clear it.
            preexec_fn=die_with(os.getpid(), command.death),  # noqa: PLW1509 - we start children from one thread only
            user=user.pw_uid if user else None,
            group=user.pw_gid if user else None,
            extra_groups=[] if user else None,
        )


def die_with(parent: int, death: signal.Signals = signal.SIGKILL) -> Callable[[], None]:
    """Give what a child runs before its program, so that the kernel signals it when process `parent` dies."""

    def prepare() -> None:
        _libc.prctl(PR_SET_PDEATHSIG, int(death))
        # The parent may have died between fork and prctl; then no signal ever comes.
        if os.getppid() != parent:
            os._exit(1)

    return prepare


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent dies, so that none can get away."""
    _libc.prctl(PR_SET_CHILD_SUBREAPER, 1)


@dataclass(slots=True)
class Child:
    """One supervised process. `process` is None before the first start and while a restart is waiting."""

    command: Command
    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0
    failure_count: int = 0
    restart_at: float = 0.0
    restart_count: int = 0

    @property
    def pid(self) -> int:
        """Give the process id, or 0 where none runs."""
        return self.process.pid if self.process else 0

    def start(self) -> None:
        """Start the process now."""
        self.process = spawn(self.command)
        self.started_at = time.monotonic()

    def tend(self) -> int | None:
        """Restart the process if it has ended and its wait is over; give the exit code when it was seen to end."""
        now = time.monotonic()
        if self.process is None:
            if now >= self.restart_at:
                self.restart_count += 1
                self.start()
            return None
        if not has_ended(self.process.pid):
            return None
        code = self.reap()
        self.failure_count = 1 if now - self.started_at > WELL_AFTER_S else self.failure_count + 1
        self.restart_at = now + BACKOFF_S[min(self.failure_count, len(BACKOFF_S)) - 1]
        return code

    def reap(self) -> int:
        """Kill what is left of its group, then collect the process. Its number is not free before that."""
        if self.process is None:
            return 0
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        code = self.process.wait()
        self.process = None
        return code

    def ask_to_stop(self) -> None:
        """Signal the process alone: its own children are its own business until it has ended."""
        if self.process and not has_ended(self.process.pid):
            self.process.send_signal(self.command.stop)
            # A stopped process hears nothing until it goes on.
            self.process.send_signal(signal.SIGCONT)


def stop(children: list[Child]) -> list[str]:
    """Ask all to stop at once, wait for each up to its grace, then kill. Give the names that had to be killed."""
    for child in children:
        child.ask_to_stop()
    asked_at = time.monotonic()
    killed = []
    for child in children:
        while child.pid and not has_ended(child.pid) and time.monotonic() - asked_at < child.command.grace_s:
            time.sleep(0.02)
        if child.pid and not has_ended(child.pid):
            killed.append(child.command.name)
            kill_tree(child.pid)
        child.reap()
    return killed


def has_ended(pid: int) -> bool:
    """Tell whether our child has ended, without collecting it: its number and group stay ours."""
    try:
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return True


def kill_tree(pid: int) -> None:
    """Kill a process and all its descendants, stopped ones included."""
    for each in (pid, *descendants(pid)):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(each, signal.SIGKILL)


def descendants(pid: int) -> list[int]:
    """Give the numbers of all descendants that live now, parents first."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            children.setdefault(parent_and_state(int(entry.name))[0], []).append(int(entry.name))
    found, todo = [], [pid]
    while todo:
        for child in children.get(todo.pop(0), []):
            found.append(child)
            todo.append(child)
    return found


def parent_and_state(pid: int) -> tuple[int, str]:
    """Give a process's parent and state letter (Z is a zombie, T is stopped); (-1, "") where it is gone."""
    try:
        # The name stands in parentheses and may itself hold any character.
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        state, parent = text.rpartition(")")[2].split()[:2]
    except (OSError, ValueError):
        return -1, ""
    return int(parent), state


def sweep_orphans(children: list[Child]) -> None:
    """Kill and collect the processes that fell to us by adoption, such as the remains of a killed cluster."""
    ours = {child.pid for child in children}
    for pid in descendants(os.getpid()):
        if parent_and_state(pid)[0] != os.getpid() or pid in ours:
            continue
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, 0)

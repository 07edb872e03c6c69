"""Children are restarted when they die, end when told to, and never outlive their parent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from notifyops import children
from notifyops.children import Child, Command

DEAF = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"
PARENT = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
print(child.pid, flush=True)
time.sleep(60)
"""


def command(folder: Path, program: str, *, grace_s: float = 5.0) -> Command:
    return Command(
        name="fake",
        argv=(sys.executable, "-c", program),
        log=folder / "fake.log",
        cwd=folder,
        env=dict(os.environ),
        grace_s=grace_s,
    )


def wait_for(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def is_gone(pid: int) -> bool:
    return children.parent_and_state(pid)[1] in ("", "Z", "X")


def test_a_child_that_dies_is_started_again_after_a_wait(tmp_path: Path) -> None:
    child = Child(command(tmp_path, "import time; time.sleep(60)"))
    child.start()
    first = child.pid
    os.kill(first, signal.SIGKILL)
    wait_for(lambda: children.has_ended(first))
    assert child.tend() == -signal.SIGKILL
    assert child.pid == 0
    wait_for(lambda: child.tend() is None and child.pid != 0)
    assert child.pid != first
    assert child.restart_count == 1
    children.stop([child])


def test_a_child_that_cannot_start_waits_longer_each_time(tmp_path: Path) -> None:
    child = Child(command(tmp_path, "raise SystemExit(3)"))
    child.start()
    waits: list[float] = []
    while len(waits) < 3:
        if child.tend() == 3:
            waits.append(child.restart_at - time.monotonic())
        time.sleep(0.01)
    assert waits == sorted(waits)
    assert waits[0] < 0.15 < waits[-1] + 0.1
    children.stop([child])


def test_stopping_lets_a_child_end_by_itself(tmp_path: Path) -> None:
    child = Child(command(tmp_path, "import time; time.sleep(60)"))
    child.start()
    assert children.stop([child]) == []
    assert child.pid == 0


def test_a_deaf_child_is_killed_after_its_grace(tmp_path: Path) -> None:
    child = Child(command(tmp_path, DEAF, grace_s=0.3))
    child.start()
    wait_for(lambda: "up" in (tmp_path / "fake.log").read_text())
    assert children.stop([child]) == ["fake"]


def test_a_stopped_child_hears_that_it_shall_end(tmp_path: Path) -> None:
    child = Child(command(tmp_path, "import time; time.sleep(60)"))
    child.start()
    os.kill(child.pid, signal.SIGSTOP)
    assert children.stop([child]) == []


def test_what_a_dead_child_leaves_in_its_group_is_killed(tmp_path: Path) -> None:
    child = Child(command(tmp_path, PARENT))
    child.start()
    log = tmp_path / "fake.log"
    wait_for(lambda: log.read_text().strip().isdigit())
    grandchild = int(log.read_text())
    os.kill(child.pid, signal.SIGKILL)
    wait_for(lambda: children.has_ended(child.pid))
    child.tend()
    wait_for(lambda: is_gone(grandchild))


def test_a_whole_tree_is_killed_even_when_stopped(tmp_path: Path) -> None:
    child = Child(command(tmp_path, PARENT))
    child.start()
    log = tmp_path / "fake.log"
    wait_for(lambda: log.read_text().strip().isdigit())
    grandchild = int(log.read_text())
    assert children.descendants(child.pid) == [grandchild]
    os.kill(grandchild, signal.SIGSTOP)
    os.kill(child.pid, signal.SIGSTOP)
    children.kill_tree(child.pid)
    wait_for(lambda: children.has_ended(child.pid) and is_gone(grandchild))
    child.reap()


SUPERVISOR = """
import os, sys, time
from pathlib import Path
from notifyops.children import Child, Command, adopt_orphans, sweep_orphans
folder = Path(sys.argv[1])
adopt_orphans()
child = Child(Command("fake", (sys.executable, "-c", sys.argv[2]), folder / "log", folder, dict(os.environ)))
child.start()
print(child.pid, flush=True)
while True:
    time.sleep(0.1)
    sweep_orphans([child])
"""


@pytest.mark.parametrize("program", ["import time; time.sleep(60)", DEAF])
def test_children_die_with_a_parent_that_is_killed(tmp_path: Path, program: str) -> None:
    argv = [sys.executable, "-c", SUPERVISOR, str(tmp_path), program]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert not is_gone(pid)
        parent.kill()
        parent.wait()
        wait_for(lambda: is_gone(pid))


def test_a_process_that_left_its_group_is_found_and_swept(tmp_path: Path) -> None:
    program = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import subprocess, sys, time;" + (
        ' p = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True);'
        " print(p.pid, flush=True)']); import time; time.sleep(60)"
    )
    argv = [sys.executable, "-c", SUPERVISOR, str(tmp_path), program]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]) as parent:
        assert parent.stdout is not None
        parent.stdout.readline()
        log = tmp_path / "log"
        wait_for(lambda: log.exists() and log.read_text().strip().isdigit())
        orphan = int(log.read_text())
        wait_for(lambda: is_gone(orphan))
        parent.kill()


def test_nothing_is_known_about_a_process_that_is_not_there() -> None:
    assert children.parent_and_state(2**22 + 1) == (-1, "")
    assert children.has_ended(2**22 + 1)
    children.kill_tree(2**22 + 1)

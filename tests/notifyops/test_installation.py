"""What the supervisor writes, every other process reads."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest

from notifyops import installation, keep
from notifyops.env import BadValue
from notifyops.installation import Installation, Person


def example(home: Path, *, supervisor: int) -> Installation:
    return Installation(
        web_url="http://127.0.0.1:8000",
        sandbox_url="http://127.0.0.1:8025",
        sandbox_control_url="http://127.0.0.1:8025/__sandbox__",
        database={"owner": "postgresql://o:hunter2@127.0.0.1/notifyops"},
        home=str(home),
        logs=str(home / "logs"),
        people=(Person("olga", "hunter2", "operator"),),
        pids={"supervisor": supervisor},
    )


def test_a_running_installation_is_read_as_it_was_written(tmp_path: Path) -> None:
    written = example(tmp_path, supervisor=os.getpid())
    installation.write(written)
    assert installation.read(tmp_path) == written


def test_its_file_is_private_and_its_repr_shows_no_password(tmp_path: Path) -> None:
    installation.write(example(tmp_path, supervisor=1))
    assert stat.S_IMODE((tmp_path / installation.NAME).stat().st_mode) == 0o600
    assert "hunter2" not in repr(example(tmp_path, supervisor=1))


def test_nothing_runs_where_nothing_was_started_or_the_supervisor_is_gone(tmp_path: Path) -> None:
    assert installation.read(tmp_path / "none") is None
    gone = os.fork()
    if gone == 0:
        os._exit(0)
    os.waitpid(gone, 0)
    installation.write(example(tmp_path, supervisor=gone))
    assert installation.read(tmp_path) is None


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"people": 1, "database": {}, "pids": {}}'])
def test_a_damaged_file_is_a_sentence(tmp_path: Path, text: str) -> None:
    (tmp_path / installation.NAME).write_text(text)
    with pytest.raises(BadValue, match=r"installation\.json is damaged: stop `make up`"):
        installation.read(tmp_path)


def test_settings_of_the_installation_stand_behind_those_of_the_process(tmp_path: Path) -> None:
    found = example(tmp_path, supervisor=1)
    installation.write_settings(
        tmp_path, {"NOTIFYOPS_SITE": "shared", "NOTIFYOPS_LEASE_S": "9", "NOTIFYOPS_UNDO_S": "1"}
    )
    merged = installation.settings_of(found, {"NOTIFYOPS_LEASE_S": "5", "NOTIFYOPS_UNDO_S_FILE": "/x"})
    assert merged == {"NOTIFYOPS_SITE": "shared", "NOTIFYOPS_LEASE_S": "5", "NOTIFYOPS_UNDO_S_FILE": "/x"}
    assert installation.settings_of(None, {"A": "1"}) == {"A": "1"}


def test_a_secret_is_made_once_even_by_racing_starters(tmp_path: Path) -> None:
    found: list[str] = []
    threads = [threading.Thread(target=lambda: found.append(keep.token(tmp_path / "key"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 1
    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["key"]


def test_an_empty_secret_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "key").touch()
    with pytest.raises(BadValue, match="is empty: remove it, and a new one is made"):
        keep.token(tmp_path / "key")


def test_a_home_that_cannot_be_made_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BadValue, match="cannot be made: .*Set NOTIFYOPS_HOME"):
        keep.folder(tmp_path / "file" / "home")

"""The whole installation under its supervisor: first run, accidents, second run, end."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import stat
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from notifyops import children, dsn
from tests import installation as whole
from tests import postgres

pytestmark = pytest.mark.slow


@pytest.fixture
def home() -> Iterator[Path]:
    with whole.fresh_home() as folder:
        yield folder


def wait_for(holds: Callable[[], bool], *, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.1)


def known(home: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((home / "installation.json").read_text(encoding="utf-8"))
    return found


def answers(url: str) -> bool:
    try:
        urllib.request.urlopen(url, timeout=30).close()
    except OSError:
        return False
    return True


def is_gone(pid: int) -> bool:
    return children.parent_and_state(pid)[1] in ("", "Z", "X")


def everything(info: dict[str, Any]) -> list[int]:
    return [info["pid"], *children.descendants(info["pid"])]


def test_a_first_run_is_ready_reachable_and_leaves_nothing(home: Path) -> None:
    with whole.running(home=home, story=True) as info:
        assert "provider messages: 1\n" in info["lines"]
        ready = next(line for line in info["lines"] if line.startswith("READY "))
        olga = next(person for person in info["people"] if person["role"] == "operator")
        assert ready == f"READY {info['web_url']}/reviews/ (operator: olga / {olga['password']})\n"
        assert {person["role"] for person in info["people"]} == {"operator", "lead", "viewer"}
        assert answers(f"{info['web_url']}/readyz")
        for role, url in info["database"].items():
            with psycopg.connect(url) as own:
                assert own.execute("SELECT current_user").fetchone() == (f"notifyops_local_{role}",)
        told = whole.manage(home, "notify", "info", "--json")
        assert json.loads(told.stdout)["web_url"] == info["web_url"], told.stderr
        for name in ("installation.json", "environment.json", "people.json", "postgres-password", "secret-key"):
            assert stat.S_IMODE((home / name).stat().st_mode) == 0o600
        running = everything(info)
        assert len(running) > 10
    assert [pid for pid in running if not is_gone(pid)] == []
    assert [line.partition(":")[0].strip() for line in info["lines"][-2:]] == ["Ending", "Ended."]
    assert not (home / "installation.json").exists()


def test_make_says_before_its_long_step_how_long_that_may_take() -> None:
    made = (whole.BASE / "Makefile").read_text(encoding="utf-8")
    told, _, step = made.partition("-m pip install")
    assert re.search(r'echo "  1\. Installing .*minutes', told)
    assert "  1. is done." in step


def test_the_writer_may_use_the_default_workspace_and_acme(installation: dict[str, Any]) -> None:
    with psycopg.connect(installation["database"]["owner"]) as owner:
        rows = owner.execute("SELECT workspace FROM notifications_workspacegrant ORDER BY 1").fetchall()
    assert [row[0] for row in rows if row[0] in ("", "acme")] == ["", "acme"]


def test_the_sandbox_knows_where_to_send_its_receipts(installation: dict[str, Any]) -> None:
    key = (Path(installation["home"]) / "sandbox-full-key").read_text(encoding="utf-8").strip()
    asked = urllib.request.Request(
        f"{installation['sandbox_url']}/webhooks", headers={"Authorization": f"Bearer {key}"}
    )
    with urllib.request.urlopen(asked, timeout=30) as answer:
        endpoints = [hook["endpoint"] for hook in json.load(answer)["data"]]
    assert endpoints == [f"{installation['web_url']}/api/v1/providers/resend/events"]


def test_an_administrator_is_made_as_the_quickstart_says(installation: dict[str, Any]) -> None:
    page = (whole.BASE / "docs" / "quickstart.md").read_text(encoding="utf-8")
    words = re.findall(r"manage\.py (createsuperuser .*)", page)[0].split()
    made = whole.manage(Path(installation["home"]), *words, "--noinput")
    assert made.returncode == 0, made.stderr
    with psycopg.connect(installation["database"]["owner"]) as owner:
        rows = owner.execute("DELETE FROM auth_user WHERE is_superuser RETURNING username").fetchall()
    assert rows == [("ada",)]


@pytest.mark.parametrize("name", ["web", "sandbox", "qcluster", "postgres"])
def test_whatever_is_killed_comes_back(installation: dict[str, Any], name: str) -> None:
    home = Path(installation["home"])
    before = known(home)["pids"][name]
    os.kill(before, signal.SIGKILL)
    wait_for(lambda: known(home)["pids"].get(name, 0) not in (0, before))
    wait_for(lambda: answers(f"{installation['web_url']}/readyz"))
    wait_for(lambda: not is_gone(known(home)["pids"]["qcluster"]))


def test_a_second_installation_in_the_same_home_is_refused(installation: dict[str, Any]) -> None:
    second = whole.start(Path(installation["home"]))
    said, _ = second.communicate(timeout=60)
    assert second.returncode == 1
    assert said.startswith(f"An installation runs in {installation['home']} already (process {installation['pid']})")


def test_a_second_run_keeps_data_people_and_addresses(home: Path) -> None:
    port = {"NOTIFYOPS_PORT": str(postgres.free_port())}
    with whole.running(home=home, env=port) as first, psycopg.connect(first["database"]["owner"]) as owner:
        before = owner.execute("SELECT count(*) FROM auth_user").fetchone()
    with whole.running(home=home, env=port) as second:
        assert {name: second[name] for name in ("people", "database", "web_url", "sandbox_url")} == {
            name: first[name] for name in ("people", "database", "web_url", "sandbox_url")
        }
        with psycopg.connect(second["database"]["owner"]) as owner:
            assert owner.execute("SELECT count(*) FROM auth_user").fetchone() == before


def test_a_killed_supervisor_leaves_nothing_and_the_next_one_starts(home: Path) -> None:
    with whole.running(home=home) as info:
        running = everything(info)
        os.kill(info["pid"], signal.SIGKILL)
        wait_for(lambda: all(is_gone(pid) for pid in running), seconds=30)
    told = whole.manage(home, "notify", "info")
    assert told.returncode == 1
    assert "Nothing runs in" in told.stderr
    with whole.running(home=home) as again:
        assert answers(f"{again['web_url']}/readyz")


def test_a_signal_in_the_middle_of_the_start_leaves_nothing(home: Path) -> None:
    process = whole.start(home)
    assert process.stdout is not None
    for line in process.stdout:
        if "tables" in line:
            break
    running = children.descendants(process.pid)
    assert whole.end(process) < whole.ENDS_WITHIN_S
    process.stdout.close()
    assert process.returncode == 0
    assert [pid for pid in running if not is_gone(pid)] == []


def test_a_taken_port_is_a_sentence(home: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        process = whole.start(home, {"NOTIFYOPS_PORT": str(port)})
        said, _ = process.communicate(timeout=60)
    assert process.returncode == 1
    assert said == f"Port {port} is in use: end the program that listens there, or set NOTIFYOPS_PORT.\n"


def test_a_bad_setting_is_a_sentence(home: Path) -> None:
    process = whole.start(home, {"NOTIFYOPS_SITE": "My Site"})
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 1
    assert said == "NOTIFYOPS_SITE is 'My Site': it must be 1 to 20 of the characters a-z, 0-9 and _.\n"


def test_a_broken_sandbox_does_not_hold_up_the_rest(home: Path) -> None:
    (home / "sandbox.journal").write_text("not json\n", encoding="utf-8")
    with whole.running(home=home) as info:
        assert answers(f"{info['web_url']}/readyz")
        said = "".join(info["lines"])
        assert f"What it remembers is in {home}/sandbox.journal: to begin anew" in said
        (home / "sandbox.journal").unlink()
        wait_for(lambda: "The sandbox serves now.\n" in info["lines"])
        key = (home / "sandbox-full-key").read_text(encoding="utf-8").strip()
        asked = urllib.request.Request(f"{info['sandbox_url']}/webhooks", headers={"Authorization": f"Bearer {key}"})
        with urllib.request.urlopen(asked, timeout=30) as answer:
            (hook,) = json.load(answer)["data"]
        assert hook["signing_secret"] == (home / "sandbox-webhook-secret").read_text(encoding="utf-8").strip()


def test_somebody_elses_postgresql_serves_as_well(home: Path, admin_url: str) -> None:
    with psycopg.connect(admin_url, autocommit=True) as admin:
        admin.execute("CREATE DATABASE outside")
    url = dsn.write(dsn.read(admin_url, name="url") | {"dbname": "outside"})
    env = {"NOTIFYOPS_DATABASE_URL": url, "NOTIFYOPS_SITE": "outside"}
    try:
        with whole.running(home=home, env=env) as info:
            assert "postgres" not in info["pids"]
            with psycopg.connect(info["database"]["web"]) as web:
                assert web.execute("SELECT current_user").fetchone() == ("notifyops_outside_web",)
            # A command in another terminal finds the site by the home alone.
            told = whole.manage(home, "migrate", "--check")
            assert told.returncode == 0, told.stderr
    finally:
        with psycopg.connect(admin_url, autocommit=True) as admin:
            admin.execute("DROP DATABASE outside WITH (FORCE)")

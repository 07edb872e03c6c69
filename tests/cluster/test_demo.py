"""`notify demo` on an installation whose parts this test runs itself."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from notifyops import installation
from tests.cluster.machine import ROOT, Field

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]


def installed(field: Field, home: Path) -> None:
    """Say in the home that this test is a running installation."""
    found = installation.Installation(
        web_url="http://127.0.0.1:1",
        sandbox_url=field.sandbox.url,
        sandbox_control_url=field.sandbox.control_url,
        database={"worker": field.env["NOTIFYOPS_DATABASE_URL"], "web": field.web_url},
        home=str(home),
        logs=str(home),
        pids={"supervisor": os.getpid()},
    )
    installation.write(found)
    installation.write_settings(home, {"NOTIFYOPS_SITE": field.env["NOTIFYOPS_SITE"]})


def demo(home: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run it as a person in another terminal does: only NOTIFYOPS_HOME is set."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("NOTIFYOPS_", "DJANGO_"))}
    return subprocess.run(
        [sys.executable, "manage.py", "notify", "demo", *arguments],
        cwd=ROOT,
        env={**plain, "NOTIFYOPS_HOME": str(home), **more},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def test_the_story_ends_with_one_message_each_time_and_with_two_under_new_keys(field: Field, tmp_path: Path) -> None:
    installed(field, tmp_path)
    field.start()
    for _ in range(2):
        told = demo(tmp_path)
        assert (told.stdout, told.stderr) == ("retry 1 1\naccepted 2 1\nprovider messages: 1\n", "")
        assert told.returncode == 0
    (first, second) = field.owner.execute("SELECT id, provider_message_id FROM notifyops.intents").fetchall()
    for key, message in (first, second):
        row = field.sandbox.ledger(key)
        assert (row.accepted, row.http_requests, row.ids) == (1, 2, [message])
        assert [entry["kind"] for entry in field.log(key)] == ["claimed", "result", "claimed", "result"]

    naive = demo(tmp_path, "--new-key-each-attempt")
    lines = naive.stdout.splitlines()
    assert (lines[:2], lines[-1], naive.returncode) == (["retry 1 1", "accepted 2 2"], "provider messages: 2", 0)
    assert "under a new key" in lines[2]


def test_without_an_installation_it_says_how_to_start_one(field: Field, tmp_path: Path) -> None:
    told = demo(tmp_path)
    assert (told.returncode, told.stdout) == (1, "")
    assert told.stderr.startswith(f"No installation runs in {tmp_path}")
    assert "`make up`" in told.stderr


def test_where_real_people_could_be_mailed_it_refuses(field: Field, tmp_path: Path) -> None:
    installed(field, tmp_path)
    told = demo(tmp_path, NOTIFYOPS_SITE_MODE="live")
    assert (told.returncode, told.stdout) == (1, "")
    assert "NOTIFYOPS_SITE_MODE is live" in told.stderr


def test_without_a_cluster_it_gives_up_with_a_sentence(field: Field, tmp_path: Path) -> None:
    installed(field, tmp_path)
    told = demo(tmp_path, "--give-up-after", "1")
    assert (told.returncode, told.stdout) == (1, "")
    assert "is still pending after 1 s. Is the cluster running?" in told.stderr


def test_with_a_sandbox_that_is_gone_it_says_so(field: Field, tmp_path: Path) -> None:
    installed(field, tmp_path)
    lost = installation.read(tmp_path)
    assert lost is not None
    control = "http://127.0.0.1:9/__sandbox__"
    path = tmp_path / installation.NAME
    path.write_text(path.read_text(encoding="utf-8").replace(lost.sandbox_control_url, control), encoding="utf-8")
    told = demo(tmp_path)
    assert (told.returncode, told.stdout) == (1, "")
    assert f"The sandbox at {control} does not do what the demo needs" in told.stderr

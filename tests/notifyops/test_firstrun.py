"""What a first run prints of its demo."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from notifications.sandbox.app import running_sandbox
from notifyops import firstrun
from tests.sandbox.callers import call


def test_the_demo_is_printed_as_it_is_and_played_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "manage.py").write_text("import sys\nprint(sys.argv[-1], 'played')\nprint('  its detail')\n")
    for _run in range(2):
        firstrun.play(tmp_path, base=tmp_path, env=os.environ)
    assert capsys.readouterr().out == "demo played\n  its detail\nseed_demo played\n  its detail\n"


def test_a_secret_rotated_at_the_sandbox_takes_the_place_of_the_kept_one(tmp_path: Path) -> None:
    with running_sandbox() as sandbox:
        place = {"sandbox_url": sandbox.url, "web_url": "http://127.0.0.1:8000", "key": sandbox.full_key}
        first = firstrun.webhook_secret(tmp_path, **place)
        assert firstrun.webhook_secret(tmp_path, **place) == first
        (hook,) = call(sandbox, "GET", "/webhooks").json["data"]
        new = call(sandbox, "POST", f"/webhooks/{hook['id']}/signing-secret/rotate").json["signing_secret"]
        assert firstrun.webhook_secret(tmp_path, **place) == new != first
        assert (tmp_path / "sandbox-webhook-secret").read_text("utf-8").strip() == new


def test_a_lost_secret_is_read_back_and_nothing_registered_twice(tmp_path: Path) -> None:
    with running_sandbox() as sandbox:
        place = {"sandbox_url": sandbox.url, "web_url": "http://127.0.0.1:8000", "key": sandbox.full_key}
        first = firstrun.webhook_secret(tmp_path, **place)
        (tmp_path / "sandbox-webhook-secret").unlink()
        assert firstrun.webhook_secret(tmp_path, **place) == first
        assert len(call(sandbox, "GET", "/webhooks").json["data"]) == 1


def test_a_sandbox_that_serves_later_gets_the_secret_that_the_console_knows(tmp_path: Path) -> None:
    with running_sandbox() as sandbox:
        place = {"sandbox_url": sandbox.url, "web_url": "http://127.0.0.1:8000", "key": sandbox.full_key}
        known = firstrun.webhook_secret(tmp_path, **{**place, "sandbox_url": "http://127.0.0.1:1"})
        assert firstrun.kept_secret(tmp_path) == known
        assert firstrun.webhook_secret(tmp_path, **place) == known
        assert call(sandbox, "GET", "/webhooks").json["data"][0]["signing_secret"] == known

"""The clients of docs/http-clients.md, as they stand there, against a served site."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from pytest_django.live_server_helper import LiveServer

from notifications.models import Intent
from tests.api.callers import caller

pytestmark = [pytest.mark.django_db(transaction=True, databases=["default", "owner"]), pytest.mark.slow]
DOC = Path(__file__).parents[2] / "docs" / "http-clients.md"
KEY = "report-ready/demo-report-001"
# Name of the example → the program that runs it, its arguments, the file that it wants the text in.
LANGUAGES = {
    "curl": ("bash", ("-c",), None),
    "python": (sys.executable, ("-c",), None),
    "node": ("node", ("--input-type=module", "-e"), None),
    "go": ("go", ("run",), "main.go"),
    "php": ("php", (), "main.php"),
}
HERE = {"curl", "python", "node"}


def client(name: str) -> str:
    found = re.search(rf"<!-- client: {name} -->\n```\w+\n(.*?)```", DOC.read_text("utf-8"), re.DOTALL)
    assert found, name
    return found[1]


def run(name: str, text: str, url: str, token: str, folder: Path) -> subprocess.CompletedProcess[str]:
    program, arguments, file = LANGUAGES[name]
    last = text
    if file:
        (folder / file).write_text(text, "utf-8")
        last = str(folder / file)
    plain = {key: value for key, value in os.environ.items() if "proxy" not in key.lower()}
    env = plain | {"NOTIFYOPS_URL": url, "NOTIFYOPS_TOKEN": token, "GOCACHE": str(folder / "go")}
    command = [program, *arguments, last]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=180, check=False)


@pytest.mark.parametrize("name", list(LANGUAGES))
def test_the_client_of_the_docs_owes_once_and_tells_a_refusal(
    name: str, live_server: LiveServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if shutil.which(LANGUAGES[name][0]) is None:
        assert name not in HERE, f"{name} is needed"
        with capsys.disabled():
            print(f"\nnot run: this machine has no {name}, so its client in docs/http-clients.md was not tried")  # noqa: T201
        return
    shop = caller("enqueue", "read")
    for created in (True, False):
        done = run(name, client(name), live_server.url, shop.token, tmp_path)
        assert done.returncode == 0, done.stderr
        if name == "curl":
            made = json.loads(done.stdout)
            assert (made["notification_id"], made["created"]) == (KEY, created)
        else:
            assert done.stdout.lower() == f"{KEY} pending {created}\n".lower()
    assert Intent.objects.count() == 1
    refused = run(
        name, client(name).replace('Q3"', 'Q4"').replace("'Q3'", "'Q4'"), live_server.url, shop.token, tmp_path
    )
    assert refused.returncode != 0
    assert "key_reused" in refused.stdout + refused.stderr

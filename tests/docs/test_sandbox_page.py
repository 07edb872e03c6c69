"""docs/sandbox.md: its tables are the code's, and its trial goes as it says, command by command."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from notifications.sandbox import breakage, control, courier
from notifications.sandbox.app import running_sandbox
from tests.docs.test_pages import page, section
from tests.installation import BASE, fresh_home, running
from tests.sandbox.callers import call

# Spelled out once below the table, and a second name of `seconds`.
ANSWER = set(breakage._ANSWER)
WITHIN_S = 120.0


def table(text: str, head: str) -> dict[str, set[str]]:
    """Give each kind of a table with its fields."""
    rows = text[text.index(head) :].split("\n\n")[0].splitlines()[2:]
    cells = [[cell.strip() for cell in row.strip("| ").split("|")] for row in rows]
    return {
        kind.strip("`"): set(re.findall(r"`(\w+)`", fields)) | (ANSWER if "the answer" in fields else set())
        for kind, fields, _ in cells
    }


def blocks(heading: str) -> list[list[str]]:
    """Give the commands of each block of a section."""
    found = re.findall(r"^```\n(.*?)^```", section(page("sandbox.md"), heading), re.MULTILINE | re.DOTALL)
    return [block.splitlines() for block in found]


def test_every_kind_of_fault_stands_there_with_its_fields() -> None:
    text = page("sandbox.md")
    assert table(text, "| kind | its own fields") == {kind: set(fields) for kind, fields in breakage.KINDS.items()}
    hooks = {kind: set(fields) - {"s"} for kind, fields in courier.KINDS.items()}
    assert table(text, "| kind of `webhook-faults`") == hooks


def test_every_call_of_the_control_plane_stands_there() -> None:
    rows = re.findall(r"^\| (`(?:GET|POST|DELETE) .*?) \|", section(page("sandbox.md"), "Control plane"), re.MULTILINE)
    told = set[tuple[str, str]]()
    for row in rows:
        names = re.findall(r"`(?:[A-Z]+ )?([a-z-]+)", row)
        told |= {(row[1:].split()[0], name) for name in names}
    assert told == {*control.ORDERS, control.HEALTH}


def test_the_example_of_a_refusal_is_answered_with_422() -> None:
    (example,) = next(block for block in blocks("Control plane") if block[0].startswith("curl"))
    with running_sandbox() as sandbox:
        curl(example, {"CONTROL": sandbox.control_url})
        mail = {"from": "reports@example.com", "to": "ana@example.com", "subject": "Q3", "text": "Q3"}
        refused = call(sandbox, "POST", "/emails", mail, idempotency_key="report-ready/demo-8")
        assert (refused.status, refused.name) == (422, "validation_error")
        assert sandbox.ledger("report-ready/demo-8").accepted == 0


@pytest.mark.slow
def test_the_trial_of_a_lost_answer_has_both_its_endings() -> None:
    """As written, but for a second attempt after 20 seconds instead of a minute."""
    short, long = blocks("The most useful trial")
    with fresh_home() as home, running(home=home, env={"NOTIFYOPS_RETRY_DELAYS_S": "20,20"}):
        env = {**os.environ, "NOTIFYOPS_HOME": str(home)}
        variables = {"CONTROL": shell(short[0].removeprefix("CONTROL=$(").removesuffix(")"), env).strip()}
        for block in (short, long):
            for line in block[:-1]:
                if line.startswith("curl"):
                    curl(line, variables)
                elif not line.startswith("CONTROL="):
                    shell(line, env)

        def log_of(key: str) -> list[str]:
            show = f".venv/bin/python manage.py notify show report-ready/{key} --json"
            return [entry["kind"] for entry in json.loads(shell(show, env))["log"]]

        until(lambda: "settled" in log_of("demo-7"))
        until(lambda: curl(long[-1], variables)["replays"] == 1)
        ledger = {key: curl(line, variables) for key, line in (("short", short[-1]), ("long", long[-1]))}
        assert [(one["http_requests"], one["replays"], one["accepted"]) for one in ledger.values()] == [
            (1, 0, 1),
            (2, 1, 1),
        ]
        until(lambda: log_of("demo-9")[-1] == "result")
        assert "settled" not in log_of("demo-9")


def curl(line: str, variables: Mapping[str, str]) -> dict[str, Any]:
    """Do what a line with curl does; the machine of a test may lack it."""
    for name, value in variables.items():
        line = line.replace(f"${name}", value)
    words = shlex.split(line)
    assert words[:2] == ["curl", "-s"]
    data = words[words.index("-d") + 1].encode() if "-d" in words else None
    with urllib.request.urlopen(words[2], data, timeout=30) as answer:
        found: dict[str, Any] = json.load(answer)
    return found


def shell(line: str, env: Mapping[str, str]) -> str:
    """Run a line as a person would, with the interpreter of the tests."""
    line = line.replace(".venv/bin/python", shlex.quote(sys.executable)).replace("python3 ", f"{sys.executable} ")
    done = subprocess.run(
        ["/bin/sh", "-c", line], cwd=BASE, env=env, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, f"{line}: {done.stderr}"
    return done.stdout


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + WITHIN_S
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.3)

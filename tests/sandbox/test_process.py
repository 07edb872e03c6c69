"""The sandbox as a process: both ways to start it, its options, its end, a kill and a full disk."""

from __future__ import annotations

import json
import os
import resource
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.sandbox.callers import MESSAGE

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
MODULE = (sys.executable, "-m", "notifications.sandbox")
EMPTY: Mapping[str, str] = {}
COMMAND = (sys.executable, "manage.py", "sandbox")


class Process:
    """A started sandbox that said it was ready."""

    def __init__(self, child: subprocess.Popen[str], url: str) -> None:
        self.child = child
        self.url = url

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        wanted = {"authorization": "Bearer re_sandbox_full", "user-agent": "tests"}
        wanted |= {name.replace("_", "-"): value for name, value in headers.items()}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, wanted, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.loads(error.read())


@contextmanager
def started(
    *options: str, program: tuple[str, ...] = MODULE, environment: Mapping[str, str] = EMPTY
) -> Iterator[Process]:
    child = subprocess.Popen(
        [*program, *options],
        cwd=ROOT,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with child:
        try:
            assert child.stdout is not None
            line = child.stdout.readline()
            assert line.startswith("sandbox ready http://127.0.0.1:"), line + (
                child.stderr.read() if child.stderr else ""
            )
            yield Process(child, line.split()[-1])
        finally:
            child.kill()


def ended(
    *options: str, program: tuple[str, ...] = MODULE, environment: Mapping[str, str] = EMPTY
) -> subprocess.CompletedProcess[str]:
    """Start a sandbox that must refuse, and give what it said."""
    return subprocess.run(
        [*program, *options],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_it_is_ready_within_a_second_and_needs_no_database() -> None:
    began = time.monotonic()
    with started(
        "--port", "0", environment={"NOTIFYOPS_DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none"}
    ) as sandbox:
        # The wall clock of a loaded test machine is no measure; the processor time of the child is.
        ready_s = time.monotonic() - began
        ticks = Path(f"/proc/{sandbox.child.pid}/stat").read_text().rpartition(")")[2].split()[11:13]
        used_s = sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")
        assert min(ready_s, used_s) < 1.0
        assert sandbox.ask("POST", "/emails", MESSAGE)[0] == 200


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_at_once_even_with_calls_in_hand(number: signal.Signals) -> None:
    with started("--port", "0", "--control") as sandbox:
        sandbox.ask("POST", "/__sandbox__/faults", {"kind": "hang"})
        with socket.create_connection(("127.0.0.1", int(sandbox.url.rpartition(":")[2])), timeout=60) as connection:
            connection.sendall(b"GET /emails HTTP/1.1\r\nUser-Agent: t\r\n\r\n")
            time.sleep(0.1)
            sandbox.child.send_signal(number)
            assert sandbox.child.wait(timeout=30) == 0
        assert sandbox.child.stderr is not None
        assert sandbox.child.stderr.read() == ""


def test_keys_come_from_the_environment_and_options_turn_knobs() -> None:
    options = ("--port", "0", "--control", "--rate", "7", "--domain", "acme.example", "--daily-quota", "1")
    keys = {"NOTIFYOPS_SANDBOX_FULL_KEY": "re_full_2", "NOTIFYOPS_SANDBOX_SENDING_KEY": "re_send_2"}
    with started(*options, "--latency", "0.01", "--lenient-digest", "--remember-errors", environment=keys) as sandbox:
        config = sandbox.ask("GET", "/__sandbox__/config")[1]
        assert (config["full_key"], config["sending_key"]) == ("re_full_2", "re_send_2")
        assert (config["rate_per_s"], config["domains"], config["daily_quota"]) == (7, ["acme.example"], 1)
        assert (config["latency_s"], config["strict_digest"], config["remember_errors"]) == (0.01, False, True)


def test_the_port_comes_from_the_environment_unless_given() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with started(environment={"NOTIFYOPS_SANDBOX_PORT": str(port)}) as sandbox:
        assert sandbox.url == f"http://127.0.0.1:{port}"
        taken = ended(environment={"NOTIFYOPS_SANDBOX_PORT": str(port)})
    assert taken.returncode == 1
    assert taken.stderr.count("\n") == 1
    assert "choose another port" in taken.stderr


@pytest.mark.parametrize(
    ("options", "environment", "said"),
    [
        (("--port", "x"), {}, "not a port"),
        (("--port", "65536"), {}, "not a port"),
        ((), {"NOTIFYOPS_SANDBOX_PORT": "x"}, "NOTIFYOPS_SANDBOX_PORT: 'x' is not a port"),
        (("--rate", "fast"), {}, "not a rate"),
        (("--rate", "0"), {}, "not a rate"),
        (("--daily-quota", "0", "--port", "0"), {}, "'daily_quota'"),
        (("--latency", "-1", "--port", "0"), {}, "'latency_s'"),
        (("--latency", "nan", "--port", "0"), {}, "'latency_s'"),
        (("--host", "no such host", "--port", "0"), {}, "cannot listen"),
        (("--journal", "/dev/null", "--port", "0"), {}, "not a regular file"),
        (("--port", "0"), {"NOTIFYOPS_SANDBOX_FULL_KEY": " "}, "'full_key'"),
        (("--port", "0"), {"NOTIFYOPS_SANDBOX_FULL_KEY": "re_sandbox_sending"}, "must differ"),
    ],
)
def test_a_bad_option_is_refused_with_a_sentence(
    options: tuple[str, ...], environment: dict[str, str], said: str
) -> None:
    refused = ended(*options, environment=environment)
    assert refused.returncode in (1, 2)
    assert said in refused.stderr
    assert "Traceback" not in refused.stderr


def test_manage_py_starts_the_same_sandbox_and_refuses_alike() -> None:
    with started("--port", "0", program=COMMAND) as sandbox:
        assert sandbox.ask("POST", "/emails", MESSAGE)[0] == 200
        assert sandbox.ask("GET", "/__sandbox__/ledger")[0] == 404
        refused = ended("--port", sandbox.url.rpartition(":")[2], program=COMMAND)
        assert refused.returncode == 1
        assert "cannot listen" in refused.stderr
        assert "Traceback" not in refused.stderr
        sandbox.child.terminate()
        assert sandbox.child.wait(timeout=30) == 0


def test_a_killed_sandbox_remembers_what_it_accepted(tmp_path: Path) -> None:
    options = ("--port", "0", "--control", "--journal", str(tmp_path / "j"))
    with started(*options) as sandbox:
        accepted = [sandbox.ask("POST", "/emails", MESSAGE, idempotency_key=f"k{n}")[1]["id"] for n in range(20)]
        sandbox.child.kill()
        sandbox.child.wait(timeout=30)
    with started(*options) as sandbox:
        again = [sandbox.ask("POST", "/emails", MESSAGE, idempotency_key=f"k{n}")[1]["id"] for n in range(20)]
        assert again == accepted
        totals = sandbox.ask("GET", "/__sandbox__/ledger")[1]
        assert (totals["accepted"], totals["replays"], totals["twice_count"]) == (20, 20, 0)


def test_a_full_disk_refuses_what_it_could_not_remember(tmp_path: Path) -> None:
    journal = tmp_path / "j"
    options = ("--port", "0", "--control", "--journal", str(journal), "--delivery-delay", "600")
    with started(*options) as sandbox:
        assert sandbox.ask("POST", "/emails", MESSAGE)[0] == 200
        # Room for a part of one more line: the write is cut in the middle.
        limit = journal.stat().st_size + 100
        resource.prlimit(sandbox.child.pid, resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
        status, body = sandbox.ask("POST", "/emails", MESSAGE)
        assert (status, body["name"]) == (500, "application_error")
        assert len(sandbox.ask("GET", "/emails")[1]["data"]) == 1
        resource.prlimit(sandbox.child.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        assert sandbox.ask("POST", "/emails", MESSAGE)[0] == 200
    with started(*options) as sandbox:
        assert len(sandbox.ask("GET", "/emails")[1]["data"]) == 2

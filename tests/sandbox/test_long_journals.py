"""A journal of a busy life: shortened to what a restart needs, read without deafness, and left in no time."""

from __future__ import annotations

import asyncio
import json
import shutil
import signal
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from notifications.sandbox.app import RunningSandbox, Server, running_sandbox
from notifications.sandbox.compact import WORTH_IT_LINES
from notifications.sandbox.journal import Journal
from notifications.sandbox.knobs import Knobs
from tests.postgres import free_port
from tests.sandbox.callers import call, send
from tests.sandbox.receiver import Receiver, register
from tests.sandbox.test_process import MODULE, ROOT

IDLE = b'{"fact":"clock","offset_s":0.0}\n'


def told(sandbox: RunningSandbox) -> dict[str, Any]:
    """Give all that a client can see of the past."""
    mails = call(sandbox, "GET", "/emails").json["data"]
    keys = ("twice", "batch", "asked", "plain")
    return {
        "mails": [call(sandbox, "GET", f"/emails/{mail['id']}").json for mail in mails],
        "ledger": [sandbox.order("GET", "ledger", {"key": key}) for key in keys],
        "totals": sandbox.order("GET", "ledger"),
        "webhooks": call(sandbox, "GET", "/webhooks").json["data"],
        "suppressions": call(sandbox, "GET", "/suppressions").json["data"],
        "now_s": round(sandbox.order("POST", "clock", {"advance": 0})["offset_s"]),
    }


def test_a_shortened_journal_tells_a_restart_the_same(tmp_path: Path, receiver: Receiver) -> None:
    long, receiver.statuses = tmp_path / "j", [500] * 50
    with running_sandbox(journal=long, delivery_delay_s=600) as sandbox:
        register(sandbox, receiver, ["email.sent"])
        call(sandbox, "POST", "/suppressions", {"email": "sam@example.com"})
        send(sandbox, "twice")
        sandbox.clock(86_400)
        again = send(sandbox, "twice")
        send(sandbox, "twice")
        message = {"from": "a@example.com", "to": "b@example.com", "subject": "s", "text": "t"}
        batch = call(sandbox, "POST", "/emails/batch", [message] * 3, idempotency_key="batch")
        send(sandbox, "batch")
        assert send(sandbox, "asked", to="nonsense").status == 422
        send(sandbox)
        send(sandbox, "plain", scheduled_at="in 1 hour")
        before = told(sandbox)
        unsent = len(sandbox.attempts())
    with long.open("ab") as lines:
        lines.write(b'{"fact":"clock","offset_s":86400.0}\n' * WORTH_IT_LINES)
    for _start in range(2):
        with running_sandbox(journal=long, delivery_delay_s=600, retry_scale=1_000) as sandbox:
            assert len(long.read_bytes().splitlines()) < 40
            assert told(sandbox) == before
            assert send(sandbox, "twice").raw == again.raw
            assert call(sandbox, "POST", "/emails/batch", [message] * 3, idempotency_key="batch").raw == batch.raw
            before = told(sandbox)
    kept = [json.loads(line) for line in long.read_bytes().splitlines()]
    assert len([fact for fact in kept if fact["fact"] == "hook"]) == unsent > 0
    assert not (tmp_path / "j.new").exists()


def test_a_journal_that_cannot_be_written_anew_stays_as_it_is(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    journal = tmp_path / "j"
    journal.write_bytes(b'{"fact":"request","key":"k"}\n' * WORTH_IT_LINES)
    (tmp_path / "j.new").mkdir()
    with running_sandbox(journal=journal) as sandbox:
        assert sandbox.ledger("k").http_requests == WORTH_IT_LINES
        send(sandbox, "k2")
    assert len(journal.read_bytes().splitlines()) > WORTH_IT_LINES
    assert "the journal stays as long as it is" in capfd.readouterr().err


def test_a_short_journal_is_left_alone(tmp_path: Path) -> None:
    journal = tmp_path / "j"
    journal.write_bytes(b'{"fact":"request","key":"k"}\n' * 5)
    with running_sandbox(journal=journal):
        assert journal.read_bytes().count(b"request") == 5


async def _get(port: int, path: str) -> tuple[int, bytes, bytes]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: s\r\nUser-Agent: t\r\nConnection: close\r\n\r\n".encode())
    head, _, body = (await reader.read()).partition(b"\r\n\r\n")
    writer.close()
    return int(head.split()[1]), head, body


def test_a_sandbox_that_reads_says_so_and_puts_calls_off_without_a_failure(tmp_path: Path) -> None:
    """Turns of the event loop are counted, not seconds: it has hundreds of them while it reads."""
    (tmp_path / "j").write_bytes(IDLE * 300_000)

    async def story() -> None:
        server, port = Server(Knobs(), Journal(tmp_path / "j"), with_control=True), free_port()
        starting = asyncio.ensure_future(server.start("127.0.0.1", port))
        while server._server is None:
            await asyncio.sleep(0)
        status, _, body = await _get(port, "/__sandbox__/health")
        health = json.loads(body)
        assert (status, health["state"], health["journal_bytes"]) == (200, "reading", 300_000 * len(IDLE))
        assert 0 < health["read_bytes"] < health["journal_bytes"]
        status, head, _ = await _get(port, "/emails")
        assert status == 429
        assert b"retry-after: 5" in head
        assert (await _get(port, "/__sandbox__/ledger"))[0] == 429
        assert not starting.done()
        await starting
        assert json.loads((await _get(port, "/__sandbox__/health"))[2])["state"] == "ready"
        server.stop()

    asyncio.run(story())


@pytest.mark.slow
def test_a_sandbox_that_reads_ends_when_it_is_told(tmp_path: Path) -> None:
    (tmp_path / "j").write_bytes(IDLE * 1_000_000)
    port = free_port()
    argv = [*MODULE, "--port", str(port), "--control", "--journal", str(tmp_path / "j")]
    with subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        end = time.monotonic() + 60
        while not _is_reading(port):
            assert time.monotonic() < end, "it never listened"
        child.send_signal(signal.SIGTERM)
        said, complained = child.communicate(timeout=60)
    assert (child.returncode, said, complained) == (0, b"", b"")


def _is_reading(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/__sandbox__/health", timeout=30) as answer:
            return bool(json.load(answer)["state"] == "reading")
    except urllib.error.URLError:
        return False


def test_a_journal_that_was_shortened_under_ones_hands_is_not_taken(tmp_path: Path, receiver: Receiver) -> None:
    """Both would write, one of them to a file without a name."""
    journal = tmp_path / "j"
    journal.write_bytes(b'{"fact":"request","key":"k"}\n' * WORTH_IT_LINES)
    shutil.copy(journal, tmp_path / "before")
    with running_sandbox(journal=journal) as first:
        assert journal.stat().st_size < (tmp_path / "before").stat().st_size
        send(first, "new")
        with pytest.raises(Exception, match="in use by another sandbox"), running_sandbox(journal=journal):
            pass

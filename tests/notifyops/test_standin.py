"""The supervisor and a sandbox that is slow or broken."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from notifications.sandbox.app import running_sandbox
from notifyops import children, standin
from tests.postgres import free_port

ENDS = ("-c", "raise SystemExit(1)")
# Stands for a sandbox with a journal of 258 MB: it answers its health and nothing else, as ours does meanwhile.
READS = (
    "-c",
    """
import http.server, sys
class Health(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers()
        self.wfile.write(b'{"state": "reading", "read_bytes": 1, "journal_bytes": 258000000}')
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Health).serve_forever()
""",
)


def stands(folder: Path, argv: tuple[str, ...], port: int, registered: list[str]) -> standin.Standin:
    log = folder / "sandbox.log"
    command = children.Command("sandbox", (sys.executable, *argv, str(port)), log, folder, dict(os.environ))
    child = children.Child(command)
    child.start()
    url, journal = f"http://127.0.0.1:{port}", folder / "sandbox.journal"
    return standin.Standin(child, url, journal, lambda: registered.append("once"))


@pytest.mark.slow
def test_one_that_reads_is_named_with_its_size_and_does_not_hold_up_the_rest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    registered: list[str] = []
    slow = stands(tmp_path, READS, free_port(), registered)
    monkeypatch.setattr(standin, "ASK_WITHIN_S", 30.0)
    try:
        assert not slow.wait()
    finally:
        children.stop([slow.child])
    said = capsys.readouterr().out
    assert said.count("  sandbox reads its journal, 258 MB\n") == 1
    assert f"What it remembers is in {tmp_path}/sandbox.journal: to begin anew, end this, move that file away" in said
    assert registered == []


def test_one_that_ends_is_told_at_once_and_registered_when_it_is_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    registered: list[str] = []
    broken = stands(tmp_path, ENDS, 1, registered)
    assert not broken.wait()
    assert "The sandbox has ended; the rest starts without it" in (said := capsys.readouterr().out)
    assert f"(log: {tmp_path}/sandbox.log)" in said
    broken.child.reap()
    with running_sandbox() as sandbox:
        broken.url = sandbox.url
        for _look in range(2):
            broken._looked_at = 0.0
            broken.look()
    assert registered == ["once"]
    assert capsys.readouterr().out == "The sandbox serves now.\n"

"""A mail server that real installations run (chasquid), started from Debian's package without installing it."""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import trustme

ROOT: Final = Path(__file__).resolve().parents[2]
PASSWORD: Final = "correct-horse-battery"
_START_S: Final = 30.0
_CONFIGURATION: Final = """
hostname: "mx.example.com"
smtp_address: "127.0.0.1:{mail}"
submission_address: "127.0.0.1:{submission}"
submission_over_tls_address: "127.0.0.1:{tls}"
mail_delivery_agent_bin: "{folder}/deliver"
mail_delivery_agent_args: "%to_user%"
data_dir: "{folder}/data"
mail_log_path: "{folder}/mail.log"
max_data_size_mb: 1
"""


@dataclass(frozen=True, slots=True)
class MailServer:
    """A running server for example.com with the mailboxes `ana` and `relay`."""

    folder: Path
    mail: int
    submission: int
    tls: int

    def mailbox(self, user: str) -> list[bytes]:
        """Give what was delivered to a mailbox, in the order of arrival."""
        return [path.read_bytes() for path in sorted((self.folder / "mail").glob(f"*-{user}"))]

    def wait_for(self, user: str, count: int = 1) -> list[bytes]:
        """Wait until a mailbox has so many messages: the server answers before it delivers."""
        ends_at = time.monotonic() + _START_S
        while len(found := self.mailbox(user)) < count and time.monotonic() < ends_at:
            time.sleep(0.02)
        return found


def program(name: str) -> str | None:
    """Give where a program of the server stands, or None where it could not be had."""
    unpacked = ROOT / ".build" / "mta" / "usr" / "bin" / name
    return str(unpacked) if unpacked.exists() else shutil.which(name)


@contextlib.contextmanager
def running(folder: Path, authority: trustme.CA) -> Iterator[MailServer]:
    """Run one, with a certificate of `authority` for 127.0.0.1; another try where somebody took a port meanwhile."""
    for _ in range(5):
        server = MailServer(folder, *_free_ports(3))
        _write(server, authority)
        with (folder / "server.log").open("wb") as log:
            command = [str(program("chasquid")), "-config_dir", str(folder / "conf"), "-alsologtostderr"]
            process = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            if _is_up(process, server):
                yield server
                return
        finally:
            process.terminate()
            process.wait()
    raise AssertionError((folder / "server.log").read_text("utf-8", "replace")[-2_000:])


def _write(server: MailServer, authority: trustme.CA) -> None:
    conf = server.folder / "conf"
    for part in (conf / "certs" / "mx.example.com", conf / "domains" / "example.com", server.folder / "mail"):
        part.mkdir(parents=True, exist_ok=True)
    (server.folder / "data").mkdir(exist_ok=True)
    certificate = authority.issue_cert("127.0.0.1")
    certificate.private_key_pem.write_to_path(conf / "certs/mx.example.com/privkey.pem")
    chain = b"".join(blob.bytes() for blob in certificate.cert_chain_pems)
    (conf / "certs/mx.example.com/fullchain.pem").write_bytes(chain)
    settings = {"mail": server.mail, "submission": server.submission, "tls": server.tls, "folder": server.folder}
    (conf / "chasquid.conf").write_text(_CONFIGURATION.format(**settings), "utf-8")
    deliver = server.folder / "deliver"
    # Written beside and renamed, so that nobody reads half a message.
    name = f"{server.folder}/mail/$(date +%s%N)-$1"
    deliver.write_text(f'#!/bin/sh\nname="{name}"\ncat > "$name.part" && mv "$name.part" "$name"\n', "utf-8")
    deliver.chmod(0o755)
    for user in ("ana", "relay"):
        _add(conf, f"{user}@example.com")


def _add(conf: Path, user: str) -> None:
    command = [str(program("chasquid-util")), f"-C={conf}", "user-add", user, f"--password={PASSWORD}"]
    subprocess.run(command, check=True, capture_output=True, timeout=60)


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def _is_up(process: subprocess.Popen[bytes], server: MailServer) -> bool:
    ends_at = time.monotonic() + _START_S
    while time.monotonic() < ends_at and process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", server.tls), timeout=1):
            return process.poll() is None
        time.sleep(0.05)
    return False

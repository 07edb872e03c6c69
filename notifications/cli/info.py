"""`notify info`: where the running installation is."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.management.base import CommandParser

from notifications.cli.terminal import Refused, Terminal


def add_arguments(parser: CommandParser) -> None:
    """Take whether the answer is for a program."""
    parser.add_argument("--json", action="store_true", help="print one JSON document, with the databases' passwords")


def run(options: dict[str, Any], terminal: Terminal) -> int:
    """Print addresses, folders and the demo people; passwords of the database only in JSON."""
    running = settings.NOTIFYOPS_INSTALLATION
    if running is None:
        raise Refused(f"Nothing runs in {settings.NOTIFYOPS_HOME}. Start it with `make up`, or set NOTIFYOPS_HOME.")
    known = asdict(running)
    del known["pids"]
    if not known["people"]:
        del known["people"]
    if options["json"]:
        terminal.json(known)
        return 0
    for name in ("web_url", "sandbox_url", "sandbox_control_url", "home", "logs"):
        terminal.line(f"{name:20} {known[name]}")
    for role, url in known["database"].items():
        parts = urlsplit(url)
        server = f"{parts.hostname}:{parts.port or 5432}" if parts.hostname else parts.query
        terminal.line(f"{'database ' + role:20} {server}{parts.path} as {parts.username}")
    for person in known.get("people", ()):
        terminal.line(f"{person['role']:20} {person['username']} / {person['password']}")
    return 0

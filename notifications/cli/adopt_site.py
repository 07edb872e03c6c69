"""`notify adopt-site`: take a copied or restored database as this site's own, so that it sends again."""

from __future__ import annotations

import getpass
import socket
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from notifications.cli.terminal import Refused, Terminal, rows
from notifications.delivery import site

MIN_REASON = 10
MAX_REASON = 500
_LAST = """
    SELECT site, at, actor, reason FROM notifyops_private.notifications_siteadoption ORDER BY id DESC LIMIT 1
"""
_OPEN = """
    SELECT count(*) AS count FROM notifyops_private.notifications_intent WHERE next_attempt_at IS NOT NULL
"""


def add_arguments(parser: CommandParser) -> None:
    """Take why."""
    parser.add_argument("--reason", required=True, help=f"why this database is this site's, {MIN_REASON} characters up")


def run(options: dict[str, Any], terminal: Terminal) -> int:
    """Record the adoption; where nothing is in the way already, say so and write nothing."""
    reason = " ".join(str(options["reason"]).split())
    if not MIN_REASON <= len(reason) <= MAX_REASON or not reason.isprintable():
        raise Refused(f"Give a reason of {MIN_REASON} to {MAX_REASON} characters: it is kept for ever.")
    name, mode = settings.NOTIFYOPS_SITE, settings.NOTIFYOPS_SITE_MODE
    word = site.trouble(name)
    if word is None:
        terminal.line(f"This database already belongs to site {name}; nothing was changed.")
        return 0
    for last in rows(_LAST):
        terminal.line(f"Until now: site {last['site']}, by {last['actor']} at {last['at']}: {last['reason']}")
    site.adopt(name, actor=f"cli:{_login()}@{socket.gethostname()}"[:200], reason=reason)
    waiting = rows(_OPEN)[0]["count"]
    terminal.line(f"Site {name} has adopted this database ({word}). Mode {mode}; {waiting} wait to be sent.")
    terminal.line("The loops go on within five seconds.")
    return 0


def _login() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user id without a name
        return "unknown"

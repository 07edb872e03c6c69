"""`notify adopt-site`: take another site's database as this one's own, so that it sends again."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from notifications.cli.terminal import Refused, Terminal, rows
from notifications.delivery import site
from notifications.host import actor
from notifications.policy.reasons import MAX_REASON, MIN_REASON, fault, one_line

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
    reason = checked_reason(options["reason"])
    name, mode = settings.NOTIFYOPS_SITE, settings.NOTIFYOPS_SITE_MODE
    word = site.trouble(name)
    if word is None:
        terminal.line(f"This database already belongs to site {name}; nothing was changed.")
        return 0
    if word in ("copied", "restored", "recovering"):
        raise Refused(site.TROUBLES[word])
    for last in rows(_LAST):
        terminal.line(f"Until now: site {last['site']}, by {last['actor']} at {last['at']}: {last['reason']}")
    site.adopt(name, actor=actor(), reason=reason)
    waiting = rows(_OPEN)[0]["count"]
    terminal.line(f"Site {name} has adopted this database ({word}). Mode {mode}; {waiting} wait to be sent.")
    left = site.trouble(name)
    terminal.line(f"Not sent yet: {site.TROUBLES[left]}" if left else "The loops go on within five seconds.")
    return 0


def checked_reason(given: object) -> str:
    """Give the reason as it is kept. Raises Refused where it says too little, or too much."""
    reason = one_line(given)
    match fault(reason):
        case "length":
            raise Refused(f"Give a --reason of {MIN_REASON} to {MAX_REASON} characters: it is kept for ever.")
        case "personal":
            raise Refused("The reason holds an address or a phone number, and is kept: refer to people by ID.")
    return reason

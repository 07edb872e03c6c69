"""`notify token create|list|revoke`: who may speak to the HTTP API."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from notifications.api import tokens
from notifications.cli.terminal import Refused, Terminal
from notifications.host import actor
from notifications.models import ApiToken
from notifications.models.api_token import PER_MINUTE, SCOPES
from notifications.policy.reasons import MIN_REASON


def add_arguments(parser: CommandParser) -> None:
    """Take what to do, and what it needs."""
    parser.add_argument("deed", choices=("create", "list", "revoke"))
    parser.add_argument("name", nargs="?", default="", help="create: the client; revoke: the token's prefix")
    parser.add_argument("--scope", action="append", default=[], choices=SCOPES, help="what it may do; several are fine")
    parser.add_argument("--workspace", action="append", default=[], help="where; '' is the default one, '*' all")
    parser.add_argument("--per-minute", type=int, default=PER_MINUTE, help=f"requests a minute ({PER_MINUTE})")
    parser.add_argument("--expires-in-days", type=float, help="default: never")
    parser.add_argument("--reason", default="", help=f"create, revoke: why, {MIN_REASON} characters up")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(options: dict[str, Any], terminal: Terminal) -> int:
    """Do it."""
    deeds = {"create": _create, "list": _list, "revoke": _revoke}
    try:
        deeds[options["deed"]](options, terminal)
    except tokens.NotAToken as refusal:
        raise Refused(str(refusal)) from None
    return 0


def _create(options: dict[str, Any], terminal: Terminal) -> None:
    days = options["expires_in_days"]
    if days is not None and not 0 < days <= 36_500:
        raise Refused("--expires-in-days must be above 0 and at most 36500.")
    wish = tokens.Wish(
        name=options["name"],
        scopes=tuple(options["scope"]),
        workspaces=tuple(options["workspace"]),
        reason=options["reason"],
        per_minute=options["per_minute"],
        expires_at=timezone.now() + timedelta(days=days) if days is not None else None,
    )
    row, text = tokens.make(wish, by=actor())
    terminal.doubt_workspaces(wish.workspaces)
    if options["json"]:
        terminal.json({**_told(row), "token": text})
        return
    terminal.line(text)
    terminal.say(f"It is shown this once. Revoke it with: manage.py notify token revoke {row.prefix} --reason …")


def _list(options: dict[str, Any], terminal: Terminal) -> None:
    found = [_told(row) for row in ApiToken.objects.select_related("use").order_by("id")]
    if options["json"]:
        terminal.json(found)
        return
    heads = ("prefix", "client", "scopes", "workspaces", "per_minute", "last_used_at", "state")
    cells = [
        (one["prefix"], one["client"], " ".join(one["scopes"]), _spaces(one["workspaces"]), one["per_minute"],
         one["last_used_at"], one["state"])
        for one in found
    ]  # fmt: skip
    terminal.table(heads, cells)


def _revoke(options: dict[str, Any], terminal: Terminal) -> None:
    # What a leak shows may be the whole token, or its visible part with or without the word before it.
    given = options["name"].removeprefix("nops_").partition("_")[0]
    row = ApiToken.objects.filter(prefix=given).first() if given else None
    if row is None:
        raise Refused("There is no token of that prefix; see: manage.py notify token list.")
    tokens.revoke(row, by=actor(), reason=options["reason"])
    terminal.line(f"nops_{row.prefix}… ({row.name}) is revoked, on every host.")


def _told(row: ApiToken) -> dict[str, Any]:
    use = getattr(row, "use", None)
    return {
        "prefix": row.prefix,
        "client": row.name,
        "scopes": row.scopes,
        "workspaces": row.workspaces,
        "per_minute": row.per_minute,
        "made_at": row.made_at,
        "made_by": row.made_by,
        "reason": row.reason,
        "expires_at": row.expires_at,
        "last_used_at": use.minute_at if use else None,
        "state": row.trouble or "valid",
    }


def _spaces(workspaces: list[str]) -> str:
    return " ".join(space or "(default)" for space in workspaces)

"""`notify endpoint create|list|enable|disable`: who gets the outcomes feed as signed webhooks."""

from __future__ import annotations

import re
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser
from django.db import transaction
from django.utils import timezone

from notifications import wiring
from notifications.api import tokens
from notifications.cli.terminal import Refused, Terminal, check_number, rows
from notifications.command_line import LARGEST
from notifications.host import actor
from notifications.models import FeedCursor, FeedEndpoint
from notifications.models.provider import REFERENCE


def add_arguments(parser: CommandParser) -> None:
    """Take what to do, and what it needs."""
    parser.add_argument("deed", choices=("create", "list", "enable", "disable"))
    parser.add_argument("name", nargs="?", default="", help="the endpoint's short name")
    parser.add_argument("--url", default="", help="create: https://…")
    parser.add_argument("--secret", default="", help="create: env:NAME of the workers; two parted by a comma to rotate")
    parser.add_argument("--workspace", action="append", default=[], help="create: '' is the default one, '*' all")
    parser.add_argument("--after", type=int, help="create, enable: begin after this position; default: now")
    parser.add_argument("--reason", default="", help="create: why")
    parser.add_argument("--json", action="store_true", help="list: print JSON")


def run(options: dict[str, Any], terminal: Terminal) -> int:
    """Do it."""
    check_number("--after", options["after"], 0, LARGEST)
    deeds = {"create": _create, "list": _list, "enable": _enable, "disable": _disable}
    try:
        deeds[options["deed"]](options, terminal)
    except tokens.NotAToken as refusal:
        raise Refused(str(refusal)) from None
    return 0


def _create(options: dict[str, Any], terminal: Terminal) -> None:
    _check(options)
    after = options["after"]
    if after is None:
        after = rows("SELECT horizon FROM notifyops_private.feed_horizon")[0]["horizon"]
    with transaction.atomic():
        endpoint = FeedEndpoint.objects.create(
            name=options["name"],
            url=options["url"],
            secret_refs=options["secret"],
            workspaces=sorted(set(options["workspace"])),
            site_mode=settings.NOTIFYOPS_SITE_MODE,
            made_by=actor(),
            reason=tokens.checked_reason(options["reason"]),
        )
        FeedCursor.objects.create(endpoint=endpoint, position=after, due_at=timezone.now())
    terminal.line(f"{endpoint.name} gets what comes after position {after}.")
    terminal.doubt_workspaces(endpoint.workspaces)


def _check(options: dict[str, Any]) -> None:
    if not re.fullmatch(r"[A-Za-z0-9._-]{1,64}", options["name"]):
        raise Refused("Name the endpoint with 1 to 64 of the characters A-Z a-z 0-9 . _ -.")
    if FeedEndpoint.objects.filter(name=options["name"]).exists():
        raise Refused(f"There is an endpoint {options['name']} already.")
    schemes = "https?" if wiring.networks() else "https"
    if not re.fullmatch(rf"{schemes}://[^\s@/]+(/\S*)?", options["url"]) or len(options["url"]) > 500:
        raise Refused("--url must be an https address without a login; http only where private networks are allowed.")
    if not re.fullmatch(rf"{REFERENCE}(,{REFERENCE})*", options["secret"]):
        raise Refused("--secret names variables of the workers, like env:SHOP_SECRET; never a secret itself.")
    if not options["workspace"] or not all(tokens.WORKSPACE.fullmatch(space) for space in options["workspace"]):
        raise Refused("Give at least one --workspace: '' is the default one, '*' all.")


def _list(options: dict[str, Any], terminal: Terminal) -> None:
    found = [
        {
            "name": one.name,
            "url": one.url,
            "workspaces": one.workspaces,
            "site_mode": one.site_mode,
            "position": one.cursor.position,
            "failures": one.cursor.failure_count,
            "last_answer": one.cursor.last_answer,
            "state": "gone" if one.cursor.gone_at else "enabled" if one.enabled else "disabled",
        }
        for one in FeedEndpoint.objects.select_related("cursor").order_by("id")
    ]
    if options["json"]:
        terminal.json(found)
        return
    heads = ("name", "url", "site_mode", "position", "failures", "last_answer", "state")
    terminal.table(heads, [[one[head] for head in heads] for one in found])


def _enable(options: dict[str, Any], terminal: Terminal) -> None:
    changes: dict[str, Any] = {"gone_at": None, "failure_count": 0, "due_at": timezone.now()}
    if options["after"] is not None:
        changes["position"] = options["after"]
    with transaction.atomic():
        # Whoever enables it means it for the mode that the site is in now.
        _set(options, enabled=True, site_mode=settings.NOTIFYOPS_SITE_MODE)
        FeedCursor.objects.filter(endpoint__name=options["name"]).update(**changes)
    terminal.line(f"{options['name']} goes on.")


def _disable(options: dict[str, Any], terminal: Terminal) -> None:
    _set(options, enabled=False)
    terminal.line(f"{options['name']} gets nothing more.")


def _set(options: dict[str, Any], **values: Any) -> None:
    if not FeedEndpoint.objects.filter(name=options["name"]).update(**values):
        raise Refused(f"There is no endpoint {options['name']}.")

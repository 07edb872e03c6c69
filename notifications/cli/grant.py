"""`notify grant ROLE WORKSPACE`: let a database role enqueue and cancel in a workspace."""

from __future__ import annotations

import re
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser
from django.db import connections

from notifications.cli.terminal import Refused, Terminal


def add_arguments(parser: CommandParser) -> None:
    """Take the role and the workspace."""
    parser.add_argument("role", help="a database role, or writer for this site's own")
    parser.add_argument("workspace", help="its name, '' for the default one, '*' for all")


def run(options: dict[str, Any], terminal: Terminal) -> int:
    """Write the grant as the tables' owner; to grant twice changes nothing."""
    role = settings.NOTIFYOPS_ROLES.get(options["role"], options["role"])
    workspace = options["workspace"]
    if workspace != "*" and not re.fullmatch(r"[A-Za-z0-9._-]{0,64}", workspace):
        raise Refused("A workspace has up to 64 of the characters A-Z a-z 0-9 . _ -, or is '*' for all of them.")
    if "owner" not in settings.DATABASES:
        raise Refused(
            "Only the tables' owner may grant: set NOTIFYOPS_OWNER_DATABASE_URL, or run this where `make up` runs."
        )
    with connections["owner"].cursor() as cursor:
        cursor.execute("SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = %s)", [role])
        row = cursor.fetchone()
        if not (row and row[0]):
            raise Refused(f"The server has no role {role}. Create it first, with a password of its own.")
        cursor.execute(
            "INSERT INTO notifyops_private.notifications_workspacegrant (role, workspace) VALUES (%s, %s) "
            "ON CONFLICT DO NOTHING",
            [role, workspace],
        )
        # Else its notifications could be neither held for approval, nor superseded, nor cancelled.
        cursor.execute(
            "INSERT INTO notifyops_private.notifications_doorrole (role, who) VALUES (%s, 'intake') "
            "ON CONFLICT DO NOTHING",
            [role],
        )
        may_call = "SELECT has_function_privilege(%s, 'notifyops.enqueue(text, text, text, jsonb, jsonb)', 'EXECUTE')"
        cursor.execute(may_call, [role])
        row = cursor.fetchone()
    place = {"": "the default workspace", "*": "every workspace"}.get(workspace, f"workspace {workspace}")
    terminal.line(f"{role} may enqueue and cancel in {place}.")
    if not (row and row[0]):
        terminal.say(
            f"It cannot call notifyops.enqueue yet: make it a member of the writer role, with "
            f'GRANT "{settings.NOTIFYOPS_ROLES["writer"]}" TO "{role}";'
        )
    return 0

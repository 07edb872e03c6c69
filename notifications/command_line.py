"""What all commands of ours have in common: how they refuse, and which numbers they take."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NoReturn, Protocol

from django.core.management.base import BaseCommand, CommandError, SystemCheckError
from django.db import connections

# The largest position, number or version that the database can hold.
LARGEST: Final = 2**63 - 1
_USED: Final = "SELECT FROM notifyops_private.notifications_intentkey k WHERE k.workspace = %s LIMIT 1"


class Writer(Protocol):
    """The part of Django's OutputWrapper that is needed here."""

    def write(self, msg: str = "", /) -> object: ...


def refuse(err: Writer, sentence: str, code: int = 1) -> NoReturn:
    """End the command: the sentence on stderr, as it is, and an exit code that is not 0."""
    err.write(sentence if sentence.endswith("\n") else f"{sentence}\n")
    sys.exit(code)


@contextmanager
def refusals_as_sentences(command: BaseCommand, *, traceback: bool = False) -> Iterator[None]:
    """Print a CommandError as its sentence alone where a person gave the command; raise it to a program."""
    try:
        yield
    except SystemCheckError:
        raise  # it prints itself
    except CommandError as refusal:
        if traceback or not getattr(command, "_called_from_command_line", False):
            raise
        refuse(command.stderr, str(refusal), refusal.returncode)


def number_fault(option: str, value: float | None, low: int, high: int) -> str:
    """Give the sentence that refuses a number outside of `low` to `high`; empty where it will do, or was not given."""
    if value is None or low <= value <= high:
        return ""
    return f"{option} is {value}: it takes a number from {low:,} to {high:,}."


def strange_workspace(workspace: str) -> str:
    """Give a hint where nothing was ever enqueued for a workspace; empty for one that is used, and the default one.

    A name that was never used is looked for among all keys: ask only where nothing was found, or for a person.
    """
    if not workspace or "\0" in workspace:
        return ""
    with connections["default"].cursor() as cursor:
        cursor.execute(_USED, [workspace])
        if cursor.fetchone() is not None:
            return ""
    return (
        f"Nothing was ever enqueued for the workspace {workspace}. If it is not a new one, check its spelling; "
        f"capital letters count: `manage.py notify outcomes` shows workspaces before the IDs."
    )

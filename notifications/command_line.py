"""What all commands of ours have in common: how they refuse, and which numbers they take."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NoReturn, Protocol

from django.core.management.base import BaseCommand, CommandError, SystemCheckError

# The largest position, number or version that the database can hold.
LARGEST: Final = 2**63 - 1


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

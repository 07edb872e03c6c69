"""`notify close-circuit ACCOUNT --reason TEXT`: let an account be called again that waits for a person."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from notifications.cli.terminal import Refused, Terminal
from notifications.host import actor
from notifications.models import ProviderAccount
from notifications.pausing import PauseRefused, close_circuit


def add_arguments(parser: CommandParser) -> None:
    """Take which account, and why."""
    parser.add_argument("account", help="its name, as notify status lists it")
    parser.add_argument("--reason", required=True, help="what was mended, 10 to 500 characters, kept for ever")


def run(options: dict[str, Any], terminal: Terminal) -> int:
    """Close the circuit; where nothing got better, the next answers open it again."""
    account = ProviderAccount.objects.filter(name=options["account"]).first()
    if account is None:
        names = ", ".join(ProviderAccount.objects.order_by("name").values_list("name", flat=True)) or "none"
        raise Refused(f"There is no account {options['account']!r}; there are: {names}.")
    try:
        was = close_circuit(account, reason=options["reason"], actor=actor())
    except PauseRefused as refusal:
        raise Refused(str(refusal.sentence)) from refusal
    why = was["code"] or was["reason"] or "a wait that the provider asked for"
    terminal.line(f"Closed: account {account.name} was not called because of {why}.")
    terminal.line("Its backlog goes out slowly at first; the first answers show whether it was mended.")
    return 0

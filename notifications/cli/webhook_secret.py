"""`notify webhook-secret ACCOUNT URL`: what the owner of an endpoint needs to verify our calls."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from notifications import wiring
from notifications.cli.terminal import Refused, Terminal
from notifications.models import ProviderAccount
from notifications.policy.endpoints import called_address
from notifications.policy.recipients import InvalidAddress


def add_arguments(parser: CommandParser) -> None:
    """Take the account and the address."""
    parser.add_argument("account", help="the name of an account of kind webhook")
    parser.add_argument("url", help="the endpoint's address, letter by letter as notifications are addressed to it")


def run(options: dict[str, Any], terminal: Terminal) -> int:
    """Print one secret for each of the account's, the newest first; writes nothing."""
    row = ProviderAccount.objects.filter(name=options["account"], kind="webhook").first()
    if row is None:
        raise Refused(f"There is no account {options['account']} of kind webhook.")
    try:
        secrets = wiring.endpoint_secrets(row, called_address(options["url"]))
    except (wiring.Unusable, InvalidAddress) as refusal:
        raise Refused(str(refusal)) from None
    for secret in secrets:
        terminal.line(secret)
    return 0

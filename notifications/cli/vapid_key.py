"""`notify vapid-key --account NAME`: what pages subscribe to web push with; made, taken or rotated, with a reason."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser
from django.db import transaction

from notifications import wiring
from notifications.api import tokens
from notifications.cli.terminal import Refused, Terminal
from notifications.host import actor
from notifications.models import ConfigRevision, ProviderAccount
from notifications.policy.reasons import MIN_REASON
from notifications.providers.webpush_crypto import new_secret, public_key


def add_arguments(parser: CommandParser) -> None:
    """Take the account, and why it gets a key."""
    parser.add_argument("--account", required=True, help="the name of an account of kind webpush")
    parser.add_argument("--rotate", action="store_true", help="another key: browsers must subscribe anew")
    parser.add_argument("--reason", default="", help=f"of a new key: why, {MIN_REASON} characters up")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(options: dict[str, Any], terminal: Terminal) -> int:
    """Print the public key; where there is none yet, or another one is wanted, record it first.

    A key that the variable holds on this host is taken. Else one is made, and its private half printed this once: it is
    kept where all secrets are, in the variable that the account names, and nowhere here.
    """
    row = ProviderAccount.objects.filter(name=options["account"], kind="webpush").first()
    if row is None:
        raise Refused(f"There is no account {options['account']} of kind webpush.")
    made = ""
    if options["rotate"] or not row.vapid_public_key:
        made = _recorded(row, options)
    _tell(row, made, options, terminal)
    return 0


def _recorded(row: ProviderAccount, options: dict[str, Any]) -> str:
    """Record the account's next public key; give the private half where it was made here."""
    try:
        reason = tokens.checked_reason(options["reason"])
    except tokens.NotAToken as refusal:
        raise Refused(str(refusal)) from None
    given, made = wiring.vapid_secret(row), ""
    if not given or _public(row, given) == row.vapid_public_key:
        given = made = new_secret()
    with transaction.atomic():
        locked = ProviderAccount.objects.select_for_update().get(pk=row.pk)
        if locked.vapid_public_key != row.vapid_public_key:
            raise Refused("Somebody has changed the key meanwhile; nothing was written.")
        before, locked.vapid_public_key = locked.vapid_public_key, _public(row, given)
        locked.revision += 1
        locked.save(update_fields=["vapid_public_key", "revision"])
        ConfigRevision.objects.create(
            account=locked,
            revision=locked.revision,
            actor=actor()[:200],
            reason=reason,
            before={"vapid_public_key": before},
            after={"vapid_public_key": locked.vapid_public_key},
        )
    row.refresh_from_db()
    return made


def _public(row: ProviderAccount, secret: str) -> str:
    try:
        return public_key(secret)
    except ValueError as error:
        raise Refused(f"{_variable(row)}: {error}") from None


def _tell(row: ProviderAccount, made: str, options: dict[str, Any], terminal: Terminal) -> None:
    variable = _variable(row)
    if options["json"]:
        told = {"account": row.name, "public_key": row.vapid_public_key, "variable": variable}
        terminal.json(told | ({"private_key": made} if made else {}))
    else:
        if made:
            terminal.line(f"{variable}={made}")
        terminal.line(row.vapid_public_key)
    if made:
        terminal.say(
            f"{variable} is the private key, shown this once: give it to the workers, and restart them. The other one "
            f"is what pages get by GET /api/v1/push/key?account={row.name}."
        )
    elif (given := wiring.vapid_secret(row)) and _public(row, given) != row.vapid_public_key:
        terminal.say(f"{variable} on this host is the private half of another key: what subscribes now is refused.")


def _variable(row: ProviderAccount) -> str:
    return row.api_key_ref.removeprefix("env:")

"""`manage.py people list|unlock|otp-reset`: who can get in, and how to help whoever cannot. Each help is on record."""

from __future__ import annotations

import json
from typing import Any, Final

from axes.models import AccessAttempt
from axes.utils import reset
from django.conf import settings
from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction
from django.utils import timezone

from notifications.command_line import refusals_as_sentences
from notifications.host import actor
from notifications.policy.reasons import MIN_REASON, fault, one_line
from reviews.signin import devices, record

_FAULTS: Final = {
    "length": "Say why with --reason in 10 to 500 characters: it is kept for ever.",
    "personal": "The reason holds an address or a phone number, and is kept: refer by ID.",
}


class Command(BaseCommand):
    """Whoever may run it on the host may do this; it is recorded as cli:<user>@<host>."""

    help = "Shows who can log in, unlocks, and takes away a lost second factor."

    def add_arguments(self, parser: CommandParser) -> None:
        """Offer the verbs."""
        verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
        listed = verbs.add_parser("list", help="accounts, their groups, second factors and locks")
        listed.add_argument("--json", action="store_true", help="print one JSON array")
        for verb, sentence in (
            ("unlock", "let somebody try again after too many wrong passwords"),
            ("otp-reset", "take away app and recovery codes, and end all sessions; the next login enrols anew"),
        ):
            one = verbs.add_parser(verb, help=sentence)
            one.add_argument("username", help="the account's name")
            one.add_argument("--reason", default="", help=f"why, {MIN_REASON} characters up, kept for ever")

    def handle(self, *args: Any, **options: Any) -> None:
        """Do it; a refusal is a sentence on stderr and exit code 1."""
        with refusals_as_sentences(self, traceback=options.get("traceback", False)):
            self._do(options)

    def _do(self, options: dict[str, Any]) -> None:
        if options["verb"] == "list":
            self._list(as_json=options["json"])
            return
        person = User.objects.filter(username=options["username"]).first()
        if person is None:
            raise CommandError("There is no such account; `manage.py people list` shows them.")
        reason = one_line(options["reason"])
        found = fault(reason)
        if found:
            raise CommandError(_FAULTS[found])
        deed = self._unlock if options["verb"] == "unlock" else self._reset
        self.stdout.write(deed(person, reason))

    def _unlock(self, person: User, reason: str) -> str:
        with transaction.atomic():
            if not reset(username=person.get_username()):
                raise CommandError("Nobody gave a wrong password for this account of late: nothing was changed.")
            record.write(person, "unlocked", actor=actor(), reason=reason)
        return f"{person.get_username()} may log in again."

    def _reset(self, person: User, reason: str) -> str:
        if not devices.forget(person, "reset", actor=actor(), reason=reason):
            raise CommandError("This account has no second factor: nothing was changed.")
        ended = devices.end_sessions(person)
        return f"The second factor of {person.get_username()} is taken away; sessions ended: {ended}."

    def _list(self, *, as_json: bool) -> None:
        since = timezone.now() - settings.AXES_COOLOFF_TIME
        tries = AccessAttempt.objects.filter(
            attempt_time__gt=since, failures_since_start__gte=settings.AXES_FAILURE_LIMIT
        )
        locked = set(tries.values_list("username", flat=True))
        rows = [
            {
                "username": person.get_username(),
                "groups": [group.name for group in person.groups.all()],
                "is_superuser": person.is_superuser,
                "is_active": person.is_active,
                "second_factor": devices.has_one(person),
                "recovery_codes": devices.codes_left(person),
                "locked_somewhere": person.get_username() in locked,
            }
            for person in User.objects.prefetch_related("groups").order_by("username")
        ]
        self.stdout.write(json.dumps(rows, ensure_ascii=False, indent=2) if as_json else _table(rows))


def _table(rows: list[dict[str, Any]]) -> str:
    lines = []
    for row in rows:
        words = [", ".join(row["groups"]) or "no group"]
        words += ["superuser"] if row["is_superuser"] else []
        words += [] if row["is_active"] else ["not active"]
        words.append(
            f"second factor, {row['recovery_codes']} codes left" if row["second_factor"] else "no second factor"
        )
        words += ["LOCKED"] if row["locked_somewhere"] else []
        lines.append(f"{row['username']:24} {'; '.join(words)}")
    return "\n".join(lines)

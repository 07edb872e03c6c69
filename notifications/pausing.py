"""What a person does to keep things from being sent, and to let them go on: pause, resume, close a circuit.

Each is recorded with who and why, by the database's clock. Console and command line both come here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from django.db import connections, transaction
from django.utils.functional import Promise
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from notifications.models.notification_type import NotificationTypeRow
from notifications.models.pause import LONGEST, REASONS, SCOPES, Pause
from notifications.models.provider import ConfigRevision, ProviderAccount
from notifications.policy.reasons import fault, one_line

SHORTEST: Final = timedelta(minutes=1)
_WORKSPACE: Final = re.compile(r"[A-Za-z0-9._-]{0,64}")


class PauseRefused(Exception):
    """It cannot be done; `sentence` says why and how to mend it. Nothing was written.

    `field` names what of the order is to be mended; empty where it is none of it.
    """

    def __init__(self, sentence: str | Promise, *, field: str = "") -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.field = field


def now(*, using: str = "default") -> datetime:
    """Give the database's time, by which pauses stand and end."""
    with connections[using].cursor() as cursor:
        cursor.execute("SELECT notifyops_private.clock_v1()")
        moment: datetime = cursor.fetchone()[0]
    return moment


def standing(moment: datetime) -> Sequence[Pause]:
    """Give the pauses that stand at that moment, the one that ends first on top."""
    return list(Pause.objects.filter(resumed_at__isnull=True, ends_at__gt=moment).order_by("ends_at", "pk"))


def pause(scope: str, name: str, *, span: timedelta, reason: tuple[str, str], actor: str) -> Pause:
    """Keep a type, a workspace (empty: the default one) or an account from being sent for a while.

    `reason` is code and text. What a worker has claimed already still goes out. Raises PauseRefused.
    """
    code, text = reason[0], _checked(reason[1], needed=reason[0] == "other")
    if scope not in SCOPES:
        raise PauseRefused(format_lazy(_("Choose what to pause: {scopes}."), scopes=", ".join(SCOPES)), field="scope")
    if code not in REASONS:
        raise PauseRefused(format_lazy(_("Choose a reason: {codes}."), codes=", ".join(REASONS)), field="reason_code")
    if not SHORTEST <= span <= LONGEST:
        raise PauseRefused(
            _("A pause lasts from one minute to 24 hours; renew it where that is not enough."), field="minutes"
        )
    account = _paused_account(scope, name)
    with transaction.atomic():
        # One at a time: two leads who pause the same thing must not leave two pauses to resume.
        with connections["default"].cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(7803, hashtext(%s))", [f"{scope} {name}"])
        moment = now()
        already = next((one for one in standing(moment) if (one.scope, one.name) == (scope, name)), None)
        if already is not None:
            raise PauseRefused(
                format_lazy(
                    _("It is paused already, by {actor} until {until} UTC; resume that pause first."),
                    actor=already.actor,
                    until=already.ends_at.strftime("%Y-%m-%d %H:%M"),
                )
            )
        return Pause.objects.create(
            scope=scope,
            name=name,
            account=account,
            reason_code=code,
            reason=text,
            actor=actor[:200],
            began_at=moment,
            ends_at=moment + span,
        )


def resume(pause_id: int, *, reason: str, actor: str) -> Pause:
    """End a pause before its time. Raises PauseRefused, also where it is over already."""
    text = _checked(reason, needed=True)
    with transaction.atomic():
        moment = now()
        changed = Pause.objects.filter(pk=pause_id, resumed_at__isnull=True, ends_at__gt=moment).update(
            resumed_at=moment, resumed_by=actor[:200], resume_reason=text
        )
        if not changed and not Pause.objects.filter(pk=pause_id).exists():
            raise PauseRefused(format_lazy(_("There is no pause {number}; see notify pauses."), number=pause_id))
        if not changed:
            raise PauseRefused(_("This pause is over already; nothing was changed."))
        return Pause.objects.get(pk=pause_id)


def close_circuit(account: ProviderAccount, *, reason: str, actor: str) -> dict[str, Any]:
    """Let an account be called again; give what its circuit was. Raises PauseRefused where nothing was open.

    Recorded as a revision of the account's configuration, which also makes the loops start afresh.
    """
    text = _checked(reason, needed=True)
    with transaction.atomic():
        locked = ProviderAccount.objects.select_for_update().get(pk=account.pk)
        with connections["default"].cursor() as cursor:
            cursor.execute(
                "SELECT reason, code, open_until::text, wait_until::text FROM notifyops_private.close_circuit_v1(%s)",
                [locked.pk],
            )
            row = cursor.fetchone()
        if row is None:
            raise PauseRefused(_("The account's circuit is closed already; nothing was changed."))
        was = dict(zip(("reason", "code", "open_until", "wait_until"), row, strict=True))
        locked.revision += 1
        locked.save(update_fields=["revision"])
        ConfigRevision.objects.create(
            account=locked,
            revision=locked.revision,
            actor=actor[:200],
            reason=text,
            before={"circuit": was},
            after={"circuit": None},
        )
    return was


def _paused_account(scope: str, name: str) -> ProviderAccount | None:
    """Give the account to pause, None for another scope. Raises PauseRefused where there is no such thing."""
    if scope == "account":
        account = ProviderAccount.objects.filter(name=name).first()
        if account is None:
            raise PauseRefused(format_lazy(_("There is no provider account {name}."), name=name), field="name")
        return account
    if scope == "type" and not NotificationTypeRow.objects.filter(name=name).exists():
        raise PauseRefused(
            format_lazy(_("There is no notification type {name}; see notify types."), name=name), field="name"
        )
    if scope == "workspace" and not _WORKSPACE.fullmatch(name):
        raise PauseRefused(_("A workspace has up to 64 of the characters A-Z a-z 0-9 . _ -."), field="name")
    return None


def _checked(reason: str, *, needed: bool) -> str:
    """Give the text as it is kept. Raises PauseRefused."""
    text = one_line(reason)
    match fault(text) if needed or text else None:
        case "length":
            raise PauseRefused(_("Say why in 10 to 500 characters: it is kept for ever."), field="reason")
        case "personal":
            raise PauseRefused(
                _("The reason holds an address or a phone number, and is kept: refer by ID."), field="reason"
            )
    return text

"""A person's second factor: an app that shows six digits, and ten recovery codes for the day it is lost.

Each function opens its own transaction. Codes are compared under a lock on their device's row, so none is good twice.
"""

from __future__ import annotations

import re
import secrets
from base64 import b32encode
from typing import Final

from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db import transaction
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django_otp.models import Device
from django_otp.plugins.otp_static.models import StaticDevice, StaticToken
from django_otp.plugins.otp_totp.models import TOTPDevice

from reviews.signin import record

RECOVERY_CODES: Final = 10
# 50 bits: out of reach at the pace that the throttle allows, and still copied without a slip.
_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz234567"
_LENGTH: Final = 10
_DIGITS: Final = re.compile(r"[0-9]{6}")
_RECOVERY: Final = re.compile(rf"[a-z2-7]{{{_LENGTH}}}")


class WrongCode(Exception):
    """The code is not the one that the device shows now, or was used before."""


class TooSoon(Exception):
    """Too many wrong codes: none is looked at for `seconds`, the right one neither."""

    def __init__(self, seconds: int) -> None:
        super().__init__(seconds)
        self.seconds = seconds


def has_one(user: User) -> bool:
    """Tell whether the person has enrolled."""
    return bool(TOTPDevice.objects.filter(user_id=user.pk, confirmed=True).exists())


def pending(user: User) -> TOTPDevice | None:
    """Give the app that the person is enrolling."""
    return TOTPDevice.objects.filter(user_id=user.pk, confirmed=False).order_by("-pk").first()


def codes_left(user: User) -> int:
    """Count the recovery codes that were not used."""
    return int(StaticToken.objects.filter(device__user_id=user.pk).count())


def begin(user: User) -> None:
    """Make a fresh secret for an app; one that was begun before is forgotten."""
    with transaction.atomic():
        _lock(user)
        TOTPDevice.objects.filter(user_id=user.pk, confirmed=False).delete()
        TOTPDevice.objects.create(user_id=user.pk, name="app", confirmed=False)


def confirm(user: User, typed: str, *, actor: str) -> tuple[TOTPDevice, list[str]]:
    """Take the app into use in place of any other, and give it with new recovery codes. Raises WrongCode, TooSoon."""
    device = pending(user)
    if device is None:
        raise WrongCode
    _verify(device, typed)
    with transaction.atomic():
        _lock(user)
        replaced = TOTPDevice.objects.filter(user_id=user.pk).exclude(pk=device.pk).delete()[0]
        TOTPDevice.objects.filter(pk=device.pk).update(confirmed=True)
        record.write(user, "replaced" if replaced else "enrolled", actor=actor)
        codes = _make_codes(user)
    device.confirmed = True
    return device, codes


def check(user: User, typed: str, *, actor: str) -> Device:
    """Give the device whose code this is. A recovery code is used up. Raises WrongCode, TooSoon."""
    kind = StaticDevice if _RECOVERY.fullmatch(_plain(typed)) else TOTPDevice
    device = kind.objects.filter(user_id=user.pk, confirmed=True).order_by("pk").first()
    if device is None:
        raise WrongCode
    _verify(device, typed)
    if kind is StaticDevice:
        record.write(user, "code_used", actor=actor)
    return device


def make_codes(user: User, *, actor: str) -> list[str]:
    """Give new recovery codes; the old ones are good no more."""
    with transaction.atomic():
        _lock(user)
        record.write(user, "codes_made", actor=actor)
        return _make_codes(user)


def forget(user: User, deed: str, *, actor: str, reason: str = "") -> bool:
    """Take every second factor of the person away; False where there was none, and nothing was written."""
    with transaction.atomic():
        _lock(user)
        gone = [kind.objects.filter(user_id=user.pk).delete()[0] for kind in (TOTPDevice, StaticDevice)]
        if any(gone):
            record.write(user, deed, actor=actor, reason=reason)
    return any(gone)


def end_sessions(user: User, *, but: str | None = None) -> int:
    """Log the person out everywhere, `but` for the session of that key; give how many logins that were."""
    ended = 0
    for session in Session.objects.filter(expire_date__gt=timezone.now()).iterator():
        if session.session_key != but and session.get_decoded().get("_auth_user_id") == str(user.pk):
            session.delete()
            ended += 1
    return ended


def _lock(user: User) -> None:
    """Let two browsers of one person change its second factor one after the other."""
    User.objects.select_for_update().only("pk").get(pk=user.pk)


def _make_codes(user: User) -> list[str]:
    StaticDevice.objects.filter(user_id=user.pk).delete()
    device = StaticDevice.objects.create(user_id=user.pk, name="recovery", confirmed=True)
    codes = ["".join(secrets.choice(_LETTERS) for _ in range(_LENGTH)) for _ in range(RECOVERY_CODES)]
    StaticToken.objects.bulk_create(StaticToken(device=device, token=_kept(user.pk, code)) for code in codes)
    return [f"{code[:5]}-{code[5:]}" for code in codes]


def _kept(user_id: int, code: str) -> str:
    """Give what the database holds of a recovery code: 80 bits that do not lead back to it."""
    digest = salted_hmac("reviews.signin.recovery", f"{user_id}:{code}", algorithm="sha256").digest()
    return b32encode(digest)[:16].decode().lower()


def _plain(typed: str) -> str:
    return re.sub(r"[\s-]", "", typed)[:64].lower()


def _verify(device: Device, typed: str) -> None:
    """Let the device judge, and count a wrong code. Raises WrongCode, TooSoon."""
    code, is_app = _plain(typed), isinstance(device, TOTPDevice)
    if not (_DIGITS if is_app else _RECOVERY).fullmatch(code):
        raise WrongCode
    with transaction.atomic():
        locked = type(device).objects.select_for_update().get(pk=device.pk)
        is_allowed, why = locked.verify_is_allowed()
        is_right = is_allowed and locked.verify_token(code if is_app else _kept(device.user_id, code))
    if not is_allowed:
        until = (why or {}).get("locked_until")
        raise TooSoon(max(1, int((until - timezone.now()).total_seconds()) + 1) if until else 1)
    if not is_right:
        raise WrongCode

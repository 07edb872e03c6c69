"""Whether a person has shown a second factor in this session, and how long ago. All fail closed."""

from __future__ import annotations

import time
from typing import Any, Final

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.http import HttpRequest

# In the session: when it began, when the second factor was last shown, that one is wanted before anything else.
BEGAN: Final = "began_at"
SHOWN: Final = "second_factor_at"
WANTED: Final = "second_factor_wanted"


def is_required() -> bool:
    """Tell whether nobody works here without a second factor: always so in site mode live."""
    return bool(settings.NOTIFYOPS_SECOND_FACTOR != "optional")


def is_shown(request: HttpRequest) -> bool:
    """Tell whether this session has shown a second factor that still counts."""
    return bool(getattr(request.user, "otp_device", None)) and isinstance(request.session.get(SHOWN), int)


def is_wanted(request: HttpRequest) -> bool:
    """Tell whether this session must show one before it goes on."""
    return (is_required() or bool(request.session.get(WANTED))) and not is_shown(request)


def mark(request: HttpRequest) -> None:
    """Let the person of this request carry when the second factor was shown, for whoever judges an action."""
    request.user.second_factor_at = request.session.get(SHOWN) if is_shown(request) else None  # type: ignore[union-attr]


def is_recent(user: AbstractBaseUser | AnonymousUser | Any) -> bool:
    """Tell whether this person may do what cannot be taken back: the second factor was shown a short while ago.

    Where none is required everybody may. A person who did not come by a marked request may not.
    """
    if not is_required():
        return True
    at = getattr(user, "second_factor_at", None)
    return isinstance(at, int) and 0 <= now() - at <= settings.NOTIFYOPS_STEP_UP_S


def now() -> int:
    """Give the time in seconds, by this host's clock: sessions, like their cookies, live by that."""
    return int(time.time())

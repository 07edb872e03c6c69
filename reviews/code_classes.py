"""Kinds of error codes, so that a person can look for one kind without knowing its codes. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from notifications.policy import codes
from notifications.policy.causes import Cause, cause_of
from reviews.refusals import Sentence

NOT_SENT, UNANSWERED, CONFIGURATION, REFUSED, CONTENT, RETURNED, WAITING = (
    *("not_sent", "unanswered", "configuration", "refused", "content", "returned", "waiting"),
)
CLASSES: Final[dict[str, Sentence]] = {
    NOT_SENT: _("nothing left us"),
    UNANSWERED: _("no sure answer"),
    CONFIGURATION: _("our key, sender or setting"),
    REFUSED: _("the provider refused it"),
    CONTENT: _("the message itself"),
    RETURNED: _("came back, or was reported"),
    WAITING: _("approval, expiry, wishes"),
}
_BY_CAUSE: Final[dict[Cause, str]] = {
    Cause.ACCOUNT: CONFIGURATION,
    Cause.SITE: CONFIGURATION,
    Cause.CONTENT: CONTENT,
    Cause.DATA: CONTENT,
    Cause.REQUEST: REFUSED,
    Cause.ADDRESS: RETURNED,
    Cause.WISH: WAITING,
    Cause.DOUBT: UNANSWERED,
    Cause.SECOND: UNANSWERED,
    Cause.TRANSPORT: NOT_SENT,
}
# Where a person looks for it elsewhere than by its cause.
_OTHERWISE: Final[dict[str, str]] = {
    codes.BYTES_ERASED: CONTENT,
    codes.INVALID_RECIPIENT: CONTENT,
    codes.FAILED: RETURNED,
    codes.ADDRESS_COMPLAINED: RETURNED,
    codes.COMPLAINED: RETURNED,
    codes.ARRIVED_BEFORE: WAITING,
    codes.ORDER_OVERDUE: WAITING,
    **dict.fromkeys(("smtp.no_such_mailbox", "smtp.no_such_domain", "smtp.bad_address"), REFUSED),
    **dict.fromkeys(("smtp.mailbox_moved", "smtp.mailbox_disabled", "smtp.mailbox_full"), REFUSED),
    **dict.fromkeys(("webhook.gone", "webhook.not_found", "webhook.redirected"), REFUSED),
    "webhook.forbidden_address": CONTENT,
}
_LISTED: Final = (
    *(*codes.REVIEW_CODES, *codes.TRANSPORT_CODES, *codes.SMTP_CODES, *codes.WEBHOOK_CODES),
    *codes.SERVICE_CODES,
)
_OWN: Final[dict[str, str]] = {
    code: _OTHERWISE.get(code, _BY_CAUSE[cause])
    for code in (*_LISTED, "resend.invalid_key")
    if (cause := cause_of(code)) is not None
}
# The statuses of a provider's codes, `<provider>.<status>.<name>`.
_STATUSES: Final[dict[str, str]] = {
    CONFIGURATION: "(3[0-9][0-9]|40[1-5])",
    UNANSWERED: "(5[0-9][0-9]|40[89]|425)",
    CONTENT: "413",
    REFUSED: "4(?!0[1-589]|13|25)[0-9][0-9]",
}


def class_of(code: str) -> str:
    """Give the class of an error code; empty for one that nobody has classed."""
    if code in _OWN:
        return _OWN[code]
    return next((name for name, status in _STATUSES.items() if re.match(_pattern(status), code)), "")


def among(name: str, present: Iterable[str]) -> Q:
    """Choose a class among the codes that are there: a few values of an index."""
    return Q(error_code__in=[code for code in present if class_of(code) == name])


def anywhere(name: str) -> Q:
    """Choose a class whatever codes there are; for lists that are bounded by something else."""
    own = Q(error_code__in=[code for code, each in _OWN.items() if each == name])
    return own | Q(error_code__regex=_pattern(_STATUSES[name])) if name in _STATUSES else own


def _pattern(status: str) -> str:
    return rf"^[a-z0-9_]+\.{status}\."

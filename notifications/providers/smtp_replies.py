"""What SMTP replies mean: the step, the reply and its enhanced status → class and code, as data.

Only the numbers decide. The text of a reply is looked at for its enhanced status and not kept: it echoes addresses.
The enhanced status, where one is there and fits the reply, says more than the three digits.

Source: RFC 5321 sections 4.2 and 4.5.4; RFC 3463 and IANA's registry of enhanced status codes (read 2026-12); RFC 7505.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final, NamedTuple

from notifications.states import ResultClass


class Step(StrEnum):
    """How far one transaction got; each but the first and the last is a command that the server answers."""

    CONNECT = "connect"
    GREETING = "greeting"
    TLS = "tls"
    AUTH = "auth"
    MAIL = "mail"
    RCPT = "rcpt"
    DATA = "data"
    DOT = "dot"


class Verdict(NamedTuple):
    """What one refusal is. `name` is the code without its `smtp.`."""

    result_class: ResultClass
    name: str


_FIX: Final = ResultClass.FIX_CONFIG
_NO_MAILBOX: Final = Verdict(ResultClass.RECIPIENT, "no_such_mailbox")
_NO_DOMAIN: Final = Verdict(ResultClass.RECIPIENT, "no_such_domain")
_FULL: Final = Verdict(ResultClass.RECIPIENT_SOFT, "mailbox_full")
_TOO_LARGE: Final = Verdict(ResultClass.CONTENT, "too_large")
_CONTENT: Final = Verdict(ResultClass.CONTENT, "content_refused")
_SENDER: Final = Verdict(_FIX, "sender_refused")
_NOT_ALLOWED: Final = Verdict(_FIX, "not_allowed")
_LOGIN: Final = Verdict(_FIX, "login_refused")
_REFUSED: Final = Verdict(_FIX, "refused")
_DEFERRED: Final = Verdict(ResultClass.RETRYABLE, "deferred")
_GREYLISTED: Final = Verdict(ResultClass.RETRYABLE, "greylisted")
_TOO_MANY: Final = Verdict(ResultClass.RATE_LIMITED, "too_many")

# The two last numbers of 5.x.y, whatever the step was.
_ENHANCED: Final[dict[str, Verdict]] = {
    "1.1": _NO_MAILBOX,
    "1.2": _NO_DOMAIN,
    "1.3": Verdict(ResultClass.RECIPIENT, "bad_address"),
    "1.6": Verdict(ResultClass.RECIPIENT, "mailbox_moved"),
    "1.7": _SENDER,
    "1.8": _SENDER,
    "1.10": _NO_DOMAIN,
    "2.1": Verdict(ResultClass.RECIPIENT, "mailbox_disabled"),
    "2.2": _FULL,
    "2.3": _TOO_LARGE,
    "3.4": _TOO_LARGE,
    "4.4": _NO_DOMAIN,
}
# The three digits alone, by the step in which they came; a step or reply that is not here is `refused`.
_PLAIN: Final[dict[Step, dict[int, Verdict]]] = {
    Step.AUTH: dict.fromkeys((530, 534, 535, 538, 550, 554), _LOGIN),
    Step.MAIL: {530: _NOT_ALLOWED, 552: _TOO_LARGE, **dict.fromkeys((550, 551, 553, 554), _SENDER)},
    Step.RCPT: {530: _NOT_ALLOWED, 552: _FULL, 556: _NO_DOMAIN, **dict.fromkeys((550, 551, 553), _NO_MAILBOX)},
    Step.DATA: {552: _TOO_LARGE, 554: _CONTENT},
    Step.DOT: {552: _TOO_LARGE, **dict.fromkeys((550, 554), _CONTENT)},
}
_STATUS: Final = re.compile(r"([245])\.([0-9]{1,3}\.[0-9]{1,3})(?![0-9.])")
# A greylisting server takes the next try after some minutes; sooner ones only start its clock anew.
GREYLISTED_S: Final = 300.0

# Codes that no reply stands behind. The sentences of all codes stand in policy/codes.py.
ACCEPTED: Final = "smtp.accepted"
MALFORMED: Final = "smtp.malformed_response"
NOT_MAIL: Final = "smtp.not_mail"
TOO_LARGE: Final = "smtp.too_large"
NO_TLS: Final = "smtp.no_tls"
NO_LOGIN: Final = "smtp.no_login"
GARBLED: Final = "smtp.garbled"
VERDICTS: Final = frozenset(
    {*_ENHANCED.values(), *(verdict for plain in _PLAIN.values() for verdict in plain.values())}
    | {_NOT_ALLOWED, _REFUSED, _DEFERRED, _GREYLISTED, _TOO_MANY}
)
CODES: Final = frozenset(
    {ACCEPTED, MALFORMED, NOT_MAIL, TOO_LARGE, NO_TLS, NO_LOGIN, GARBLED}
    | {f"smtp.{verdict.name}" for verdict in VERDICTS}
)


def judge(step: Step, reply: int, text: str) -> Verdict:
    """Judge a reply of 400 to 599. `text` is looked at and not kept."""
    status = _status(reply, text)
    if reply < 500:
        return _temporary(step, reply, status)
    if status is not None and (known := _permanent(step, status)) is not None:
        return known
    return _PLAIN.get(step, {}).get(reply, _REFUSED)


def _status(reply: int, text: str) -> str | None:
    """Give the two last numbers of the enhanced status, where there is one and its class is the reply's."""
    found = _STATUS.match(text.lstrip())
    return found[2] if found and found[1] == str(reply)[0] else None


def _temporary(step: Step, reply: int, status: str | None) -> Verdict:
    if status == "5.3":
        return _TOO_MANY
    if (status or "").startswith("7.") or (step is Step.RCPT and reply in (450, 451) and status is None):
        return _GREYLISTED
    return _DEFERRED


def _permanent(step: Step, status: str) -> Verdict | None:
    if step is Step.AUTH:
        return _LOGIN
    if status in _ENHANCED:
        return _ENHANCED[status]
    if status.startswith("6."):
        return _CONTENT
    if status.startswith("7."):
        # 5.7.1 after the whole message is mostly said of its words; the others name keys, policies and senders.
        return _CONTENT if status == "7.1" and step is Step.DOT else _NOT_ALLOWED
    return None

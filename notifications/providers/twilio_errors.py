"""What Twilio's answers and reports mean: its number → class, code and kind of failure, as data.

The number decides; nothing else of an answer is kept, since messages echo numbers. One that is not listed is judged by
the HTTP status, or by the report's own status, and kept as a number.

Source: twilio.com/docs/api/errors (read 2026-11: 20500, 21608, 21624, 30003, 30022, 30036, 30500, 63038; the others as
others have collected them, help.sleekflow.io and help.chekkit.io among them). 20500: a POST that sends is not
idempotent, and a repeat may reach the customer twice. Which failures are for good follows the pages' causes: 30005 and
30006 name a number that takes nothing, 30003 a handset that is away for now.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from notifications.states import ResultClass

_FIX: Final = ResultClass.FIX_CONFIG
# Kinds of failure in a report: the number takes nothing, ever; its owner said so; not now; our account or our text.
PERMANENT, SUPPRESSED, TRANSIENT, ACCOUNT = "permanent", "suppressed", "transient", "account"


class Row(NamedTuple):
    """One documented number as the answer to a call."""

    number: int
    result_class: ResultClass
    name: str


ROWS: Final = (
    Row(20003, _FIX, "login_refused"),
    Row(20005, _FIX, "account_suspended"),
    Row(20403, _FIX, "not_allowed"),
    Row(20404, _FIX, "not_found"),
    Row(20429, ResultClass.RATE_LIMITED, "too_many"),
    Row(20500, ResultClass.UNKNOWN, "failed"),
    Row(20503, ResultClass.UNKNOWN, "unavailable"),
    Row(21211, ResultClass.RECIPIENT, "bad_number"),
    Row(21217, ResultClass.RECIPIENT, "bad_number"),
    Row(21212, _FIX, "sender_refused"),
    Row(21267, _FIX, "sender_refused"),
    # It concerns the recipient's country, and says nothing of the others.
    Row(21408, ResultClass.CONTENT, "region_not_allowed"),
    Row(21602, ResultClass.CONTENT, "content_refused"),
    Row(21603, _FIX, "sender_refused"),
    Row(21606, _FIX, "sender_refused"),
    Row(21608, ResultClass.CONTENT, "trial_account"),
    Row(21609, _FIX, "bad_callback"),
    Row(21610, ResultClass.RECIPIENT, "opted_out"),
    Row(21611, ResultClass.RATE_LIMITED, "queue_full"),
    Row(21612, ResultClass.CONTENT, "no_route"),
    Row(21614, ResultClass.RECIPIENT, "not_mobile"),
    Row(21617, ResultClass.CONTENT, "too_long"),
    Row(21619, ResultClass.CONTENT, "content_refused"),
    Row(21635, ResultClass.RECIPIENT, "not_mobile"),
    Row(21659, _FIX, "sender_refused"),
    Row(21660, _FIX, "sender_refused"),
    Row(21701, _FIX, "sender_refused"),
    Row(21703, _FIX, "sender_refused"),
    Row(21704, _FIX, "sender_refused"),
    Row(21705, _FIX, "sender_refused"),
    Row(63038, ResultClass.QUOTA, "daily_limit"),
)
_BY_NUMBER: Final = {row.number: row for row in ROWS}
OPTED_OUT: Final = 21610
# Of reports: what a number says about the failure.
FAILURES: Final[dict[int, str]] = {
    OPTED_OUT: SUPPRESSED,
    **dict.fromkeys((21211, 21217, 21614, 21635), PERMANENT),
    30001: TRANSIENT,  # the provider's queue overflowed
    30002: ACCOUNT,  # suspended
    30003: TRANSIENT,  # the handset is away
    30004: TRANSIENT,  # blocked on the way, as a carrier may do for a while
    30005: PERMANENT,  # no such handset
    30006: PERMANENT,  # a landline, or a carrier that nobody reaches
    30007: ACCOUNT,  # filtered as unwanted
    30008: TRANSIENT,  # unknown
    30010: ACCOUNT,  # dearer than the account allows
    **dict.fromkeys((30022, 30023, 30027), TRANSIENT),  # more than the carriers take of this sender for now
    **dict.fromkeys((30024, 30032, 30034), ACCOUNT),  # the sender is not registered with the carriers
    30036: TRANSIENT,  # not sent within its validity
    30410: TRANSIENT,  # the carrier did not answer
    30500: TRANSIENT,
    63038: ACCOUNT,
}
ACCEPTED: Final = "twilio.accepted"
MALFORMED: Final = "twilio.malformed_response"
NOT_SMS: Final = "twilio.not_sms"
CODES: Final = frozenset({ACCEPTED, MALFORMED, NOT_SMS} | {f"twilio.{row.name}" for row in ROWS})


def class_of(status: int, number: int | None) -> ResultClass:
    """Give the class of an answer that is not a success. A 5xx may follow an acceptance, whatever its number says."""
    row = _BY_NUMBER.get(number) if number is not None else None
    if status == 429 and (row is None or row.result_class is not ResultClass.QUOTA):
        return ResultClass.RATE_LIMITED
    if row is not None and 400 <= status < 500:
        return row.result_class
    if status in (408, 425):
        return ResultClass.UNKNOWN
    return _FIX if 300 <= status < 500 else ResultClass.UNKNOWN


def code_of(status: int, number: int | None) -> str:
    """Give the code: a name of the vocabulary, or the number where it is not in the list."""
    row = _BY_NUMBER.get(number) if number is not None else None
    if row is not None and class_of(status, number) is row.result_class:
        return f"twilio.{row.name}"
    return f"twilio.{status}.{'unclassified' if number is None else number}"


def number_of(value: object) -> int | None:
    """Give a number of Twilio's, five digits as text or as a number; None for anything else."""
    text = str(value) if type(value) is int else value
    if not isinstance(text, str) or len(text) != 5:
        return None
    return int(text) if text.isascii() and text.isdigit() else None

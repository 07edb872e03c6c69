"""A message turned into the frozen form of one text message: what it is, until when it may leave, and what is posted.

How long the provider may hold it is counted at the call, so that an attempt later in the ladder promises no more time.

Source: twilio.com/docs/messaging/api/message-resource (read 2026-11): To, From or MessagingServiceSid, Body up to 1,600
characters, StatusCallback, ValidityPeriod of 1 to 36,000 seconds.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qs, urlencode

from notifications.providers import mail_fields
from notifications.providers.base import Message, Unsendable
from notifications.providers.sms_parts import part_count
from notifications.states import ResultClass

LONGEST_VALIDITY_S: Final = 36_000
# The intake knows the same form (policy/phones.py, phone_is_plain_v1), and a test compares the three.
_NUMBER: Final = re.compile(r"\+[1-9][0-9]{7,14}")
_SERVICE: Final = re.compile(r"MG[0-9a-f]{32}")
# A number, a short code, or a name of up to eleven signs with a letter among them.
_SENDER: Final = re.compile(r"\+[1-9][0-9]{7,14}|[0-9]{3,8}|(?=.*[A-Za-z])[A-Za-z0-9 &+_-]{1,11}")
_TAG: Final = re.compile(r"[A-Za-z0-9_-]{1,256}")
# What names the message in the provider's reports: whose it is, whatever became of the answer to our call.
NAMES: Final = ("site", "intent", "generation", "root")
_FROZEN: Final = re.compile(
    rb"SMS (?P<names>[A-Za-z0-9_&=-]{0,1100})\r\n(?:Until: (?P<until>[0-9]{1,11})\r\n)?\r\n"
    rb"(?P<form>To=%2B[1-9][0-9]{7,14}&[!-~]{1,20000})"
)


@dataclass(frozen=True, slots=True)
class Text:
    """One text message, read back from its frozen bytes. `until` is in seconds since the epoch."""

    form: bytes
    until: int | None

    def field(self, name: str) -> str:
        """Give a field of the form; empty where there is none."""
        return parse_qs(self.form.decode()).get(name, [""])[0]

    def posted(self, now_s: float) -> bytes:
        """Give the form as it is posted now."""
        if self.until is None:
            return self.form
        validity_s = min(max(int(self.until - now_s), 1), LONGEST_VALIDITY_S)
        return self.form + f"&ValidityPeriod={validity_s}".encode()


def phone(text: str) -> str:
    """Give the recipient's number, if it has the form that is kept. Raises Unsendable."""
    if not _NUMBER.fullmatch(text):
        raise Unsendable("invalid_recipient", ResultClass.RECIPIENT)
    return text


def frozen_text(message: Message, *, reports_to: str, most_parts: int) -> bytes:
    """Give what names the message, its end, and the form. `reports_to`: our address for reports, or empty.

    Raises Unsendable: `no_short_text` where the type has none, `too_many_parts` where it is too long.
    """
    to = phone(message.to)
    sender = message.sender
    if not _SENDER.fullmatch(sender) and not _SERVICE.fullmatch(sender):
        raise Unsendable("invalid_sender")
    mail_fields.subject(message.subject)
    mail_fields.headers(message.headers)
    fields = {
        "To": to,
        "MessagingServiceSid" if _SERVICE.fullmatch(sender) else "From": sender,
        "Body": _body(message.short, most_parts),
    }
    names = urlencode(_names(message))
    if reports_to:
        fields["StatusCallback"] = f"{reports_to}?{names}" if names else reports_to
    until = f"Until: {int(message.expires_at.timestamp())}\r\n" if message.expires_at is not None else ""
    return f"SMS {names}\r\n{until}\r\n{urlencode(fields)}".encode()


def read_text(frozen: bytes) -> Text | None:
    """Read frozen bytes; None where they are not this adapter's."""
    found = _FROZEN.fullmatch(frozen)
    if found is None:
        return None
    return Text(found["form"], int(found["until"]) if found["until"] is not None else None)


def _body(short: str | None, most_parts: int) -> str:
    if short is None:
        raise Unsendable("no_short_text")
    body = mail_fields.visible(short).strip()
    if not body:
        raise Unsendable("empty_body")
    if part_count(body) > most_parts:
        raise Unsendable("too_many_parts")
    return body


def _names(message: Message) -> dict[str, str]:
    names = {name: message.tags[name] for name in NAMES if name in message.tags}
    if not all(_TAG.fullmatch(value) for value in names.values()):
        raise Unsendable("invalid_tag")
    return names

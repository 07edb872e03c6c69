"""Twilio's reports on a message: signed with the account's token, over our address and all that is posted.

The address bears our own names of the message, so that a report proves an acceptance whose answer was lost. There is no
time in it: what is captured and posted again is known by what it says, and is nothing new.

Source: twilio.com/docs/usage/security, "Validating requests" (read 2026-11: HMAC-SHA1 over the address and the fields
in the order of their names); twilio-python 9.13 request_validator (both spellings of the port, each value of a name
once); twilio.com/docs/messaging/guides/track-outbound-message-status.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qs, parse_qsl, urlsplit

from notifications.providers import twilio_errors
from notifications.receipts.parse import UNREADABLE, Told, matched, number, says
from notifications.receipts.verify import Unverified

HEADER: Final = "X-Twilio-Signature"
_SIGNATURE: Final = re.compile(r"[A-Za-z0-9+/]{27}=")
_TOKEN: Final = re.compile(r"[!-~]{8,128}")
_STATUS: Final = re.compile(r"[a-z_]{1,32}")
_SID: Final = re.compile(r"(?:SM|MM)[0-9a-f]{32}")
_TAG: Final = re.compile(r"[A-Za-z0-9_-]+")
# A report has about fifteen fields, a number's with all that is known of it thirty.
_MOST_FIELDS: Final = 100


@dataclass(frozen=True, slots=True)
class Report:
    """One report as it came: nothing of it is proven before `verify`."""

    url: str
    fields: tuple[tuple[str, str], ...]
    signature: bytes

    @property
    def event_id(self) -> str:
        """Give the id by which a repeat is known: which message it is about, and what it says."""
        said = [self._field(name) for name in ("MessageSid", "MessageStatus", "ErrorCode")]
        text = "\0".join([*said, urlsplit(self.url).query])
        return "tw_" + hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:48]

    def verify(self, keys: Sequence[bytes]) -> None:
        """Return where one of the keys signed exactly this. Raises Unverified, and nothing else."""
        posted = "".join(name + value for name, value in sorted(set(self.fields)))
        signed = [(url + posted).encode("utf-8", "replace") for url in _spellings(self.url)]
        wanted = [base64.b64encode(hmac.digest(key, text, hashlib.sha1)) for key in keys for text in signed]
        # Every pair is compared, in constant time: how long it takes tells nothing of which was nearly right.
        hits = [hmac.compare_digest(self.signature, one) for one in wanted]
        if not any(hits):
            raise Unverified("signature" if keys else "no_secret")

    def told(self) -> Told:
        """Give what it says. Never raises."""
        status = matched(_STATUS, self._field("MessageStatus") or self._field("SmsStatus"), 32)
        sid = matched(_SID, self._field("MessageSid") or self._field("SmsSid"), 34)
        if status is None:
            return Told(UNREADABLE)
        error = twilio_errors.number_of(self._field("ErrorCode")) if status in ("failed", "undelivered") else None
        kind = twilio_errors.FAILURES.get(error) if error is not None else None
        tags = {name: values[0] for name, values in parse_qs(urlsplit(self.url).query).items()}
        event_type = f"sms.{status}"
        return Told(
            type=event_type,
            says=says(event_type, kind),
            provider_message_id=sid,
            tag_site=matched(_TAG, tags.get("site"), 64),
            tag_intent=number(tags.get("intent"), 2**63 - 1),
            tag_generation=number(tags.get("generation"), 2**15 - 1),
            tag_root=number(tags.get("root"), 2**63 - 1),
            bounce_class=kind,
            code=str(error) if error is not None else None,
        )

    def _field(self, name: str) -> str:
        return next((value for each, value in self.fields if each == name), "")


def reported(url: str, body: bytes, signature: str) -> Report:
    """Give the report, if it is well-formed. Raises Unverified."""
    if not _SIGNATURE.fullmatch(signature):
        raise Unverified("malformed")
    try:
        fields = parse_qsl(body.decode("ascii"), keep_blank_values=True, max_num_fields=_MOST_FIELDS, errors="strict")
    except ValueError:  # no form, too many fields, or no UTF-8 in one
        raise Unverified("malformed") from None
    return Report(url, tuple(fields), signature.encode())


def key_of(secret: str) -> bytes:
    """Give the key of a token: alone, or behind the account's SID as the workers have it.

    Raises ValueError with a sentence that does not repeat it.
    """
    account, colon, token = secret.rpartition(":")
    if not _TOKEN.fullmatch(token) or (colon and not re.fullmatch(r"AC[0-9a-f]{32}", account)):
        raise ValueError("is no token of a Twilio account: give the token, or AC…:token")
    return token.encode()


def _spellings(url: str) -> list[str]:
    """Give the address with and without its port: which of them was signed differs by the provider's own part."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    name, colon, _ = host.partition(":") if not host.startswith("[") else (host, ":", "")
    usual = {"https": "443", "http": "80"}.get(parts.scheme, "")
    other = name if colon else f"{host}:{usual}"
    return [url, parts._replace(netloc=other).geturl()]

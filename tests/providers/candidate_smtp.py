"""SMTP in the suite: one transaction, judged by the reply to its final dot."""

from __future__ import annotations

import re

from notifications.providers.smtp import SmtpProvider
from notifications.states import Outcome, Phase
from tests.providers.conformance import RAW, Candidate, Trial
from tests.providers.smtp_server import dripping, saying, smtp

_RAW = RAW.encode()
LOST = Phase.REQUEST_WRITTEN


def recipients(body: bytes) -> list[str]:
    return [address.decode() for address in re.findall(rb"(?m)^RCPT TO:<(.*)>\r$", body)]


CANDIDATE = Candidate(
    "smtp",
    lambda port: SmtpProvider(base_url=f"smtp+cleartext://127.0.0.1:{port}", password="", connections=4),
    (
        Trial("accepts", smtp(dot=b"250 2.0.0 " + _RAW + b"\r\n"), Outcome.ACCEPTED, "smtp.accepted"),
        Trial(
            "refuses the recipient",
            smtp(rcpt=b"550 5.1.1 " + _RAW + b"\r\n"),
            Outcome.REJECTED,
            "smtp.no_such_mailbox",
            messages=0,
        ),
        Trial(
            "refuses the account",
            smtp(mail=b"550 5.7.1 " + _RAW + b"\r\n"),
            Outcome.REJECTED,
            "smtp.not_allowed",
            messages=0,
        ),
        Trial(
            "takes no more for now",
            smtp(rcpt=b"452 4.5.3 " + _RAW + b"\r\n"),
            Outcome.NOT_SENT,
            "smtp.too_many",
            messages=0,
        ),
        Trial("answers garbage", smtp(dot=_RAW + b"\r\n"), Outcome.UNKNOWN, "smtp.malformed_response"),
        Trial(
            "closes instead of an answer",
            smtp(dot=saying(then="hang_up")),
            Outcome.UNKNOWN,
            "unknown.disconnected",
            LOST,
        ),
        Trial(
            "resets instead of an answer", smtp(dot=saying(then="reset")), Outcome.UNKNOWN, "unknown.disconnected", LOST
        ),
        Trial("stays silent", smtp(dot=saying(then="wait")), Outcome.UNKNOWN, "unknown.deadline", LOST),
        Trial("drips without an end", smtp(dot=dripping), Outcome.UNKNOWN, "unknown.deadline", LOST),
        Trial(
            "answers half, then closes",
            smtp(dot=saying(b"250-" + _RAW + b"\r\n250-", then="hang_up")),
            Outcome.UNKNOWN,
            "unknown.disconnected",
            LOST,
        ),
        # 251 and 551 name another address; the mail goes nowhere but where it was told to.
        Trial(
            "sends us elsewhere",
            smtp(rcpt=b"551 user not local; try <" + _RAW + b">\r\n"),
            Outcome.REJECTED,
            "smtp.no_such_mailbox",
            messages=0,
        ),
    ),
    recipients,
)

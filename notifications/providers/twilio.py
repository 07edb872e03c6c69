"""Twilio's Messages as a provider: one POST, and what its answer proves.

There is no idempotency key, so that nothing protects a repeat: an unknown outcome is asked about, or goes to a person.
Each message's reports come to an address of its own, so that a report proves what a lost answer would have said.

Source: twilio.com/docs/messaging/api/message-resource, /docs/usage/requests-to-twilio and /docs/api/errors (read
2026-11); twilio-python 9.13, where Message.create has no idempotency parameter.
"""

from __future__ import annotations

import base64
import json
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

from yarl import URL

from notifications.providers import twilio_errors
from notifications.providers.base import Capabilities, Message, Request, SendResult
from notifications.providers.http import Answer, Failure, Transport
from notifications.providers.outcomes import OUTCOMES, without_answer
from notifications.providers.retry_after import printable, wanted_wait
from notifications.providers.twilio_message import frozen_text, read_text
from notifications.states import Outcome, Phase, ResultClass

CAPABILITIES: Final = Capabilities(
    idempotency="none",
    idempotency_window=None,
    idempotency_key_max=None,
    key_scope="none",
    lookup=frozenset({"provider_id", "recipient_time"}),
    lookup_settle=timedelta(minutes=2),
    lookup_retention=timedelta(days=30),
    receipts=frozenset({"sent", "delivered", "bounced", "failed", "suppressed"}),
    max_recipients=1,
    dates_messages=True,  # the end of its validity
    wants_short=True,
)
_SID: Final = re.compile(r"(?:SM|MM)[0-9a-f]{32}")
_ACCOUNT: Final = re.compile(r"AC[0-9a-f]{32}")
_KEY: Final = re.compile(r"SK[0-9a-f]{32}")
_TOKEN: Final = re.compile(r"[!-9;-~]{8,128}")
_TRACE_ID: Final = re.compile(r"[A-Za-z0-9-]{1,64}")


@dataclass(frozen=True, slots=True)
class Login:
    """Whose account it is, and who acts for it: the account itself, or an API key."""

    account: str
    user: str
    password: str

    @classmethod
    def of(cls, secret: str) -> Login:
        """Read `AC…:token`, or `AC…:SK…:secret`. Raises ValueError with a sentence, and never the secret in it."""
        account, *rest = secret.split(":")
        user = rest[0] if len(rest) == 2 else account
        is_known = _ACCOUNT.fullmatch(account) and (user == account or _KEY.fullmatch(user))
        if not is_known or len(rest) not in (1, 2) or not _TOKEN.fullmatch(rest[-1]):
            raise ValueError("Write the secret as AC…:token, the account's SID and its token, or as AC…:SK…:secret.")
        return cls(account, user, rest[-1])

    def headers(self) -> dict[str, str]:
        """Give what every call carries."""
        basic = base64.b64encode(f"{self.user}:{self.password}".encode()).decode()
        return {
            "Authorization": f"Basic {basic}",
            "User-Agent": "notifyops/1.0",
            "Accept": "application/json",
            "Accept-Encoding": "identity",
        }


@dataclass(frozen=True, slots=True)
class Reports:
    """Where the provider reports to (empty: nowhere), and how many parts a text may have."""

    url: str = ""
    most_parts: int = 3


class TwilioProvider:
    """One account; `base_url` is the API's or a stand-in's, such as https://api.twilio.com."""

    name = "twilio"

    def __init__(
        self,
        *,
        base_url: str,
        secret: str,
        reports: Reports | None = None,
        connections: int = 32,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Check the settings; no connection is made. Raises ValueError with a sentence, and never the secret in it."""
        login = Login.of(secret)
        self._url = messages_url(base_url, login.account)
        if connections < 1:
            raise ValueError("The number of connections must be at least 1.")
        self._reports = reports or Reports()
        # Without an address of ours nothing is ever reported.
        self.capabilities = CAPABILITIES if self._reports.url else replace(CAPABILITIES, receipts=frozenset())
        self._clock = clock
        fixed = login.headers() | {"Content-Type": "application/x-www-form-urlencoded"}
        self._transport = Transport(headers=fixed, connections=connections)

    def prepare(self, message: Message) -> bytes:
        """Give what names the message, and the form. Raises Unsendable."""
        return frozen_text(message, reports_to=self._reports.url, most_parts=self._reports.most_parts)

    async def send(self, request: Request) -> SendResult:
        """Make one network attempt with the frozen form, and say what is true about it."""
        text = read_text(request.body)
        if text is None:
            code, phase = twilio_errors.NOT_SMS, Phase.NOT_CONNECTED
            return SendResult(Outcome.REJECTED, ResultClass.FIX_CONFIG, code, phase)
        answer = await self._transport.post(self._url, replace(request, body=text.posted(self._clock())), {})
        return without_answer(answer) if isinstance(answer, Failure) else _answered(answer)

    async def close(self) -> None:
        """Give back the sockets."""
        await self._transport.close()


def messages_url(base_url: str, account: str) -> URL:
    """Give the address of an account's messages. Raises ValueError with a sentence."""
    try:
        url = URL(base_url)
        usable = url.scheme in ("http", "https") and bool(url.host) and not (url.user or url.password)
    except (ValueError, TypeError):
        usable = False
    if not usable or url.query_string or url.fragment:
        raise ValueError("The base URL must be like https://api.twilio.com, without a user, a query or a fragment.")
    return url.with_path(f"{url.path.rstrip('/')}/2010-04-01/Accounts/{account}/Messages.json")


def json_object(body: bytes | None) -> Mapping[str, object]:
    """Give the fields of a JSON object; an empty mapping for anything else."""
    try:
        fields = json.loads(body) if body else {}
    except (ValueError, RecursionError):
        return {}
    return fields if isinstance(fields, dict) else {}


def is_sid(value: object) -> bool:
    """Say whether this is the id of a message."""
    return isinstance(value, str) and _SID.fullmatch(value) is not None


def _answered(answer: Answer) -> SendResult:
    status, fields, phase = answer.status, json_object(answer.body), Phase.ANSWER_READ
    trace = answer.headers.get("Twilio-Request-Id")
    trace_id = trace if trace is not None and _TRACE_ID.fullmatch(trace) else None
    if 200 <= status < 300:
        sid = fields.get("sid")
        if isinstance(sid, str) and is_sid(sid):
            taken = (Outcome.ACCEPTED, ResultClass.ACCEPTED, twilio_errors.ACCEPTED, phase)
            return SendResult(*taken, provider_message_id=sid, http_status=status, trace_id=trace_id)
        unclear = (Outcome.UNKNOWN, ResultClass.UNKNOWN, twilio_errors.MALFORMED, phase)
        return SendResult(*unclear, http_status=status, trace_id=trace_id)
    number = twilio_errors.number_of(fields.get("code"))
    result_class = twilio_errors.class_of(status, number)
    asked = answer.headers.getall("Retry-After", ())
    return SendResult(
        OUTCOMES[result_class],
        result_class,
        twilio_errors.code_of(status, number),
        phase,
        http_status=status,
        retry_after_s=wanted_wait(asked, answer.headers.get("Date"), time.time) if asked else None,
        retry_after_raw=printable(asked),
        trace_id=trace_id,
        address_gone=number == twilio_errors.OPTED_OUT and result_class is ResultClass.RECIPIENT,
    )

"""Resend's API as a provider: one POST /emails, and what its answer proves.

Source: resend.com/docs/api-reference/emails/send-email, /docs/api-reference/rate-limit and
/docs/dashboard/emails/idempotency-keys (read 2026-09).
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from datetime import timedelta
from ssl import SSLContext

from multidict import CIMultiDictProxy
from yarl import URL

from notifications.providers import resend_errors
from notifications.providers.base import Capabilities, Message, Request, SendResult
from notifications.providers.http import Answer, Failure, Transport
from notifications.providers.outcomes import OUTCOMES, without_answer
from notifications.providers.resend_message import MAX_BYTES, request_bytes
from notifications.providers.retry_after import printable, wanted_wait
from notifications.states import Outcome, Phase, ResultClass

CAPABILITIES = Capabilities(
    idempotency="key",
    idempotency_window=timedelta(hours=24),
    idempotency_key_max=256,
    key_scope="team+method+endpoint",
    lookup=frozenset({"provider_id", "correlation", "recipient_time"}),
    lookup_settle=timedelta(minutes=2),
    lookup_retention=timedelta(days=30),
    receipts=frozenset({"sent", "delivered", "deferred", "bounced", "complained", "failed", "suppressed"}),
    max_recipients=1,
    rate_hint=10,
    attachment_limit=MAX_BYTES,
)

_KEY = re.compile(r"[!-~]{1,256}")
_MESSAGE_ID = re.compile(r"[A-Za-z0-9._:@<>+=/-]{1,200}")
_TRACE_ID = re.compile(r"[A-Za-z0-9-]{1,64}")
_COUNT = re.compile(r"[0-9]{1,9}")
# `10;w=1`: the window in seconds. Source: draft-ietf-httpapi-ratelimit-headers-06, section 3.2; recorded answers.
_WINDOW = re.compile(r"[0-9]{1,9}\s*;\s*w=([0-9]{1,9})")
_LIMIT_HEADERS = (
    "ratelimit-limit",
    "ratelimit-remaining",
    "ratelimit-reset",
    "x-resend-daily-quota",
    "x-resend-monthly-quota",
)


class ResendProvider:
    """One Resend account; `base_url` is the API's or the sandbox's, without a trailing /emails."""

    name = "resend"
    capabilities = CAPABILITIES

    def __init__(
        self,
        *,
        base_url: str,
        api_key: str,
        user_agent: str = "notifyops/1.0",
        connections: int = 32,
        ssl: SSLContext | None = None,
    ) -> None:
        """Check the settings; no connection is made. Raises ValueError with a sentence, and never the key in it."""
        self._url = emails_url(base_url)
        if connections < 1:
            raise ValueError("The number of connections must be at least 1.")
        fixed = headers(api_key, user_agent) | {"Content-Type": "application/json"}
        self._transport = Transport(headers=fixed, connections=connections, ssl=ssl)

    def prepare(self, message: Message) -> bytes:
        """Give the exact request bytes. Raises Unsendable."""
        return request_bytes(message)

    async def send(self, request: Request) -> SendResult:
        """Make one network attempt with the frozen bytes, and say what is true about it."""
        if not _KEY.fullmatch(request.key):
            return SendResult(Outcome.REJECTED, ResultClass.FIX_CONFIG, "resend.invalid_key", Phase.NOT_CONNECTED)
        answer = await self._transport.post(self._url, request, {"Idempotency-Key": request.key})
        if isinstance(answer, Failure):
            return without_answer(answer)
        return _answered(answer)

    async def close(self) -> None:
        """Give back the sockets."""
        await self._transport.close()


def headers(api_key: str, user_agent: str) -> dict[str, str]:
    """Give what every call carries. Raises ValueError with a sentence, and never the key in it."""
    if not _KEY.fullmatch(api_key):
        raise ValueError("The Resend API key must be 1 to 256 printable ASCII characters without blanks.")
    # Source: github.com/resend/resend-skills, references/logs.md: without one the edge answers 403.
    if not user_agent.strip() or not (user_agent.isascii() and user_agent.isprintable()):
        raise ValueError("The user agent must be printable ASCII, for example notifyops/1.0.")
    return {
        "Authorization": f"Bearer {api_key}",
        "User-Agent": user_agent,
        "Accept": "application/json",
        "Accept-Encoding": "identity",
    }


def emails_url(base_url: str) -> URL:
    """Give the address of the mails under a base URL. Raises ValueError with a sentence."""
    try:
        url = URL(base_url)
        usable = url.scheme in ("http", "https") and bool(url.host) and not (url.user or url.password)
    except (ValueError, TypeError):
        usable = False
    if not usable or url.query_string or url.fragment:
        raise ValueError("The base URL must be like https://api.resend.com, without a user, a query or a fragment.")
    return url.with_path(url.path.rstrip("/") + "/emails")


def _answered(answer: Answer) -> SendResult:
    status, headers = answer.status, answer.headers
    fields = _json_object(answer.body)
    limits, trace_id = _limits(headers), _trace_id(headers)
    if 200 <= status < 300:
        return _after_success(status, fields.get("id"), limits, trace_id)
    result_class, code, field = _classified(answer, fields)
    asked = headers.getall("Retry-After", ())
    return SendResult(
        OUTCOMES[result_class],
        result_class,
        code,
        Phase.ANSWER_READ,
        http_status=status,
        retry_after_s=wanted_wait(asked, headers.get("Date"), time.time) if asked else None,
        retry_after_raw=printable(asked),
        trace_id=trace_id,
        limits=limits,
        field=field,
    )


def _after_success(status: int, message_id: object, limits: Mapping[str, int], trace_id: str | None) -> SendResult:
    """Accept only with an id that can be kept and asked for; any other 2xx proves nothing."""
    accepted = isinstance(message_id, str) and _MESSAGE_ID.fullmatch(message_id) is not None
    return SendResult(
        Outcome.ACCEPTED if accepted else Outcome.UNKNOWN,
        ResultClass.ACCEPTED if accepted else ResultClass.UNKNOWN,
        "resend.accepted" if accepted else resend_errors.MALFORMED,
        Phase.ANSWER_READ,
        provider_message_id=message_id if accepted and isinstance(message_id, str) else None,
        http_status=status,
        limits=limits,
        trace_id=trace_id,
    )


def _classified(answer: Answer, fields: Mapping[str, object]) -> tuple[ResultClass, str, str | None]:
    name, message = fields.get("name"), fields.get("message")
    if answer.status == 403 and not fields:
        name = "edge_refusal"  # plain text or HTML: the API itself always answers JSON
    known = name if isinstance(name, str) and name in resend_errors.NAMES else None
    said = message if isinstance(message, str) else ""
    field = resend_errors.field_of(answer.status, known, said)
    return resend_errors.class_of(answer.status, known, said), resend_errors.code_of(answer.status, known), field


def _json_object(body: bytes | None) -> Mapping[str, object]:
    """Give the answer's fields; an empty mapping for anything that is not a JSON object."""
    if not body:
        return {}
    try:
        fields = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return fields if isinstance(fields, dict) else {}


def _limits(headers: CIMultiDictProxy[str]) -> Mapping[str, int]:
    limits = {
        name: int(value)
        for name in _LIMIT_HEADERS
        if (value := headers.get(name)) is not None and _COUNT.fullmatch(value)
    }
    window = _WINDOW.fullmatch(headers.get("ratelimit-policy", ""))
    return limits | {"ratelimit-window": int(window[1])} if window else limits


def _trace_id(headers: CIMultiDictProxy[str]) -> str | None:
    ray = headers.get("cf-ray")
    return ray if ray is not None and _TRACE_ID.fullmatch(ray) else None

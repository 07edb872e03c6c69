"""Asking Postmark "did you get this?": by our own marks, which travel in the message's metadata, or by its id.

One call a question: the search takes one mark as its filter, and what it gives is compared with all of them. It looks
into one message stream alone, which therefore is the one that the message was frozen for.

Source: postmarkapp.com/developer/api/messages-api (read 2026-12): count and offset up to 10,000, kept for 45 days;
postmark.js 4.0 for `messageStream` and free filters. That `metadata_*` is one, that a list shows the metadata, and the
stream of a message that names none are unverified: where they are otherwise, nothing is proven.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlencode

from yarl import URL

from notifications.providers.base import Capabilities, LookupBudget, LookupQuery, LookupResult
from notifications.providers.esps import Esp
from notifications.providers.http import Answer, Failure, Transport
from notifications.providers.paced import CONNECTIONS, Calls
from notifications.states import Found

_ID: Final = re.compile(r"[A-Za-z0-9-]{1,100}")
_NUMBER: Final = re.compile(r"[1-9][0-9]{0,18}")
_MARKS: Final = ("site", "intent", "generation")
_STREAM: Final = re.compile(r"[A-Za-z0-9_-]{1,100}")
# Fifty with the same intent's number are other sites' on the same server.
_PAGE: Final = 50
_BYTES: Final = 2_000_000
_REFUSED: Final = {401: "lookup.refused", 403: "lookup.refused", 404: "lookup.refused", 429: "lookup.rate_limited"}


class PostmarkLookup:
    """What one server can be asked. `token` is the server's; `stream` counts where a question brings no bytes."""

    def __init__(self, esp: Esp, base_url: str, token: str, stream: str | None, *, timeout_s: float = 10.0) -> None:
        """Make no connection; base URL and token are checked by the adapter of the same account."""
        self.capabilities: Capabilities = esp.capabilities
        self._base = URL(base_url) / "messages/outbound"
        self._stream = stream or "outbound"
        self._timeout_s = timeout_s
        fixed = {"X-Postmark-Server-Token": token, "Accept": "application/json", "User-Agent": "notifyops/1.0"}
        self._transport = Transport(headers=fixed | {"Accept-Encoding": "identity"}, connections=CONNECTIONS)

    async def lookup(self, queries: Sequence[LookupQuery], budget: LookupBudget) -> AsyncIterator[LookupResult]:
        """Answer each question by one call; those that the time does not reach stay without an answer."""
        calls = Calls(self._transport, budget, self._timeout_s)
        refused, doubt = await self._check_witness(calls, budget.witness)
        for query in queries:
            if refused is not None:
                yield LookupResult(query.ref, Found.UNAVAILABLE, "none", refused)
                continue
            result = await self._asked(calls, query)
            if result is None:
                return
            if doubt is not None and result.answer is Found.NOT_FOUND:
                result = LookupResult(query.ref, Found.INCONCLUSIVE, result.method, doubt)
            yield result

    async def close(self) -> None:
        """Give back the sockets."""
        await self._transport.close()

    async def _check_witness(self, calls: Calls, witness: str | None) -> tuple[str | None, str | None]:
        """Give why nothing can be asked, and why no absence is to be believed: another server's token, for example."""
        if witness is None:
            return None, None
        if not _ID.fullmatch(witness):
            return None, "lookup.no_witness"
        answer = await calls.get(self._base / witness / "details", _BYTES)
        if isinstance(answer, Answer) and answer.status == 200 and _fields(answer).get("MessageID") == witness:
            return None, None
        # A message that is not there is answered with 422, as any wrong request is.
        if answer is None or (isinstance(answer, Answer) and answer.status in (200, 422)):
            return None, "lookup.other_account"
        return _why(answer), None

    async def _asked(self, calls: Calls, query: LookupQuery) -> LookupResult | None:
        marks, stream = self._sought(query)
        if marks is None:
            return LookupResult(query.ref, Found.UNAVAILABLE, "none", "lookup.erased")
        filters = {"count": _PAGE, "offset": 0, "messagestream": stream, "metadata_intent": marks["intent"]}
        answer = await calls.get(URL(f"{self._base}?{urlencode(filters)}", encoded=True), _BYTES)
        if answer is None:
            return None
        if isinstance(answer, Failure) or answer.status != 200:
            return LookupResult(query.ref, Found.UNAVAILABLE, "scan", _why(answer))
        return _judged(query, marks, _fields(answer))

    def _sought(self, query: LookupQuery) -> tuple[dict[str, str] | None, str]:
        """Give our marks of the message and the stream that it went into; None where nobody knows the marks."""
        tags: Mapping[str, Any] = query.tags
        stream = self._stream
        if query.body is not None:
            fields = _object(query.body.partition(b"\r\n\r\n")[2])
            found, stream = fields.get("Metadata"), str(fields.get("MessageStream") or "outbound")
            tags = found if isinstance(found, Mapping) else {}
        marks = {name: str(tags[name]) for name in _MARKS if name in tags}
        usable = len(marks) == len(_MARKS) and _NUMBER.fullmatch(marks["intent"]) and _STREAM.fullmatch(stream)
        return (marks if usable else None), stream


def _judged(query: LookupQuery, marks: Mapping[str, str], fields: Mapping[str, Any]) -> LookupResult:
    total, mails = fields.get("TotalCount"), fields.get("Messages")
    if type(total) is not int or not isinstance(mails, list) or not all(isinstance(one, dict) for one in mails):
        return LookupResult(query.ref, Found.INCONCLUSIVE, "scan", "lookup.malformed")
    ours = [one.get("MessageID") for one in mails if _bears(one, marks)]
    if ours and all(isinstance(one, str) and _ID.fullmatch(one) for one in ours):
        return LookupResult(query.ref, Found.FOUND, "scan", ids=tuple(map(str, ours)))
    if ours or any(not isinstance(one.get("Metadata"), dict) for one in mails):
        return LookupResult(query.ref, Found.INCONCLUSIVE, "scan", "lookup.unproven")
    if total != len(mails):
        return LookupResult(query.ref, Found.INCONCLUSIVE, "scan", "lookup.page_cap")
    if not query.settled:
        return LookupResult(query.ref, Found.INCONCLUSIVE, "scan", "lookup.not_settled")
    return LookupResult(query.ref, Found.NOT_FOUND, "scan")


def _bears(mail: Mapping[str, Any], marks: Mapping[str, str]) -> bool:
    borne = mail.get("Metadata")
    return isinstance(borne, Mapping) and all(borne.get(name) == value for name, value in marks.items())


def _why(answer: Answer | Failure) -> str:
    return "lookup.unreachable" if isinstance(answer, Failure) else _REFUSED.get(answer.status, "lookup.unreachable")


def _fields(answer: Answer) -> Mapping[str, Any]:
    return _object(answer.body or b"")


def _object(raw: bytes) -> Mapping[str, Any]:
    try:
        found = json.loads(raw)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}

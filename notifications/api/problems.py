"""Every error of the API as `application/problem+json` (RFC 9457), with a `code` that never changes its meaning."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from inspect import iscoroutinefunction
from typing import Any, Final

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils.decorators import sync_and_async_middleware

PREFIX: Final = "/api/v1/"
# Receipts answer providers, in the words that these expect.
OTHERS: Final = "/api/v1/providers/"
MEDIA_TYPE: Final = "application/problem+json"

# code: (status, title, what to do)
CODES: Final[dict[str, tuple[int, str, str]]] = {
    "malformed": (400, "The request cannot be read", "Send one JSON document in UTF-8."),
    "invalid": (400, "A field is not as it must be", "`field` or `errors` name what is wrong; nothing was written."),
    "invalid_recipient": (400, "The recipient is not one plain address", "Give exactly one address, without a name."),
    "unauthenticated": (401, "No token, or not one of ours", "Send `Authorization: Bearer nops_…`."),
    "token_revoked": (401, "The token was revoked", "Ask an administrator for another one."),
    "token_expired": (401, "The token has expired", "Ask an administrator for another one."),
    "missing_scope": (403, "The token lacks the scope", "Use a token with the scope that `hint` names."),
    "workspace_refused": (403, "The token is not bound to the workspace", "Name a workspace of the token."),
    "not_found": (404, "There is nothing at this address", "See /api/v1/docs."),
    "unknown_intent": (404, "No such notification", "It is not in a workspace of the token, or never was."),
    "unknown_type": (404, "No such notification type", "`GET /api/v1/types` lists them."),
    "method_not_allowed": (405, "The method does not fit the address", "The header `Allow` names those that do."),
    "too_large": (413, "The request is too large", "Put large content behind a link; split a batch."),
    "unsupported_media_type": (415, "The body is not JSON by its type", "Send `Content-Type: application/json`."),
    "key_reused": (422, "The key belongs to other content", "Send the same content, or choose another key."),
    "rate_limited": (429, "Too many requests", "Wait for the seconds in `Retry-After`."),
    "internal": (500, "A fault of ours", "It is in our log. Trying again with the same key is safe."),
    "unavailable": (503, "Not possible just now", "Wait for `Retry-After`, then try again with the same key."),
}
_BY_STATUS: Final = {400: "malformed", 401: "unauthenticated", 403: "workspace_refused", 404: "not_found"} | {
    405: "method_not_allowed", 413: "too_large", 415: "unsupported_media_type", 429: "rate_limited", 503: "unavailable"
}  # fmt: skip
_ADDRESS: Final = re.compile(r"[^\s@\"'<>]+@[^\s@\"'<>]+")


@dataclass(slots=True)
class Problem(Exception):
    """A refusal: its code, a sentence, and what helps to mend it. Neither repeats an address or content."""

    code: str
    detail: str = ""
    hint: str = ""
    field_: str = ""
    more: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def status(self) -> int:
        """Give the HTTP status."""
        return CODES[self.code][0]

    def document(self) -> dict[str, Any]:
        """Give the answer's body."""
        status, title, cure = CODES[self.code]
        found: dict[str, Any] = {
            "type": f"{PREFIX}docs#problem-{self.code}",
            "title": title,
            "status": status,
            "code": self.code,
            "detail": discreet(self.detail or title),
            "hint": self.hint or cure,
        }
        if self.field_:
            found["field"] = discreet(self.field_)
        return found | dict(self.more)

    def response(self) -> HttpResponse:
        """Give the answer."""
        body = json.dumps(self.document(), ensure_ascii=False)
        answer = HttpResponse(body, status=self.status, content_type=MEDIA_TYPE)
        for name, value in self.headers.items():
            answer[name] = value
        if self.status == 401:
            answer["WWW-Authenticate"] = 'Bearer realm="notifyops"'
        return answer


def discreet(text: str) -> str:
    """Give the text without anything that looks like an address: callers' own words may hold one."""
    return _ADDRESS.sub("…", text)


def of_status(status: int) -> Problem:
    """Give the problem that stands for a status which something else than the API answered."""
    return Problem(_BY_STATUS.get(status, "internal" if status >= 500 else "malformed"))


Answer = Callable[[HttpRequest], Any]


@sync_and_async_middleware
def middleware(get_response: Answer) -> Answer:
    """Turn errors that Django itself answers below /api/v1 (a wrong host, a method, a fault) into problems."""
    if iscoroutinefunction(get_response):

        async def later(request: HttpRequest) -> HttpResponseBase:
            waiting: Awaitable[HttpResponseBase] = get_response(request)
            return _judged(request, await waiting)

        return later

    def now(request: HttpRequest) -> HttpResponseBase:
        return _judged(request, get_response(request))

    return now


def _judged(request: HttpRequest, answer: HttpResponseBase) -> HttpResponseBase:
    is_ours = request.path_info.startswith(PREFIX) and not request.path_info.startswith(OTHERS)
    if not is_ours or answer.status_code < 400 or answer.get("Content-Type", "").startswith(MEDIA_TYPE):
        return answer
    told = of_status(answer.status_code).response()
    for name in ("Allow", "Retry-After"):
        if name in answer:
            told[name] = answer[name]
    return told

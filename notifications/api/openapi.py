"""What ninja's description of the API leaves out: errors, headers, examples of answers, the token."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from notifications.api.problems import CODES, MEDIA_TYPE, Problem

DESCRIPTION: Final = (
    "Owe notifications, follow them, take them back, and learn what became of them. For callers that share a database "
    "with notifyops, `notifyops.enqueue` in their own transaction is better: a call over HTTP can be lost between the "
    "commit and the call. Every error is `application/problem+json` with a stable `code`. No answer holds an address."
)
_ALWAYS: Final = ("unauthenticated", "missing_scope", "rate_limited", "internal", "unavailable")
_BODY: Final = ("malformed", "too_large", "unsupported_media_type")
_OF: Final[dict[tuple[str, str], tuple[str, ...]]] = {
    ("post", "/intents"): ("invalid", "invalid_recipient", "workspace_refused", "unknown_type", "key_reused"),
    ("post", "/intents/batch"): ("invalid", "invalid_recipient", "workspace_refused", "unknown_type", "key_reused"),
    ("get", "/intents"): ("invalid", "workspace_refused"),
    ("get", "/intents/{intent}"): ("unknown_intent",),
    ("get", "/intents/{intent}/log"): ("invalid", "unknown_intent"),
    ("post", "/intents/{intent}/cancel"): ("invalid", "unknown_intent", "workspace_refused"),
    ("post", "/previews"): ("invalid", "unknown_type"),
    ("get", "/types"): (),
    ("get", "/outcomes"): ("invalid",),
}
_LIMIT: Final = {
    "RateLimit-Limit": "Requests that the token may make in a minute.",
    "RateLimit-Remaining": "What is left of them; hosts draw some ahead, so it may fall by more than one.",
    "RateLimit-Reset": "Seconds until the next minute.",
}
_REPLAY: Final = "`true` where everything stood there already, with the same content."
PROBLEM: Final[dict[str, Any]] = {
    "type": "object",
    "description": "An error (RFC 9457).",
    "required": ["type", "title", "status", "code", "detail", "hint"],
    "properties": {
        "type": {"type": "string", "description": "Where the code is explained."},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "code": {"type": "string", "enum": list(CODES), "description": "Never changes its meaning: test this."},
        "detail": {"type": "string", "description": "What is wrong, for people."},
        "hint": {"type": "string", "description": "How to mend it."},
        "field": {"type": "string", "description": "Which field, such as `options.locale`."},
        "existing": {"type": "string", "description": "With `key_reused`: the key that stands in the way."},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["field", "message"],
                "properties": {"field": {"type": "string"}, "message": {"type": "string"}},
            },
        },
    },
}


def completed(schema: Any) -> dict[str, Any]:
    """Give the description with everything that a caller may meet."""
    found: dict[str, Any] = dict(schema)
    components = found["components"]
    components["schemas"]["Problem"] = PROBLEM
    components["securitySchemes"] = {
        "token": {"type": "http", "scheme": "bearer", "description": "`Authorization: Bearer nops_…`"}
    }
    found["servers"] = [{"url": "/"}]
    found["paths"] = {path.removesuffix("/"): item for path, item in found["paths"].items()}
    for path, item in found["paths"].items():
        for method, operation in item.items():
            _complete(operation, method, path.removeprefix("/api/v1"))
    return found


def _complete(operation: dict[str, Any], method: str, path: str) -> None:
    operation["security"] = [{"token": []}]
    operation["operationId"] = operation["operationId"].removeprefix("notifications_api_")
    answers = {str(status): answer for status, answer in operation["responses"].items()}
    for answer in answers.values():
        answer["headers"] = {name: _header(text) for name, text in _LIMIT.items()}
    if "201" in answers:
        answers["201"]["description"] = "Written."
        answers["200"]["description"] = "It stood there already."
        answers["200"]["headers"]["Idempotent-Replay"] = _header(_REPLAY)
    codes = (*_OF[method, path], *(_BODY if method == "post" else ()), *_ALWAYS)
    for status, named in _by_status(codes):
        answers[status] = _problems(named)
    operation["responses"] = dict(sorted(answers.items()))


def _by_status(codes: tuple[str, ...]) -> Iterator[tuple[str, list[str]]]:
    for status in sorted({CODES[code][0] for code in codes}):
        yield str(status), [code for code in codes if CODES[code][0] == status]


def _problems(codes: list[str]) -> dict[str, Any]:
    """Give the answer of one status, with an example for each code."""
    examples = {code: {"summary": CODES[code][1], "value": Problem(code).document()} for code in codes}
    described = "; ".join(f"`{code}`: {CODES[code][1]}" for code in codes)
    answer: dict[str, Any] = {
        "description": described,
        "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}, "examples": examples}},
    }
    if "rate_limited" in codes or "unavailable" in codes:
        answer["headers"] = {"Retry-After": _header("Seconds to wait.")}
    return answer


def _header(text: str) -> dict[str, Any]:
    return {"description": text, "schema": {"type": "string"}}

"""What the API requires of a message, in the order in which it complains."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection
from datetime import UTC, datetime
from typing import Any

from notifications.sandbox.mailbox import Payload, listed
from notifications.sandbox.refusals import Refusal

ADDRESS = re.compile(r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.)+[A-Za-z0-9-]{2,63}")
TAG = re.compile(r"[A-Za-z0-9_-]{1,256}")
RELATIVE = re.compile(r"in (\d{1,6}) ?(second|sec|minute|min|hour|day)s?", re.IGNORECASE)
RELATIVE_S = {"second": 1, "sec": 1, "minute": 60, "min": 60, "hour": 3_600, "day": 86_400}
MAX_RECIPIENTS = 50
MAX_TAGS = 75
MAX_SCHEDULE_S = 30 * 86_400


def check(payload: object, domains: Collection[str], now_s: float) -> float | None:
    """Refuse what the API refuses; give the time to send at, or None for at once.

    Source: Resend OpenAPI 2026-08-21 `SendEmailRequest`; docs/dashboard/emails/tags, docs/…/schedule-email.
    """
    if not isinstance(payload, dict):
        raise Refusal("validation_error", "The request body must be a JSON object.")
    for name in ("from", "to", "subject"):
        if not payload.get(name):
            raise Refusal("missing_required_field", f"Missing `{name}` field.")
    _check_content(payload)
    for name in ("from", "to", "cc", "bcc", "reply_to"):
        _check_addresses(name, payload.get(name))
    _check_headers(payload.get("headers"))
    _check_tags(payload.get("tags"))
    _check_attachments(payload.get("attachments"))
    send_at_s = scheduled_time(payload["scheduled_at"], now_s) if payload.get("scheduled_at") else None
    domain = bare_address(payload["from"]).rsplit("@", 1)[1].lower()
    if domain not in domains:
        raise Refusal("validation_error", f"The {domain} domain is not verified. Add and verify it first.", status=403)
    return send_at_s


def bare_address(written: str) -> str:
    """Give the address of `Name <address>` or of a plain address."""
    if written.endswith(">") and "<" in written:
        return written[written.rindex("<") + 1 : -1].strip()
    return written


def scheduled_time(wish: object, now_s: float) -> float:
    """Read `scheduled_at`: ISO 8601 (at most milliseconds) or `in 5 minutes`; the future, at most 30 days away.

    The provider understands more natural language than this; what is not understood here is refused, not guessed.
    """
    at_s: float | None = None
    if isinstance(wish, str):
        relative = RELATIVE.fullmatch(wish.strip())
        if relative is not None:
            at_s = now_s + int(relative[1]) * RELATIVE_S[relative[2].lower()]
        elif not re.search(r"\.\d{4,}", wish):
            at_s = _iso_time(wish)
    if at_s is None:
        raise Refusal(
            "validation_error", "Invalid `scheduled_at` field. Use ISO 8601 or a form such as `in 5 minutes`."
        )
    if not now_s < at_s <= now_s + MAX_SCHEDULE_S:
        raise Refusal("validation_error", "Invalid `scheduled_at` field. It must lie within the next 30 days.")
    return at_s


def digest_of(raw: bytes, parsed: object, *, strict: bool) -> str:
    """Fingerprint a body: the very bytes, or a form in which order and empty values do not count."""
    if not strict:
        raw = json.dumps(_normal(parsed), sort_keys=True, separators=(",", ":")).encode("utf-8", "surrogatepass")
    return hashlib.sha256(raw).hexdigest()


def _normal(value: object) -> object:
    if isinstance(value, list):
        return [_normal(item) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {name: item for name, item in value.items() if item not in (None, [], {})}
    return {
        name: listed(item) if name in ("to", "cc", "bcc", "reply_to") else _normal(item) for name, item in kept.items()
    }


def _check_content(payload: Payload) -> None:
    template = payload.get("template")
    if not (payload.get("html") or payload.get("text") or template):
        raise Refusal("missing_required_field", "Missing `html` or `text` field.")
    if template:
        if payload.get("html") or payload.get("text"):
            raise Refusal("validation_error", "A `template` cannot be combined with `html` or `text`.")
        if not isinstance(template, dict) or not isinstance(template.get("id"), str):
            raise Refusal("validation_error", "Invalid `template` field. It must be an object with an `id`.")
    for name in ("subject", "html", "text"):
        if payload.get(name) is not None and not isinstance(payload[name], str):
            raise Refusal("validation_error", f"Invalid `{name}` field. It must be a string.")
    if any(mark in payload["subject"] for mark in "\r\n"):
        raise Refusal("validation_error", "The `\\n` is not allowed in the `subject` field.")


def _check_addresses(name: str, value: object) -> None:
    addresses = [value] if name == "from" else listed(value)
    for address in addresses:
        written = address if isinstance(address, str) else ""
        if not written.isprintable() or not ADDRESS.fullmatch(bare_address(written)):
            raise Refusal(
                "validation_error",
                f"Invalid `{name}` field. Write an address as `email@example.com` or `Name <email@example.com>`.",
            )
    if len(addresses) > MAX_RECIPIENTS:
        raise Refusal("validation_error", f"Too many addresses in the `{name}` field. At most {MAX_RECIPIENTS}.")


def _check_headers(headers: object) -> None:
    if headers is None:
        return
    if not isinstance(headers, dict) or not all(isinstance(value, str) for value in headers.values()):
        raise Refusal("validation_error", "Invalid `headers` field. It must be an object of strings.")


def _check_tags(tags: object) -> None:
    if tags is None:
        return
    if not isinstance(tags, list) or len(tags) > MAX_TAGS:
        raise Refusal("validation_error", f"Invalid `tags` field. It must be a list of at most {MAX_TAGS} tags.")
    for tag in tags:
        parts = (tag.get("name"), tag.get("value")) if isinstance(tag, dict) else (None, None)
        if not all(isinstance(part, str) and TAG.fullmatch(part) for part in parts):
            raise Refusal(
                "validation_error",
                "Tags must hold a name and a value of 1 to 256 ASCII letters, numbers, underscores or dashes.",
            )


def _check_attachments(attachments: object) -> None:
    for attachment in listed(attachments):
        wanted: Any = attachment if isinstance(attachment, dict) else {}
        if not (wanted.get("content") or wanted.get("path")):
            raise Refusal("invalid_attachment", "An attachment must have either a `content` or a `path`.", status=422)


def _iso_time(text: str) -> float | None:
    try:
        parsed = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    try:
        return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp()
    except (OverflowError, ValueError):
        return None

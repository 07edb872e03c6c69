"""What can be tuned: the account that the sandbox pretends to hold, and how fast its world turns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from notifications.sandbox.refusals import Misused


@dataclass(frozen=True, slots=True)
class Knobs:
    """The defaults are the provider's documented behaviour where it has one.

    `rate_per_s` None switches the limit off; the quotas likewise. `strict_digest` compares the raw bytes of a
    repeated key, so that a re-rendered message is always caught; off, it compares a normalised body.
    `remember_errors` makes a refused request occupy its key, as some providers do. `retry_scale` stretches or shrinks
    the webhook retry schedule, `delivery_delay_s` is the time from sent to delivered, `latency_s` is added to every
    answer. `scripted_domains` hold the test recipients (`bounced@…`).
    """

    full_key: str = "re_sandbox_full"
    sending_key: str = "re_sandbox_sending"
    suspended_keys: tuple[str, ...] = ()
    domains: tuple[str, ...] = ("example.com",)
    scripted_domains: tuple[str, ...] = ("resend.dev",)
    rate_per_s: int | None = 10
    daily_quota: int | None = None
    monthly_quota: int | None = None
    key_retention_s: float = 86_400.0
    strict_digest: bool = True
    remember_errors: bool = False
    delivery_delay_s: float = 0.2
    latency_s: float = 0.0
    retry_scale: float = 1.0
    webhook_timeout_s: float = 15.0
    log_limit: int = 5_000


def tuned(knobs: Knobs, changes: Mapping[str, Any]) -> Knobs:
    """Give knobs with the changes applied; raise Misused with a sentence for an unknown name or a bad value."""
    known = {field.name: field.type for field in fields(Knobs)}
    checked: dict[str, Any] = {}
    for name, value in changes.items():
        if name not in known:
            raise Misused(f"There is no knob {name!r}. Known: {', '.join(sorted(known))}.")
        read, wanted = READERS[str(known[name])]
        try:
            checked[name] = read(value)
        except (TypeError, ValueError):
            raise Misused(f"The knob {name!r} takes {wanted}, not {value!r}.") from None
    changed = replace(knobs, **checked)
    if changed.full_key == changed.sending_key:
        raise Misused("full_key and sending_key must differ, or nobody could tell their permissions apart.")
    return changed


def _flag(value: object) -> bool:
    if isinstance(value, bool):
        return value
    raise ValueError


def _text(value: object) -> str:
    if isinstance(value, str) and value and value.isprintable() and value == value.strip():
        return value
    raise ValueError


def _texts(value: object) -> tuple[str, ...]:
    if isinstance(value, (list, tuple)):
        return tuple(_text(item).lower() if "@" not in str(item) else _text(item) for item in value)
    raise ValueError


def _span(value: object) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 10**9:
        return float(value)
    raise ValueError


def _count(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 10**9:
        return value
    raise ValueError


def _limit(value: object) -> int | None:
    return None if value is None else _count(value)


READERS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "str": (_text, "a non-empty text without blanks around it"),
    "tuple[str, ...]": (_texts, "a list of texts"),
    "int | None": (_limit, "a whole number from 1, or null for no limit"),
    "int": (_count, "a whole number from 1"),
    "float": (_span, "a number from 0"),
    "bool": (_flag, "true or false"),
}

"""Turn what a caller passes as `data` into JSON that PostgreSQL can hold, or say which part of it cannot be."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any, Final

from notifications.outbox_errors import SchemaError

# The database's own limit; also what stops a structure that contains itself.
DEEPEST: Final = 32
# The number of digits at which Python refuses to write an integer; PostgreSQL's numeric reaches farther.
MOST_DIGITS: Final = 4000
_UNHELD: Final = re.compile("[\0\ud800-\udfff]")
REPLACEMENT: Final = "\N{REPLACEMENT CHARACTER}"


def visible(text: str) -> str:
    """Give the text with what PostgreSQL cannot hold (NUL, lone surrogates) replaced by U+FFFD, so that it shows."""
    return _UNHELD.sub(REPLACEMENT, text)


def holds_all(text: str) -> bool:
    """Tell whether PostgreSQL can hold the text as it is."""
    return _UNHELD.search(text) is None


def dumped(value: Any) -> str:
    """Give the JSON text of a value that `plain` has passed."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def plain(value: Any, place: str, depth: int = 0) -> Any:
    """Give the value as plain JSON types, its text made visible; `place` names it in refusals (`data.title`).

    Raises SchemaError for what JSON does not know: dates, decimals, NaN, keys that are no text.
    """
    if depth > DEEPEST:
        raise SchemaError(
            f"{place.split('.', 1)[0]} is nested deeper than {DEEPEST} levels",
            hint="Send only what the template shows.",
            field=place[:60],
        )
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, int | float):
        return _number(value, place)
    if isinstance(value, Mapping):
        return _object(value, place, depth)
    if isinstance(value, list | tuple):
        return [plain(part, f"{place}[{index}]", depth + 1) for index, part in enumerate(value)]
    raise SchemaError(
        f"{place} is a {type(value).__name__}, which JSON does not know",
        hint="Pass text, for example str(value) or value.isoformat(): the type's template decides how it is shown.",
        field=place,
    )


def _number(value: float, place: str) -> float:
    if isinstance(value, float) and not math.isfinite(value):
        raise SchemaError(
            f"{place} is {value}, which is no number in JSON", hint="Leave it out or pass 0.", field=place
        )
    # bit_length: to count decimal digits is what Python refuses above its limit.
    if isinstance(value, int) and value.bit_length() > MOST_DIGITS * 3.3:
        raise SchemaError(f"{place} has more than {MOST_DIGITS} digits", hint="Pass it as text.", field=place)
    return value


def _object(value: Mapping[Any, Any], place: str, depth: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, part in value.items():
        if not isinstance(key, str):
            raise SchemaError(
                f"{place} has the key {key!r:.60}, which is no text", hint="JSON's keys are text.", field=place
            )
        shown = visible(key)
        if shown in found:
            raise SchemaError(
                f"{place} has two keys that read {shown[:60]} once NUL is made visible",
                hint="Name them apart without such characters.",
                field=place,
            )
        found[shown] = plain(part, f"{place}.{shown[:60]}", depth + 1)
    return found

"""What a person's reason may be. It is kept for ever, so it names people by ID: no addresses, no phone numbers."""

from __future__ import annotations

import re
from typing import Final, Literal

MIN_REASON: Final = 10
MAX_REASON: Final = 500
# Also as East Asian keyboards write them.
_ADDRESS: Final = re.compile(r"[^\s@<>]+[@\uff20][^\s@<>]+[.\u3002\uff0e][^\s@<>]")
_PHONE: Final = re.compile(r"[+\uff0b]\s?\d[\d\s().-]{4,}\d")


def is_personal(text: str) -> bool:
    """Say whether the text holds an e-mail address or a phone number."""
    return bool(_ADDRESS.search(text) or _PHONE.search(text))


def one_line(given: object) -> str:
    """Give a reason as it is kept where it is one line: blanks and line breaks made single blanks."""
    return " ".join(str(given or "").split())


def fault(line: str) -> Literal["length", "personal"] | None:
    """Say why a reason of one line cannot be kept: its length or what cannot be printed, or whom it names; or None."""
    if not MIN_REASON <= len(line) <= MAX_REASON or not line.isprintable():
        return "length"
    return "personal" if is_personal(line) else None

"""How many text messages a text needs on its way: by the alphabet that can carry it.

Source: 3GPP TS 23.038 sections 6.2.1 (default alphabet and its extension) and 6.2.3 (UCS-2); TS 23.040 section
9.2.3.24.1 (each part of a longer text gives six octets to its header).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

_BASIC: Final = frozenset(
    "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?"
    "¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà"
)
# Each takes an escape before it.
_EXTENDED: Final = frozenset("\f^{}\\[~]|€")
_SEPTETS: Final = (160, 153)  # of one message, of each of several
_UNITS: Final = (70, 67)


def part_count(text: str) -> int:
    """Give how many messages carry the text: in GSM-7 where that has all its letters, else in UCS-2."""
    marks = set(text)
    is_gsm = marks <= _BASIC | _EXTENDED
    alone, each = _SEPTETS if is_gsm else _UNITS
    sizes = [*_septets(text)] if is_gsm else [*_units(text)]
    if sum(sizes) <= alone:
        return 1
    count, room = 1, each
    for size in sizes:
        if size > room:  # an escape and its letter, or the two halves of a pair, are not parted
            count, room = count + 1, each
        room -= size
    return count


def _septets(text: str) -> Iterator[int]:
    return (2 if mark in _EXTENDED else 1 for mark in text)


def _units(text: str) -> Iterator[int]:
    return (2 if ord(mark) > 0xFFFF else 1 for mark in text)

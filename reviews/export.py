"""Rows as CSV, streamed: whatever somebody wrote into a cell stays text in whichever program opens it."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Final

from django.http import StreamingHttpResponse
from django.utils.cache import add_never_cache_headers

# What spreadsheets take for the beginning of a formula, also as East Asian keyboards write it, and what they skip
# before one. Source: OWASP, CSV Injection.
_BEGINS_A_FORMULA: Final = tuple("=+-@\t\r\n＝＋－＠")
_SKIPPED: Final = " \u00a0\u3000\ufeff\u200b"
# Spreadsheets know by it that the text is UTF-8.
_MARK: Final = "\ufeff"


def cell(value: object) -> str:
    """Give one value as its cell: times in UTC, nothing for None, a quote before what would be a formula.

    Numbers are ours and stay numbers, negative ones too; all text is guarded, whoever wrote it.
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="seconds") if value.tzinfo else value.isoformat()
    # A NUL ends the text in some readers, and a lone surrogate cannot be written at all.
    text = str(value).replace("\x00", "").encode("utf-8", "replace").decode("utf-8")
    return f"'{text}" if text.lstrip(_SKIPPED).startswith(_BEGINS_A_FORMULA) else text


class _Line:
    """What csv.writer writes to: it hands each line back."""

    def write(self, line: str) -> str:
        return line


def lines(header: Iterable[str], rows: Iterable[Iterable[object]]) -> Iterator[str]:
    """Give the header and the rows, line by line; every cell in quotes, so that none ends its row."""
    writer = csv.writer(_Line(), quoting=csv.QUOTE_ALL)
    yield _MARK + writer.writerow([cell(name) for name in header])
    for row in rows:
        yield writer.writerow([cell(value) for value in row])


def answer(name: str, header: Iterable[str], rows: Iterable[Iterable[object]]) -> StreamingHttpResponse:
    """Give a download named `<name>.csv`. The rows are read while it is sent, outside of the view's transaction."""
    found = StreamingHttpResponse(lines(header, rows), content_type="text/csv; charset=utf-8")
    found["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    add_never_cache_headers(found)
    return found

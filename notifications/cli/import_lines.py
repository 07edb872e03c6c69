"""Read JSON Lines or CSV into items, a line at a time; what is wrong with a line is said by its number."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, TextIO

from notifications import outbox
from notifications.cli.import_twice import Seen
from notifications.outbox_errors import EnqueueError
from notifications.outbox_wire import wire_form
from notifications.types import registry

FIELDS: Final = ("notification_type", "report_id", "recipient", "data", "options")
NEEDED: Final = FIELDS[:3]
OPTION_NAMES: Final = frozenset(outbox.Options.__annotations__)
# A file is a backlog: it must not hold up what is owed by the way. Where a line names another, that counts.
PRIORITY: Final = "bulk"
# More than `data` and attachments with their content may hold, so that a refusal is about these, and names its line.
LARGEST_CELL: Final = 16 * 1024 * 1024
# Bytes that are no UTF-8, as the file's decoder hands them on.
_NO_UTF8: Final = re.compile("[\udc80-\udcff]")
# PostgreSQL's jsonb would keep the last of two equal keys in silence.
TWICE: Final = "the key {} stands there twice"


class BadLine(Exception):
    """A line cannot become an item; the text says why."""


class BadFile(Exception):
    """The file as a whole cannot be read; the text says how to mend it."""


@dataclass(frozen=True, slots=True)
class Line:
    """One record: its number in the file, its own text, and its item or what is wrong with it."""

    number: int
    raw: str
    item: outbox.Item | None
    wrong: str = ""


def read(source: TextIO, form: str) -> Iterator[Line]:
    """Give every record of the file; `form` is jsonl or csv. Raises BadFile.

    An item has the fields and options that there are; `checked` says whether their values will do.
    """
    return _csv(source) if form == "csv" else _json_lines(source)


def checked(line: Line, seen: Seen) -> Line:
    """Give the line itself, or what is wrong with the values of its item, or beside an earlier line."""
    if line.item is None:
        return line
    try:
        clash = seen.clash(line.number, wire_form(line.item))
    except EnqueueError as refusal:
        return Line(line.number, line.raw, None, str(refusal))
    return Line(line.number, line.raw, None, clash) if clash else line


def is_over(item: outbox.Item, now: datetime) -> bool:
    """Tell whether its own expiry has passed; a time that cannot be read is refused elsewhere."""
    try:
        ends = datetime.fromisoformat(str(item.options.get("expires_at")))
    except ValueError:
        return False
    return ends.tzinfo is not None and ends <= now


def heading(source: TextIO, form: str) -> str:
    """Give the line that a file of rejected records must begin with, and leave the source at its start."""
    source.seek(0)
    first = source.readline() if form == "csv" else ""
    source.seek(0)
    return first


def _json_lines(source: TextIO) -> Iterator[Line]:
    for number, raw in enumerate(source, start=1):
        if raw.strip() and raw.strip() != "\ufeff":
            yield _judged(number, raw, lambda text=raw: _from_json(text.lstrip("\ufeff")))


def _from_json(raw: str) -> dict[str, Any]:
    try:
        record = json.loads(raw, object_pairs_hook=_once, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise BadLine(f"it is not JSON: {str(error)[:120]}") from None
    if not isinstance(record, dict):
        raise BadLine("it is not a JSON object")
    unknown = sorted(set(record) - set(FIELDS))
    if unknown:
        raise BadLine(f"unknown field {unknown[0][:60]}; known are {', '.join(FIELDS)}")
    return record


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(TWICE.format(next(name for name in names if names.count(name) > 1)[:60]))
    return found


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no number in JSON")


def _csv(source: TextIO) -> Iterator[Line]:
    csv.field_size_limit(LARGEST_CELL)
    taken: list[str] = []

    def kept() -> Iterator[str]:
        for text in source:
            taken.append(text)
            yield text

    reader = csv.reader(kept(), strict=True)
    names = _header(reader)
    number = reader.line_num + 1
    while True:
        taken.clear()
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise BadFile(
                f"Line {number} is not CSV: {error}. Quote cells that hold commas, quotes or line breaks."
            ) from None
        if any(cell.strip() for cell in cells):
            yield _judged(number, "".join(taken), lambda row=cells: _from_cells(names, row))
        number = reader.line_num + 1


def _header(reader: Iterator[list[str]]) -> list[str]:
    names = [name.strip().lstrip("\ufeff") for name in next(reader, [])]
    if any(_NO_UTF8.search(name) for name in names):
        raise BadFile("The first line is not UTF-8 text. Save the file as UTF-8.")
    known = {"data", *NEEDED, *OPTION_NAMES}
    for name in names:
        if name not in known and not name.startswith("data."):
            raise BadFile(
                f'The first line names an unknown column "{name[:60]}". Known are {", ".join(NEEDED)}, '
                f"data (a JSON object), data.NAME, and {', '.join(sorted(OPTION_NAMES))}."
            )
    missing = [name for name in NEEDED if name not in names]
    if missing or len(set(names)) < len(names):
        why = f"does not name {missing[0]}" if missing else "names a column twice"
        raise BadFile(f"The first line must hold the columns' names; it {why}.")
    return names


def _from_cells(names: list[str], cells: list[str]) -> dict[str, Any]:
    if len(cells) != len(names):
        raise BadLine(f"it has {len(cells)} cells, and the first line names {len(names)}")
    row = {name: cell for name, cell in zip(names, cells, strict=True) if cell != ""}
    data = _from_cell("data", row.get("data", "{}"), "object")
    kind = registry.get(row.get("notification_type", ""))
    forms = {key: form for key, (form, _) in kind.fields().items()} if kind else {}
    for name, cell in row.items():
        if name.startswith("data."):
            key = name.removeprefix("data.")
            data[key] = _from_cell(name, cell, forms.get(key, "string"))
    record: dict[str, Any] = {name: row[name] for name in NEEDED if name in row}
    options: dict[str, Any] = {name: row[name] for name in row if name in OPTION_NAMES}
    if "attachments" in options:
        options["attachments"] = _from_cell("attachments", options["attachments"], "array")
    return record | {"data": data, "options": options}


def _from_cell(name: str, cell: str, form: str) -> Any:
    """Give a cell's value in the JSON form that the type wants."""
    if form == "string":
        return cell
    try:
        value = json.loads(cell, object_pairs_hook=_once, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise BadLine(f"{name} must be a JSON {form}") from None
    if name == "data" and not isinstance(value, dict):
        raise BadLine("data must be a JSON object")
    return value


def _judged(number: int, raw: str, read_item: Any) -> Line:
    foreign = _NO_UTF8.search(raw)
    if foreign:
        byte, place = ord(foreign[0]) - 0xDC00, len(raw[: foreign.start()].encode(errors="surrogateescape"))
        return Line(number, raw, None, f"byte {place + 1} (0x{byte:02x}) is not UTF-8; save the file as UTF-8")
    try:
        return Line(number, raw, _item(read_item()))
    except BadLine as bad:
        return Line(number, raw, None, str(bad))


def _item(record: Mapping[str, Any]) -> outbox.Item:
    for name in NEEDED:
        if record.get(name) in (None, ""):
            raise BadLine(f"{name} is missing")
    data, options = record.get("data"), record.get("options")
    if options is not None and not isinstance(options, dict):
        raise BadLine("options must be a JSON object")
    unknown = sorted(set(options or ()) - OPTION_NAMES)
    if unknown:
        raise BadLine(f"unknown option {unknown[0][:60]}; known are {', '.join(sorted(OPTION_NAMES))}")
    if registry.get(str(record["notification_type"])) is None:
        raise BadLine(f'unknown notification type "{str(record["notification_type"])[:64]}"; see notify types')
    return outbox.Item(
        record["notification_type"],
        record["report_id"],
        record["recipient"],
        {} if data is None else data,
        {"priority": PRIORITY} | (options or {}),  # type: ignore[arg-type]
    )

"""One file that asks for the same notification twice, with other content: found before anything is written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any, Final

from notifications.types import registry

# Keys that are remembered, some 40 MB. Of a longer file the rest is left to the database, which compares them all.
MOST_KEYS: Final = 200_000


class Seen:
    """The keys of the lines so far, as numbers: neither an address nor content is held."""

    def __init__(self, most: int = MOST_KEYS) -> None:
        self._most = most
        self._kept: dict[int, tuple[int, int]] = {}

    def clash(self, number: int, wire: Mapping[str, Any]) -> str:
        """Give why the line cannot stand beside an earlier one; empty where it can, and then it is remembered.

        As the database judges it: the same key, or the same report and type, with other content.
        """
        content = _number(_content(wire))
        keys = _keys(wire)
        for name, parts in keys.items():
            earlier = self._kept.get(_number(parts))
            if earlier is not None and earlier[0] != content:
                return f"{name} exists with other content: line {earlier[1]} of this file has it"
        for parts in keys.values():
            if len(self._kept) < self._most:
                self._kept.setdefault(_number(parts), (content, number))
        return ""


def _number(parts: list[Any]) -> int:
    told = json.dumps(parts, sort_keys=True, ensure_ascii=True).encode()
    return int.from_bytes(blake2b(told, digest_size=12).digest())


def _keys(wire: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Give what must be unique, by the name that a refusal says."""
    options = wire["options"]
    space = options.get("workspace", "")
    start = f"{space}/" if space else ""
    name = options.get("notification_id") or f"{start}{wire['notification_type'].replace('_', '-')}/{wire['report_id']}"
    found: dict[str, list[Any]] = {f'notification "{name}"': ["key", space, name]}
    if "supersedes" not in options:
        report, kind = wire["report_id"], wire["notification_type"]
        found[f'report "{report}" of type {kind}'] = ["report", space, report, kind]
    return found


def _content(wire: Mapping[str, Any]) -> list[Any]:
    """Give what the database compares: not `not_before`, the locale or the priority."""
    options = wire["options"]
    kind = registry.get(wire["notification_type"])
    local, _, domain = wire["recipient"].strip().partition("@")
    return [
        wire["notification_type"], wire["report_id"], options.get("workspace", ""), f"{local}@{domain.lower()}",
        options.get("channel") or (kind.channel if kind else ""), wire["data"], options.get("actor"),
        _moment(options.get("expires_at")), [
            [one[name] for name in ("name", "media_type", "size", "sha256")] for one in options.get("attachments", ())
        ],
    ]  # fmt: skip


def _moment(text: str | None) -> str | None:
    """Give one form to what is one time; what cannot be read is refused elsewhere."""
    try:
        return None if text is None else datetime.fromisoformat(text).astimezone(UTC).isoformat()
    except ValueError:
        return text

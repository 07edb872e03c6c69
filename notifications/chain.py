"""The hashes of the log, computed outside the database: what `sql/chain.sql` does, for those who do not trust it.

Every field enters with its length, so that no two lists of fields read alike; times enter as whole microseconds.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
IDENTITY: Final = (
    "id", "notification_id", "key_suffix", "report_id", "type", "channel", "workspace", "created_at",
)  # fmt: skip
ENTRY: Final = (
    "intent_id", "seq", "at", "kind", "from_state", "to_state", "attempt", "generation", "trigger", "fence", "worker",
    "outcome", "code", "phase", "http_status", "duration_ms", "provider_message_id", "actor", "reason_code", "detail",
)  # fmt: skip


def genesis(intent: Mapping[str, Any]) -> bytes:
    """Give the first link of an intent's chain, from the columns of IDENTITY."""
    return hashlib.sha256(b"notifyops:1" + _joined(intent, IDENTITY)).digest()


def entry_hash(prev: bytes, entry: Mapping[str, Any]) -> bytes:
    """Give the hash of one entry, from the columns of ENTRY; `detail` is PostgreSQL's own text of the jsonb."""
    return hashlib.sha256(b"\x01" + prev + _joined(entry, ENTRY)).digest()


def _joined(row: Mapping[str, Any], names: tuple[str, ...]) -> bytes:
    return b"".join(_field(row[name]) for name in names)


def _field(value: str | int | datetime | None) -> bytes:
    if value is None:
        return b"-"
    if isinstance(value, datetime):
        value = (value - _EPOCH) // timedelta(microseconds=1)
    text = str(value).encode()
    return f"{len(text)}:".encode() + text

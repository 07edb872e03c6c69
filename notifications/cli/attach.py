"""What `notify enqueue` attaches: files of this machine, and files elsewhere that it names."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from notifications import outbox
from notifications.cli.terminal import Refused, Terminal, data_text
from notifications.policy.attachments import MOST_GIVEN_BYTES


def attachments(options: dict[str, Any], terminal: Terminal) -> list[outbox.Attachment | Mapping[str, Any]]:
    """Give them in the order of --attach, then of --attachments. Raises Refused."""
    files: list[outbox.Attachment | Mapping[str, Any]] = [_file(Path(name)) for name in options["attach"] or ()]
    return files + _named(options["attachments"], terminal)


def _file(path: Path) -> outbox.Attachment:
    try:
        size = path.stat().st_size
        if size > MOST_GIVEN_BYTES:
            raise Refused(
                f"{path} has {size:,} bytes, and at most {MOST_GIVEN_BYTES:,} travel with the call: name larger "
                f"ones by their address in --attachments."
            )
        return outbox.Attachment.of(path.name, path.read_bytes())
    except OSError as error:
        raise Refused(f"{path} cannot be read: {error.strerror}.") from None


def _named(given: str | None, terminal: Terminal) -> list[Mapping[str, Any]]:
    if given is None:
        return []
    try:
        found = json.loads(data_text(given, terminal))
    except (ValueError, RecursionError) as error:
        raise Refused(f"--attachments is not JSON: {str(error)[:120]}.") from None
    if not isinstance(found, list):
        raise Refused('--attachments must be a JSON list such as [{"name": …, "media_type": …, "size": …, …}].')
    return found

"""Keep small secrets in the data directory: made once, mode 0600, never half written."""

from __future__ import annotations

import contextlib
import os
import secrets
import tempfile
from collections.abc import Iterator
from pathlib import Path

from notifyops.env import BadValue, reason


def folder(path: Path) -> Path:
    """Make the data directory where it is missing, readable by its owner and passable by the database's user."""
    try:
        path.mkdir(mode=0o711, parents=True, exist_ok=True)
    except OSError as error:
        raise BadValue(
            f"The data directory {path} cannot be made: {reason(error)}. "
            f"Set NOTIFYOPS_HOME to a directory that this user may write."
        ) from error
    return path


def write(path: Path, text: str) -> None:
    """Replace the file in one step, so that a reader sees the old text or the new one."""
    with _beside(path, text) as temporary:
        os.replace(temporary, path)


def once(path: Path, text: str) -> str:
    """Keep the text unless the file is there already; give what is kept. Two starters get the same answer."""
    folder(path.parent)
    if not path.exists():
        with _beside(path, text) as temporary, contextlib.suppress(FileExistsError):
            os.link(temporary, path)
    try:
        kept = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise BadValue(f"{path} cannot be read: {reason(error)}. Run as the user who made it.") from error
    if not kept:
        raise BadValue(f"{path} is empty: remove it, and a new one is made.")
    return kept


def token(path: Path, *, prefix: str = "") -> str:
    """Give the secret kept at `path`, made on first use: 32 letters and digits, so that any address can hold it."""
    return once(path, prefix + secrets.token_hex(16))


@contextlib.contextmanager
def _beside(path: Path, text: str) -> Iterator[str]:
    """Write and sync the text to a temporary file in the same folder; remove it if it is still there afterwards."""
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with open(handle, "w", encoding="utf-8") as file:
            file.write(text + "\n")
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise BadValue(f"{path} cannot be written: {reason(error)}.") from error
    try:
        yield temporary
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)

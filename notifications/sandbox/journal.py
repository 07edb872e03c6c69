"""What the sandbox remembers over a restart, one JSON line per fact."""

from __future__ import annotations

import fcntl
import json
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from notifications.sandbox.refusals import Misused


class Journal:
    """Append facts to a file that belongs to one sandbox at a time; without a path, remember nothing."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._file: int | None = None
        # How far `facts` has come.
        self.read_bytes = 0
        self.read_lines = 0
        if path is None:
            return
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = _opened(path)
            if not stat.S_ISREG(os.fstat(self._file).st_mode):
                raise Misused(f"The journal {path} is not a regular file. Choose another.")
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not os.path.samestat(os.fstat(self._file), path.stat()):
                # Compacted by another between our opening and locking: what we hold is the file of before.
                raise BlockingIOError
        except BlockingIOError:
            raise Misused(f"The journal {path} is in use by another sandbox; stop that or choose another.") from None
        except OSError as problem:
            raise Misused(f"The journal {path} cannot be opened: {problem.strerror}.") from None

    def facts(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Give every fact with the number of its line; a last line left unfinished is cut off the file."""
        if self._path is None or self._file is None:
            return
        decode = json.JSONDecoder().decode
        with self._path.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                if not line.endswith(b"\n"):
                    os.ftruncate(self._file, self.read_bytes)
                    return
                self.read_bytes += len(line)
                self.read_lines = number
                try:
                    fact = decode(line.decode())
                except ValueError:
                    fact = None
                if not isinstance(fact, dict):
                    raise self.damaged(number)
                yield number, fact

    def damaged(self, line_number: int) -> Misused:
        """Give the refusal for a line that means nothing."""
        return Misused(
            f"Line {line_number} of the journal {self._path} cannot be read. Move the file away to begin anew."
        )

    def write(self, fact: dict[str, Any]) -> None:
        """Append one fact in one system call, so that a killed sandbox leaves whole lines. Raises OSError."""
        if self._file is None:
            return
        line = _line(fact)
        written = os.write(self._file, line)
        if written != len(line):
            # A full disk took part of the line: take it back, or every later line would be unreadable.
            os.ftruncate(self._file, os.fstat(self._file).st_size - written)
            raise OSError(f"the journal {self._path} took only {written} of {len(line)} bytes")

    def size_bytes(self) -> int:
        return 0 if self._file is None else os.fstat(self._file).st_size

    @contextmanager
    def rewritten(self) -> Iterator[Callable[[dict[str, Any]], object]]:
        """Give a writer of facts that take the place of the whole file, in one step, when the block ends well.

        Raises OSError where they cannot be written; the old file is then as it was.
        """
        assert self._path is not None
        beside = self._path.with_name(self._path.name + ".new")
        fresh = _opened(beside)
        try:
            # One that was cut off left a part; and whoever opens the path from now on meets our lock.
            os.ftruncate(fresh, 0)
            fcntl.flock(fresh, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with open(fresh, "ab", closefd=False) as lines:
                yield lambda fact: lines.write(_line(fact))
            os.fsync(fresh)
            os.replace(beside, self._path)
        except BaseException:
            os.close(fresh)
            with suppress(OSError):
                beside.unlink()
            raise
        self.close()
        self._file = fresh

    def clear(self) -> None:
        if self._file is not None:
            os.ftruncate(self._file, 0)

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None


def _opened(path: Path) -> int:
    # Mails and keys are in it, so it is for its owner alone.
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)


def _line(fact: dict[str, Any]) -> bytes:
    return json.dumps(fact, separators=(",", ":")).encode() + b"\n"

"""How `notify import` writes: all lines in one step, or batch by batch, which a later start goes on behind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, TextIO

from django.db import connection
from tqdm import tqdm

from notifications import outbox, runs
from notifications.cli.import_lines import Line, checked, is_over, read
from notifications.cli.import_twice import Seen
from notifications.cli.terminal import Terminal, rows
from notifications.models import RunItem

# Large enough that the calls cost little, small enough that the bar moves.
BATCH: Final = 1000
# So much text makes a batch fuller than any number of lines does: the database takes 268 MB in one call, and no more.
BATCH_TEXT: Final = 16_000_000
# A line that was found bad when the file was checked, and one that the database refused.
INVALID_LINE: Final = "invalid_line"
REFUSED_LINE: Final = "refused"


@dataclass(slots=True)
class Tally:
    """What became of the lines."""

    created: int = 0
    existing: int = 0
    expired: int = 0
    rejected: list[tuple[Line, str]] = field(default_factory=list)

    def reject(self, line: Line, reason: str) -> None:
        """Keep a line that cannot be written, with the reason."""
        self.rejected.append((line, reason))


class Bar:
    """A progress bar where a person looks on; silent anywhere else."""

    def __init__(self, terminal: Terminal) -> None:
        self._shown = terminal.err.isatty()
        self._bar: Any = None

    def over(self, doing: str, total: int | None) -> Callable[[int], None]:
        """Begin a new bar; give the function that moves it."""
        self.close()
        self._bar = tqdm(desc=doing, total=total, unit=" lines", disable=not self._shown)
        return lambda count: self._bar.update(count) and None

    def close(self) -> None:
        """Leave the terminal as a bar's last state shows it."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None


@dataclass(frozen=True, slots=True)
class Import:
    """One import under way: the file, what became of its lines, its run, and the bar."""

    source: TextIO
    form: str
    tally: Tally
    work: runs.Running
    bar: Bar


def write(one: Import, *, each: bool) -> None:
    """Check every line, then write the good ones. Raises runs.GaveUp where all or none means none."""
    total = _check(one) + len(one.tally.rejected)
    one.work.expects(total)
    advance = one.bar.over("writing", total)
    advance(one.work.done_count)
    if each:
        _write_each(one, advance)
    elif one.tally.rejected:
        raise _given_up(one, INVALID_LINE)
    else:
        one.work.step(lambda: _write_all(one, advance))
        one.tally.created, one.tally.existing = (one.work.tally.get(name, 0) for name in ("created", "existing"))


def _given_up(one: Import, code: str) -> runs.GaveUp:
    return runs.GaveUp("rejected", [runs.Failed(line.number, code) for line, _ in one.tally.rejected])


def _check(one: Import) -> int:
    """Read every line once; give how many are good."""
    good, now = 0, rows("SELECT notifyops_private.clock_v1() AS now")[0]["now"]
    advance = one.bar.over("checking", None)
    seen = Seen()
    for line in (checked(line, seen) for line in read(one.source, one.form)):
        if line.item is None:
            one.tally.reject(line, line.wrong)
        else:
            good += 1
            one.tally.expired += is_over(line.item, now)
        advance(1)
    return good


def batches(one: Import, *, behind: int) -> Iterator[list[Line]]:
    """Read the good lines behind that number again: all of them at once might not fit into memory.

    Each batch has up to BATCH lines, and up to BATCH_TEXT characters or one line.
    """
    one.source.seek(0)
    bad = {line.number for line, _ in one.tally.rejected}
    batch: list[Line] = []
    size = 0
    for line in read(one.source, one.form):
        if line.number <= behind or line.number in bad:
            continue
        size += len(line.raw)
        if batch and (len(batch) == BATCH or size > BATCH_TEXT):
            yield batch
            batch, size = [], len(line.raw)
        batch.append(line)
    if batch:
        yield batch


def _write_all(one: Import, advance: Callable[[int], None]) -> runs.Done:
    """Write every line in the step's transaction; raises GaveUp where one is refused."""
    created = existing = 0
    one.tally.rejected.clear()  # the step may be done again
    with connection.cursor() as cursor:
        # One file at a time: a batch has one order of writing, but two files may bring the same keys in any order.
        cursor.execute("SELECT pg_advisory_xact_lock(7805, 1)")
    for batch in batches(one, behind=0):
        try:
            owed = outbox.enqueue_many(_items(batch))
        except outbox.EnqueueError:
            # Which lines, and how many? The whole is given up, so the answer may cost time.
            owed, refused = _one_by_one(batch)
            one.tally.rejected += refused
        new = sum(each.created for each in owed)
        created, existing = created + new, existing + len(owed) - new
        advance(len(batch))
        one.work.reports(created + existing)
    if one.tally.rejected:
        raise _given_up(one, REFUSED_LINE)
    return runs.Done(created + existing, {}, {"created": created, "existing": existing})


def _write_each(one: Import, advance: Callable[[int], None]) -> None:
    """Write batch by batch, each a step; what was refused in earlier starts is refused again, by its code."""
    if "line" not in one.work.checkpoint:
        bad = [runs.Failed(line.number, INVALID_LINE) for line, _ in one.tally.rejected]
        one.work.step(lambda: runs.Done(len(bad), {"line": 0}, {"created": 0, "existing": 0}, bad))
        advance(len(bad))
    behind = one.work.checkpoint["line"]
    _remember_refused(one, behind)
    for batch in batches(one, behind=behind):
        refused: list[tuple[Line, str]] = []
        one.work.step(lambda: _write_batch(batch, refused))  # noqa: B023
        one.tally.rejected += refused
        advance(len(batch))
    one.tally.created, one.tally.existing = (one.work.tally.get(name, 0) for name in ("created", "existing"))


def _write_batch(batch: list[Line], refused: list[tuple[Line, str]]) -> runs.Done:
    refused.clear()  # the step may be done again
    try:
        owed = outbox.enqueue_many(_items(batch))
    except outbox.EnqueueError:
        owed, found = _one_by_one(batch)
        refused += found
    new = sum(each.created for each in owed)
    failed = [runs.Failed(line.number, REFUSED_LINE) for line, _ in refused]
    counts = {"created": new, "existing": len(owed) - new}
    return runs.Done(len(batch), {"line": batch[-1].number}, counts, failed)


def _remember_refused(one: Import, behind: int) -> None:
    """Bring back the lines that an earlier start of this run found refused, for the report and the file."""
    if not behind:
        return
    found = RunItem.objects.filter(run_id=one.work.pk, place__lte=behind).exclude(code=INVALID_LINE)
    places = set(found.values_list("place", flat=True))
    one.source.seek(0)
    for line in read(one.source, one.form) if places else ():
        if line.number in places:
            one.tally.reject(line, "it was refused when this import was started before")


def _one_by_one(batch: list[Line]) -> tuple[list[outbox.Enqueued], list[tuple[Line, str]]]:
    owed: list[outbox.Enqueued] = []
    refused: list[tuple[Line, str]] = []
    for line in batch:
        try:
            owed += outbox.enqueue_many(_items([line]))
        except outbox.EnqueueError as refusal:
            refused.append((line, str(refusal).removeprefix("item 1: ")))
    return owed, refused


def _items(batch: list[Line]) -> list[outbox.Item]:
    return [line.item for line in batch if line.item is not None]

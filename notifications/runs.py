"""Long work in steps: each step and its checkpoint commit together, so that any start goes on behind the last one.

    with runs.opened("import", key, title="…", by=actor) as run:
        for batch in batches(behind=run.checkpoint.get("line", 0)):
            run.step(lambda: write(batch))

One process at a time does a piece of work; another is told so. A bad end is an error in the log and a state that
`notify status` and the console show, however the process died.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final

from django.db import DatabaseError, InterfaceError, OperationalError, transaction
from django.db.models import F
from django.db.models.functions import Now

from notifications import run_ends, run_lock
from notifications.models.run import UNFINISHED, Run, RunItem
from notifications.run_lock import alone, reconnect
from notifications.run_progress import Progress

logger = logging.getLogger(__name__)

# In these a run that the cluster carries out is taken up again by itself; from the others a person must resume it.
GOES_ON: Final = ("running", "interrupted")
# Deadlocks, failovers and lost connections: the step is rolled back whole, and so may be done again.
AGAIN_AFTER_S: Final = (0.2, 1.0, 5.0)


AlreadyRuns = run_lock.AlreadyRuns
Failed = run_ends.Failed
GaveUp = run_ends.GaveUp


class Stopped(Exception):
    """A person paused or cancelled the run; the text is `paused` or `cancelled`. What was done stays done."""


class HandedOver(Exception):
    """This process ends, and the run goes on elsewhere: it stays `running`, for whoever takes it up next."""


@dataclass(frozen=True, slots=True)
class Done:
    """What one step did: how many items, the checkpoint behind them, more counts by name, and what failed."""

    count: int
    at: Mapping[str, Any]
    tally: Mapping[str, int] = field(default_factory=dict)
    failed: Sequence[Failed] = ()


@dataclass(slots=True)
class Running:
    """A run that this process works on. `checkpoint`, `tally` and the counts are those of its last step."""

    pk: int
    epoch: int
    checkpoint: dict[str, Any]
    tally: dict[str, int]
    done_count: int
    failed_count: int
    resumed: bool
    progress: Progress

    def reports(self, count: int) -> None:
        """Show how many items the step that runs now has done; called as often as one likes, it never fails."""
        self.progress.tell(count)

    def expects(self, total: int) -> None:
        """Say how many items there are, for bars and percentages."""
        Run.objects.filter(pk=self.pk).update(total_count=total)

    def step(self, work: Callable[[], Done]) -> Done:
        """Do one step: the work and its checkpoint in one transaction of ours.

        `work` may be called again where the database failed it: it must only write to the database. Raises Stopped
        where a person wished so, AlreadyRuns where another start has taken over; then nothing of this step is done.
        """
        for pause_s in AGAIN_AFTER_S:
            try:
                return self._step(work)
            except (OperationalError, InterfaceError) as error:
                logger.warning(
                    "step failed: %s", type(error).__name__, extra={"action": "run_step_failed", "run": self.pk}
                )
                reconnect()
                time.sleep(pause_s)
        return self._step(work)

    def _step(self, work: Callable[[], Done]) -> Done:
        with transaction.atomic():
            asked, epoch = Run.objects.values_list("wish", "epoch").get(pk=self.pk)
            if epoch != self.epoch:
                raise AlreadyRuns
            if not asked:
                done = work()
                kept = self._kept(done)
                self._write(kept, done)
        if asked:
            state = "paused" if asked == "pause" else "cancelled"
            mine = Run.objects.filter(pk=self.pk, epoch=self.epoch)
            mine.update(state=state, wish="", ended_at=Now(), step_done_count=0)
            raise Stopped(state)
        self.checkpoint, self.tally = kept["checkpoint"], kept["tally"]
        self.done_count, self.failed_count = kept["done_count"], kept["failed_count"]
        return done

    def _kept(self, done: Done) -> dict[str, Any]:
        names = {**self.tally, **done.tally}
        return {
            "checkpoint": dict(done.at),
            "tally": {name: self.tally.get(name, 0) + done.tally.get(name, 0) for name in names},
            "done_count": self.done_count + done.count,
            "failed_count": self.failed_count + len(done.failed),
            "step_done_count": 0,
        }

    def _write(self, kept: dict[str, Any], done: Done) -> None:
        # Last in the transaction: the row is locked for a moment only, and can be asked to stop during a long step.
        mine = Run.objects.filter(pk=self.pk, epoch=self.epoch)
        if not mine.update(step_count=F("step_count") + 1, beat_at=Now(), **kept):
            raise AlreadyRuns
        self.keeps(done.failed)

    def keeps(self, failed: Sequence[Failed]) -> None:
        """Write down what could not be done, each place once."""
        items = [RunItem(run_id=self.pk, place=one.place, code=one.code[:60]) for one in failed]
        RunItem.objects.bulk_create(items, batch_size=1000, ignore_conflicts=True)


@contextmanager
def opened(kind: str, key: str, *, title: str, by: str) -> Iterator[Running]:
    """Begin the work, or go on with its unfinished run; end it as done, failed, paused or cancelled.

    `key` names the work among its kind, e.g. a file's hash. Raises AlreadyRuns. Not inside a transaction of the
    caller: steps must be able to commit.
    """
    with alone(kind, key), _told(_begun(kind, key, title, by)) as run:
        yield run


@contextmanager
def taken_up(pk: int) -> Iterator[Running]:
    """Go on with a run that was ordered, or that another process has left; a wish that waits for it is heeded.

    Raises AlreadyRuns, also where it is not to go on; otherwise as `opened`.
    """
    work = Run.objects.values_list("kind", "key").get(pk=pk)
    with alone(*work), _told(_left(pk)) as run:
        yield run


@contextmanager
def _told(run: Running) -> Iterator[Running]:
    """Write down how the run ended."""
    try:
        yield run
    except (AlreadyRuns, Stopped, HandedOver):
        raise
    except BaseException as error:  # also Ctrl-C and exit: how it ended must stand there
        failed = error.failed if isinstance(error, GaveUp) else ()
        _end(run, *run_ends.ending(error), failed, kind=type(error).__name__)
        raise
    finally:
        run.progress.close()
    _end(run, "done", "")


def _begun(kind: str, key: str, title: str, by: str) -> Running:
    with transaction.atomic():
        row = Run.objects.select_for_update().filter(kind=kind, key=key, state__in=UNFINISHED).first()
        if row is None:
            row = Run.objects.create(kind=kind, key=key, title=title[:200], started_by=by)
            return Running(row.pk, 1, {}, {}, 0, 0, resumed=False, progress=Progress(row.pk, 1))
        row.epoch += 1
        if not row.step_count:
            # Named by a start that did nothing: this one finds anew what is in the way.
            RunItem.objects.filter(run_id=row.pk).delete()
            row.failed_count = 0
        Run.objects.filter(pk=row.pk).update(
            epoch=row.epoch,
            state="running",
            code="",
            wish="",
            started_by=by,
            failed_count=row.failed_count,
            beat_at=Now(),
            ended_at=None,
            step_done_count=0,
        )
    return _resumed(row)


def _left(pk: int) -> Running:
    with transaction.atomic():
        row = Run.objects.select_for_update().get(pk=pk)
        if row.state not in GOES_ON:
            raise AlreadyRuns
        row.epoch += 1
        going: dict[str, Any] = {"state": "running", "code": "", "beat_at": Now(), "ended_at": None}
        Run.objects.filter(pk=pk).update(epoch=row.epoch, step_done_count=0, **going)
    return _resumed(row)


def _resumed(row: Run) -> Running:
    counts, progress = (row.done_count, row.failed_count), Progress(row.pk, row.epoch)
    return Running(row.pk, row.epoch, row.checkpoint, row.tally, *counts, resumed=True, progress=progress)


def _end(run: Running, state: str, code: str, failed: Sequence[Failed] = (), *, kind: str = "") -> None:
    if state != "done":
        words = {"action": "run_failed", "run": run.pk, "code": code, "error": kind}
        logger.error("run ended badly: %s", code, extra=words)
    # Where the database is away the chores will find the run without a process.
    with suppress(DatabaseError, InterfaceError), transaction.atomic():
        mine = Run.objects.filter(pk=run.pk, epoch=run.epoch)
        ended = {"state": state, "code": code[:60], "failed_count": run.failed_count + len(failed)}
        if mine.update(**ended, wish="", beat_at=Now(), ended_at=Now(), step_done_count=0):
            run.keeps(failed)

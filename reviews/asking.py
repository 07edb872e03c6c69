"""What the applications say of many cases at once, asked before the transaction in which these are decided.

A hook is another's code: it may be slow, or hang. So each has a thread of its own, as at the claim, and none is waited
for beyond one bound; meanwhile no case is locked for anybody.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from django.db import connections

from notifications.models import Intent
from notifications.types import NotificationType, registry
from reviews import reading

logger = logging.getLogger(__name__)

# As at the claim, which picks no more and waits no longer.
AT_ONCE: Final = 32
ASK_S: Final = 5.0
# One that hangs keeps its place, so that a run of thousands leaves no thousands of threads behind.
_PLACES: Final = threading.BoundedSemaphore(AT_ONCE)
_ANSWERS: Final[ContextVar[Mapping[int, bool | None] | None]] = ContextVar("still_wanted", default=None)


class NoAnswer(Exception):
    """The application has said nothing in time, or its hook has failed."""


def still_wanted(kind: NotificationType, intent: Intent) -> bool:
    """Give what the application says: what it said ahead, within `ahead`, and otherwise now.

    Raises NoAnswer, and asked now whatever the hook raises.
    """
    assert kind.still_wanted is not None
    answers = _ANSWERS.get()
    if answers is None:
        return kind.still_wanted(intent.report_id)
    answer = answers.get(intent.pk)
    if answer is None:
        raise NoAnswer
    return answer


def to_ask(intent_ids: list[int]) -> dict[int, tuple[NotificationType, str]]:
    """Give those of the cases whose application wants to be asked, with its type and their report ID."""
    found = Intent.objects.filter(pk__in=reading.among(intent_ids)).values_list("pk", "type", "report_id")
    kinds = [(pk, registry.get(name), report_id) for pk, name, report_id in found]
    return {pk: (kind, report_id) for pk, kind, report_id in kinds if kind is not None and kind.still_wanted}


@contextmanager
def ahead(cases: Mapping[int, tuple[NotificationType, str]]) -> Iterator[None]:
    """Ask about these now, side by side; in the block the answers count, and no hook is called."""
    token = _ANSWERS.set(_asked(cases))
    try:
        yield
    finally:
        _ANSWERS.reset(token)


def _asked(cases: Mapping[int, tuple[NotificationType, str]]) -> dict[int, bool | None]:
    ends_at, answers, threads = time.monotonic() + ASK_S, dict[int, bool | None](), []
    for pk, case in cases.items():
        if not _PLACES.acquire(timeout=max(0.0, ends_at - time.monotonic())):
            break
        # Daemons: one that hangs holds up no one's stop.
        thread = threading.Thread(target=_ask, args=(pk, *case, answers), name="still_wanted", daemon=True)
        thread.start()
        threads.append(thread)
    for thread in threads:
        thread.join(max(0.0, ends_at - time.monotonic()))
    # A copy: what comes later than this is not heard any more.
    heard = dict(answers)
    for name in {kind.name for pk, (kind, _) in cases.items() if pk not in heard}:
        logger.error("still_wanted is too slow", extra={"action": "still_wanted_slow", "type": name})
    return heard


def _ask(pk: int, kind: NotificationType, report_id: str, answers: dict[int, bool | None]) -> None:
    assert kind.still_wanted is not None
    try:
        answers[pk] = bool(kind.still_wanted(report_id))
    except BaseException:  # the application's own code, of whatever class: one case's matter
        answers[pk] = None
        logger.exception("still_wanted failed", extra={"action": "still_wanted_failed", "type": kind.name})
    finally:
        connections.close_all()  # this thread's own, which nobody else would close
        _PLACES.release()

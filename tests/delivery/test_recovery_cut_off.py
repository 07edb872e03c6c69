"""A recovery that is cut off in the middle, by an error or by signal 9, is gone on with where it stopped."""

from __future__ import annotations

import signal
import subprocess
import sys
from typing import Any

import psycopg
import pytest

from notifications.delivery import restore
from tests.cluster.machine import eventually
from tests.delivery.asking import witnessed
from tests.delivery.recovering import opened, round_of_questions, tended, trouble
from tests.delivery.workplace import Workplace

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
# The chore as a process of its own, so slow that it can be killed in the middle.
_ONE_AT_A_TIME = """
import asyncio, sys
from psycopg import AsyncConnection
from notifications.delivery import restore

restore.BATCH, hold = 1, restore._hold_some

async def slowly(*given):
    await asyncio.sleep(0.05)
    return await hold(*given)

async def scene():
    restore._hold_some = slowly
    async with await AsyncConnection.connect(sys.argv[1], autocommit=True) as connection:
        await restore.tend_recovery(connection, window_s=84600.0)

asyncio.run(scene())
"""


def test_whoever_is_cut_off_in_the_middle_has_lost_nothing(place: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each batch is a transaction of its own, with the questions in it; the next chore goes on where this one was."""
    witnessed(place)
    place.enqueue_many(5)
    opened(place)
    monkeypatch.setattr(restore, "BATCH", 2)
    ask = restore._ask
    calls = list[int]()

    async def cut_off(*given: Any) -> None:
        calls.append(1)
        if len(calls) == 2:
            raise psycopg.OperationalError("the process ends here, with the entries written and not committed")
        await ask(*given)

    monkeypatch.setattr(restore, "_ask", cut_off)
    with pytest.raises(psycopg.OperationalError):
        tended(place)
    assert sorted(place.states().values()).count("needs_review") == 2
    assert trouble(place) == "recovering"
    tended(place)
    assert sorted(place.states().values()).count("needs_review") == 5
    place.later(130)
    round_of_questions(place)
    tended(place)
    assert trouble(place) is None
    while place.turn():
        pass
    assert set(place.states().values()) == {"accepted"}
    assert place.sql("SELECT marked_count FROM notifyops_private.notifications_recovery") == [(5,)]


def test_a_chore_that_is_killed_with_signal_9_is_gone_on_with(place: Workplace) -> None:
    witnessed(place)
    place.enqueue_many(60)
    opened(place)
    chore = subprocess.Popen([sys.executable, "-c", _ONE_AT_A_TIME, place.dsn()], stderr=subprocess.PIPE)
    eventually(lambda: list(place.states().values()).count("needs_review") >= 5, 60, every_s=0.01)
    chore.send_signal(signal.SIGKILL)
    chore.communicate(timeout=60)
    held = list(place.states().values()).count("needs_review")
    assert 5 <= held < 60
    assert place.sql("SELECT marked_count FROM notifyops_private.notifications_recovery") == [(held,)]
    assert place.sql("SELECT count(*) FROM notifyops_private.notifications_question WHERE about = 'restore'") == [
        (held,)
    ]
    tended(place)
    assert list(place.states().values()).count("needs_review") == 60
    place.later(130)
    round_of_questions(place)
    tended(place)
    assert trouble(place) is None
    assert list(place.states().values()).count("pending") == 60

"""The count of workers is live: who ended says so, who was killed is missed after half a minute."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import transaction
from psycopg import AsyncConnection

from notifications import chores
from notifications.delivery.beats import Beat
from notifications.models import WorkerBeat
from notifications.policy.overall import BEAT_S
from reviews.standing import read_standing
from tests.delivery.workplace import Workplace

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
BEATS = "notifyops_private.notifications_workerbeat"


def alive() -> int:
    with transaction.atomic():
        return read_standing().workers_alive


@pytest.mark.parametrize("stopped", [True, False], ids=["stopped", "budget over"])
def test_a_loop_that_ended_says_so(place: Workplace, stopped: bool) -> None:
    seen = 0

    def stop() -> bool:
        nonlocal seen
        seen = max(seen, place.sql(f"SELECT count(*) FROM {BEATS} WHERE ended_at IS NULL")[0][0])
        return stopped and seen > 0

    place.run(budget_s=90.0 if stopped else 2.0, until=stop)
    beat = WorkerBeat.objects.get()
    assert (seen, alive()) == (1, 0)
    assert beat.ended_at is not None
    assert beat.ended_at >= beat.beat_at


def test_a_killed_loop_is_missed_when_its_beat_is_over(place: Workplace) -> None:
    place.run(budget_s=0.3, until=lambda: False)
    for silent_s, counted in ((0, 1), (BEAT_S + 1, 0)):  # what a kill leaves: a beat that nobody ends
        place.sql(
            f"UPDATE {BEATS} SET ended_at = NULL, beat_at = clock_timestamp() - make_interval(secs => %s)", silent_s
        )
        assert alive() == counted


def test_the_chores_end_their_beat_also_where_they_break_off(place: Workplace) -> None:
    class Broken(Exception):
        pass

    class Held:
        looks = 0

        def check(self) -> None:
            self.looks += 1
            if self.looks > 1:
                raise Broken

    held: Any = Held()

    async def scene() -> None:
        async with await AsyncConnection.connect(place.dsn(), autocommit=True) as connection:
            with pytest.raises(Broken):
                await chores._work(connection, held, lambda: False)

    place.play(scene())
    beat = WorkerBeat.objects.get()
    assert (beat.role, beat.ended_at is not None, alive()) == ("chores", True, 0)


def test_a_database_that_is_away_at_the_end_is_no_fault(place: Workplace) -> None:
    async def scene() -> None:
        connection = await AsyncConnection.connect(place.dsn(), autocommit=True)
        await connection.close()
        await Beat("loop", 0).end(connection)

    place.play(scene())

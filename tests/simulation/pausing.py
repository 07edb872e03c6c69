"""A person who pauses a type or the account for a while, and resumes it; and that nothing begins meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from django.db import DatabaseError

from notifications import pausing
from notifications.pausing import PauseRefused
from tests.simulation.people import KINDS, as_console
from tests.simulation.scheduler import Process
from tests.simulation.violation import Violation
from tests.simulation.world import World

# In some worlds only: what is paused tells little else.
PAUSES: Final = 0.35
SPANS_S: Final = (60.0, 60.0, 300.0, 1200.0, 43_200.0)
LENA: Final = "user:lena"
# What ends by itself soon after the faults need not be resumed.
SOON: Final = timedelta(minutes=30)
# A claim reads the pauses, and may stand still before it writes: for as long as the server lets a transaction do so.
STOOD_STILL_S: Final = 70.0
_CLAIMED_MEANWHILE: Final = """
SELECT i.report_id, p.scope, l.at, p.began_at FROM notifyops_private.notifications_pause p
JOIN notifyops_private.notifications_intent i ON i.account_id = ANY (%(accounts)s)
    AND CASE p.scope WHEN 'account' THEN i.account_id = p.account_id WHEN 'type' THEN i.type = p.name END
JOIN notifyops_private.notifications_logentry l ON l.intent_id = i.id AND l.month = i.month AND l.kind = 'claimed'
    AND l.at > p.began_at + make_interval(secs => %(still)s) AND l.at < least(p.ends_at, p.resumed_at)
"""


async def pause(world: World, process: Process) -> None:
    """Pause now and then, and resume before the end or not; what would last for hours is resumed in calm weather."""
    while world.fixed_rng("pauses").random() < PAUSES and not world.is_calm:
        await asyncio.sleep(world.rng.choice((2.0, 20.0, 60.0, 200.0)))
        await world.turn("person pause")
        try:
            as_console(world, lambda: _pause_or_resume(world))
        except (PauseRefused, DatabaseError):
            world.refused += 1
    if world.is_calm:
        as_console(world, lambda: _resume_long(world))
    await world.finished.wait()


def _pause_or_resume(world: World) -> None:
    dice, stand = world.rng, pausing.standing(pausing.now())
    if stand:
        pausing.resume(dice.choice(stand).pk, reason="It may go on again.", actor=LENA)
        return
    scope, name = ("account", world.channel) if dice.random() < 0.4 else ("type", dice.choice(list(KINDS)))
    span = timedelta(seconds=dice.choice(SPANS_S))
    pausing.pause(scope, name, span=span, reason=("maintenance", ""), actor=LENA)


def _resume_long(world: World) -> None:
    now = pausing.now()
    for one in pausing.standing(now):
        if one.ends_at - now > SOON:
            pausing.resume(one.pk, reason="It may go on again.", actor=LENA)


def violations(world: World) -> Iterator[Violation]:
    """Nothing begins while it is paused. Where the database's clock was put on or back, its times tell nothing."""
    if world.scheduler.was_stepped:
        return
    values = {"accounts": world.accounts, "still": STOOD_STILL_S}
    for report, scope, at, began in world.database.owner.execute(_CLAIMED_MEANWHILE, values).fetchall():
        yield Violation("sent_while_paused", f"{report}: claimed at {at}, and its {scope} paused since {began}")

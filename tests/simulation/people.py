"""Those who are not workers: the application that owes notifications, and the people who decide on cases."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final, TypeVar
from uuid import NAMESPACE_URL, uuid5

import psycopg
from django.db import DatabaseError, connection

from notifications.models import Intent
from notifications.states import State
from reviews import actions
from reviews.models import VERBS
from reviews.person import Person
from reviews.record import Order
from reviews.refusals import Refused
from tests.simulation.database import SETTINGS, at, enqueue_values
from tests.simulation.line import Link
from tests.simulation.scheduler import Process
from tests.simulation.world import World

T = TypeVar("T")
OLGA: Final = Person("user:olga", None, frozenset(VERBS))
KINDS: Final = {"report_ready": 60, "report_once": 18, "report_alarm": 14, "report_approved": 8}
# What a person may do with a case in this state: verb, reason code, text.
CHOICES: Final[dict[str, tuple[tuple[str, str, str], ...]]] = {
    State.NEEDS_REVIEW: (
        ("retry", "provider_recovered", ""),
        ("retry", "configuration_fixed", ""),
        ("retry", "configuration_fixed", ""),
        ("approve", "content_checked", ""),
        ("close", "no_longer_needed", ""),
    ),
    State.RETRY: (("undo", "clicked_by_mistake", ""), ("close", "duplicate", "")),
    State.PENDING: (("close", "no_longer_needed", ""),),
    State.CLOSED: (("reopen", "closed_by_mistake", "It is wanted after all."),),
    State.ACCEPTED: (("retry", "owner_asked", ""),),
}


async def owe(world: World, process: Process) -> None:
    """Owe notifications in the application's own transactions; repeat where nobody knows what became of one."""
    link = Link(world.wires, process, "web", "intake")
    wanted = _wishes(world)
    while wanted:
        batch = wanted[: world.rng.randint(1, 3)]
        try:
            line = await link.get()
            async with line.transaction():
                for item in batch:
                    await line.execute(*enqueue_values(item))
        except psycopg.OperationalError:
            await link.close()
        else:
            world.owed += [item["report"] for item in batch]
            del wanted[: len(batch)]
        await asyncio.sleep(world.rng.choice((0.0, 0.0, 0.0, 40.0)))
    await world.finished.wait()


def _wishes(world: World) -> list[dict[str, Any]]:
    """Give what is to be owed: always the same, also for a successor, since the keys make repeats harmless."""
    rng = world.fixed_rng("wishes")
    wishes = []
    for number in range(rng.randint(4, 8)):
        options = {"channel": world.channel}
        if rng.random() < 0.1:
            options["priority"] = "urgent"
        if rng.random() < 0.1:
            options["expires_at"] = at(rng.choice((300.0, 3600.0)), world.wires.start).isoformat()
        kind = rng.choices(list(KINDS), list(KINDS.values()))[0]
        wishes.append({"kind": kind, "report": f"{world.channel}-{number}", "options": options})
    return wishes


async def decide(world: World, process: Process) -> None:
    """Look at a case, think, decide on it by the console's own actions; whoever is refused looks again."""
    while True:
        await asyncio.sleep(world.rng.choice((5.0, 20.0, 60.0)))
        await world.turn("person read")
        if world.is_calm:
            await world.finished.wait()
        intent = _case(world)
        choices = CHOICES.get(intent.state) if intent is not None else None
        if intent is None or not choices:
            continue
        if world.rng.random() < 0.08:
            await world.turn("person decide")
            _cancel(world, intent)
            continue
        verb, code, text = world.rng.choice(choices)
        # Once for ever, so with this world's own mark: the same seed may be played again in the same database.
        token = uuid5(NAMESPACE_URL, f"{world.channel} {world.rng.getrandbits(64)}")
        await world.turn("person decide")
        order = Order(token=token, seq=intent.seq, reason_code=code, reason=text)
        try:
            as_console(world, lambda: actions.perform(verb, intent.pk, order, OLGA))  # noqa: B023
        except (Refused, DatabaseError):
            world.refused += 1


def _cancel(world: World, intent: Intent) -> None:
    """Take a notification back, as the business does."""

    def cancel() -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT * FROM notifyops.cancel(%s, 'moved on')", [intent.notification_id])

    try:
        as_console(world, cancel)
    except DatabaseError:
        world.refused += 1


def _case(world: World) -> Intent | None:
    cases = as_console(world, lambda: list(Intent.objects.filter(account_id=world.account).order_by("pk")))
    # Cases that wait for a person draw the eye; now and then somebody looks at something else.
    waiting = [case for case in cases if case.state == State.NEEDS_REVIEW]
    chosen = waiting if waiting and world.rng.random() < 0.8 else cases
    return world.rng.choice(chosen) if chosen else None


def as_console(world: World, request: Callable[[], T]) -> T:
    """Play one request of the console, all of it in one turn, and never waiting for a lock: its holder stands still."""

    def play() -> T:
        with connection.cursor() as cursor:
            cursor.execute(SETTINGS)
            cursor.execute("SELECT set_config('notifyops_test.now', %s, false)", [world.wires.moment().isoformat()])
        return request()

    assert world.scheduler.loop is not None
    return world.scheduler.loop.aside(play)

"""Those who are not workers: the application that owes notifications, and the people who decide on cases."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final, TypeVar
from uuid import NAMESPACE_URL, uuid5

import psycopg
from django.db import DatabaseError, connection

from notifications.models import Intent
from notifications.states import Found, Known, NextAction, State
from reviews import actions, reading
from reviews.models import VERBS
from reviews.person import Person
from reviews.record import Order
from reviews.refusals import Refused
from tests.simulation.database import SETTINGS, at, enqueue_values
from tests.simulation.line import Link
from tests.simulation.scheduler import Process
from tests.simulation.weather import LULL_S
from tests.simulation.world import PEOPLE_STAY_S, World

T = TypeVar("T")
# Two leads: each may do all, but confirm her own resend.
LEADS: Final = (Person("user:olga", None, frozenset(VERBS)), Person("user:lena", None, frozenset(VERBS)))
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
    State.PENDING: (("close", "no_longer_needed", ""), ("undo", "clicked_by_mistake", "")),
    State.CLOSED: (("reopen", "closed_by_mistake", "It is wanted after all."),),
    State.ACCEPTED: (("retry", "owner_asked", ""), ("query", "", "")),
}
IN_DOUBT: Final = (("query", "", ""), ("query", "", ""), ("query", "", ""))
CLOSE: Final = ("close", "duplicate", "")
AGAIN: Final = (("retry", "configuration_fixed", ""), ("retry", "owner_asked", ""), ("close", "duplicate", ""))
CORRECT: Final = ("correct", "", "The recipient told us another address.")
RESEND: Final = ("resend", "", "Nobody can tell, and it must arrive.")
CONFIRM: Final = (("approve", "owner_asked", ""),) * 4 + (("decline", "duplicate", ""),)
BY_PROOF: Final[dict[str, tuple[tuple[str, str, str], ...]]] = {
    Found.NOT_FOUND: (("retry", "evidence_not_sent", "The provider does not have it."),) * 3 + (("query", "", ""),),
    Found.FOUND: (("adopt", "evidence_found", ""),),
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
        await asyncio.sleep(world.rng.choice((0.0, 0.0, 40.0) if world.is_calm else (0.0, 10.0, 60.0)))
    await world.finished.wait()


def _wishes(world: World) -> list[dict[str, Any]]:
    """Give what is to be owed: always the same, also for a successor, since the keys make repeats harmless."""
    rng = world.fixed_rng("wishes")
    wishes = []
    for number in range(rng.randint(6, 12)):
        options = {"channel": world.channel}
        if rng.random() < 0.1:
            options["priority"] = "urgent"
        if rng.random() < 0.1:
            options["expires_at"] = at(rng.choice((300.0, 3600.0)), world.wires.start).isoformat()
        kind = rng.choices(list(KINDS), list(KINDS.values()))[0]
        # Now and then two to one address: what comes back of one must keep the other from going out.
        to = f"ana-{rng.choice((number, 0)) if rng.random() < 0.3 else number}@example.com"
        wishes.append({"kind": kind, "report": f"{world.channel}-{number}", "to": to, "options": options})
    return wishes


async def decide(world: World, process: Process) -> None:
    """Look at a case, think, decide on it by the console's own actions; whoever is refused looks again."""
    waits_for: int | None = None
    while True:
        await asyncio.sleep(world.rng.choice(world.weather.thinks_s if not world.is_calm else (20.0, 40.0)))
        await world.turn("person read")
        if world.calm_since is not None and world.scheduler.now - world.calm_since > PEOPLE_STAY_S:
            await world.finished.wait()
        # Whoever has asked the provider comes back to the case, mostly; so does who closed it too early.
        intent = _case(world, waits_for if world.rng.random() < 0.8 else None)
        waits_for = None
        choices = _choices(world, intent) if intent is not None else None
        if intent is None or not choices:
            continue
        if world.rng.random() < 0.08:
            await world.turn("person decide")
            _cancel(world, intent)
            continue
        verb, code, text = world.rng.choice(choices)
        order, person = _order(world, intent, code, text), world.rng.choice(LEADS)
        await world.turn("person decide")
        try:
            as_console(world, lambda: actions.perform(verb, intent.pk, order, person))  # noqa: B023
            waits_for = intent.pk if verb == "query" or intent.known == Known.UNKNOWN else None
        except (Refused, DatabaseError):
            world.refused += 1
            continue
        # Whoever orders last goes home: that lull ends no sooner when the faults have stopped.
        lulls = code in world.weather.lull_after if world.weather.lull_after else not world.is_calm
        lull = world.weather.lull if lulls and verb != "query" else 0.0
        if lull and world.rng.random() < lull:  # whatever was ordered waits for somebody who works
            world.scheduler.advance(LULL_S)


def _order(world: World, intent: Intent, code: str, text: str) -> Order:
    # Once for ever, so with this world's own mark: the same seed may be played again in the same database.
    token = uuid5(NAMESPACE_URL, f"{world.channel} {world.rng.getrandbits(64)}")
    # The first one's address is another's, and may be blocked by now.
    number = world.rng.getrandbits(16) if world.rng.random() < 0.9 else 0
    return Order(
        token=token,
        seq=intent.seq,
        reason_code=code,
        reason=text,
        confirmed=True,
        typed=intent.report_id,
        address=f"ana-{number}@example.com",
    )


def _choices(world: World, intent: Intent) -> tuple[tuple[str, str, str], ...] | None:
    """Give what a careful person considers: what the provider has proven, or to ask it, before all else."""
    if intent.state != State.NEEDS_REVIEW:
        return CHOICES.get(intent.state)
    if intent.known in (Known.UNKNOWN, Known.CONFLICT, Known.ACCEPTED):
        # Known to be accepted, and a case: there are two messages, or none that anybody saw arrive.
        return _in_doubt(world, intent)
    again = AGAIN if intent.known in (Known.SOFT_BOUNCED, Known.INVALID) else CHOICES[State.NEEDS_REVIEW]
    wants_address = intent.next_action == NextAction.CORRECT_ADDRESS or intent.known == Known.SOFT_BOUNCED
    return (*again, *(CORRECT,) * 2) if wants_address else again


def _in_doubt(world: World, intent: Intent) -> tuple[tuple[str, str, str], ...] | None:
    """Give what may be done with what may be out."""
    situation, now = as_console(world, lambda: reading.situations([intent])[intent.pk]), world.wires.moment()
    if situation.open_request(now) is not None:
        return CONFIRM
    proof = situation.asked.proof
    if proof is not None and world.rng.random() < world.weather.trusts:
        return BY_PROOF.get(proof.answer)
    if world.weather.trusts == 1.0:
        return IN_DOUBT
    if situation.asked.last_answer == Found.INCONCLUSIVE and situation.is_past_window(now):
        return (*IN_DOUBT, *(RESEND,) * 4, *CHOICES[State.NEEDS_REVIEW])
    return (*IN_DOUBT, CLOSE) if intent.known == Known.ACCEPTED else (*IN_DOUBT, *CHOICES[State.NEEDS_REVIEW])


def _cancel(world: World, intent: Intent) -> None:
    """Take a notification back, as the business does."""

    def cancel() -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT * FROM notifyops.cancel(%s, 'moved on')", [intent.notification_id])

    try:
        as_console(world, cancel)
    except DatabaseError:
        world.refused += 1


def _case(world: World, waits_for: int | None) -> Intent | None:
    cases = as_console(world, lambda: list(Intent.objects.filter(account_id__in=world.accounts).order_by("pk")))
    if waits_for is not None:
        return next(case for case in cases if case.pk == waits_for)
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

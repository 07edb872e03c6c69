"""Judge: whether a picked intent may be sent now, asking the application where the matter has grown old."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.db import connections
from psycopg import AsyncConnection

from notifications.door import Picked
from notifications.policy.claim import PLAIN, Arrived, Block, ClaimDecision, ClaimFacts, decide_claim
from notifications.states import Known, LossModel, State
from notifications.types import NotificationType

logger = logging.getLogger(__name__)

# The hooks run inside the claim, so that slow ones would hold up everything that was picked with them.
ASK_S = 5.0
_BLOCKS = {
    "unsubscribed": Block.UNSUBSCRIBED,
    "opted_out": Block.OPTED_OUT,
    "bounced": Block.BOUNCED,
    "complained": Block.COMPLAINED,
    "gone": Block.GONE,
}
_ORDERED = (
    "SELECT id FROM notifyops_private.excused_v1(%s::bigint[])",
    "SELECT id FROM notifyops_private.forced_v1(%s::bigint[])",
)
# What the recipient has already, or may have, and what was ordered too long ago (again_v1.sql).
_AGAIN = "SELECT id, arrived, doubted, overdue, insisted FROM notifyops_private.again_v1(%s::bigint[], %s)"
_ARRIVED = {"own": Arrived.OWN, "elsewhere": Arrived.ELSEWHERE, None: None}

Case = tuple[Picked, NotificationType | None, bool]


async def judge_all(connection: AsyncConnection[Any], cases: Sequence[Case], mode: str = "") -> list[ClaimDecision]:
    """Decide on picked intents; each comes with its type, and whether its account's keys make a repeat safe.

    `mode` is the site's: what another one's messages met says nothing here; empty: it does. Past the window, and before
    an attempt that a person ordered who has not outweighed its no, the type's own hook is asked as well: all hooks of
    one claim at the same time, and within one bound.
    """
    excused, forced = await _ordered(connection, [one for one, _, _ in cases])
    again = await _again(connection, [one.id for one, _, _ in cases if _is_again(one)], mode)
    facts = {
        place: replace(
            _facts(one, kind, idempotent=idempotent, excused=one.id in excused),
            forced=one.id in forced,
            **again.get(one.id, {}),
        )
        for place, (one, kind, idempotent) in enumerate(cases)
        if not _is_plain(one)
    }
    decisions = [decide_claim(facts[place]) if place in facts else PLAIN for place in range(len(cases))]
    hooks = {}
    for place, known in facts.items():
        (one, kind, _), decision = cases[place], decisions[place]
        late = (decision.possible_duplicate or one.manual) and not known.insisted
        if decision.sends and late and kind is not None and kind.still_wanted is not None:
            hooks[place] = (kind, one.report_id)
    for place, wanted in (await _asked(hooks)).items():
        decisions[place] = decide_claim(replace(facts[place], still_wanted=wanted))
    return decisions


async def _ordered(connection: AsyncConnection[Any], picked: Sequence[Picked]) -> tuple[set[int], set[int]]:
    """Give those that persons ordered: as the provider has none, and at all costs (evidence_v1.sql)."""
    ids = [one.id for one in picked if one.manual]
    if not ids:
        return set(), set()
    found: list[set[int]] = []
    for query in _ORDERED:
        cursor = await connection.execute(query, (ids,))
        found.append({row[0] for row in await cursor.fetchall()})
    return found[0], found[1]


async def _again(connection: AsyncConnection[Any], ids: list[int], mode: str) -> dict[int, dict[str, Any]]:
    """Give what is known of earlier messages of these, as the claim's facts name it."""
    if not ids:
        return {}
    cursor = await connection.execute(_AGAIN, (ids, mode))
    return {
        intent: {"arrived": _ARRIVED[arrived], "doubted": doubted, "overdue": overdue, "insisted": insisted}
        for intent, arrived, doubted, overdue, insisted in await cursor.fetchall()
    }


def _is_again(one: Picked) -> bool:
    """Say whether an earlier message may be out: of another generation or address, or before a person's order."""
    return one.generation > 1 or one.manual or "~a" in one.notification_id


def _is_plain(one: Picked) -> bool:
    """Say whether nothing at all speaks against sending: a record of facts to decide on costs more than this look."""
    return not (one.ambiguous or one.blocked or one.manual or _is_again(one)) and one.expires_in_s is None


def _facts(one: Picked, kind: NotificationType | None, *, idempotent: bool, excused: bool) -> ClaimFacts:
    return ClaimFacts(
        state=State(one.state),
        # Of a type that this release does not know, the careful one: it may be the type's own.
        loss_model=LossModel.NEVER_TWICE if kind is None else kind.loss_model,
        idempotent=idempotent,
        ambiguous=one.ambiguous,
        window_left_s=one.window_left_s,
        expired=one.expires_in_s is not None and one.expires_in_s <= 0,
        blocked_by=None if one.blocked is None else _BLOCKS[one.blocked],
        excused=excused,
        known=None if one.known is None else Known(one.known),
        ordered=one.manual,
    )


async def _asked(hooks: Mapping[int, tuple[NotificationType, str]]) -> dict[int, bool]:
    """Ask the applications side by side; one that fails, or takes too long, has not said yes."""
    if not hooks:
        return {}
    loop = asyncio.get_running_loop()
    answers = {place: loop.create_future() for place in hooks}

    def ask(place: int) -> None:
        answer = _is_wanted(*hooks[place])
        with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile; nobody waits for the answer
            loop.call_soon_threadsafe(functools.partial(_settle, answers[place], wanted=answer))

    for place in hooks:
        # The hook may use the database: never on the loop's thread. Daemons: one that hangs holds up no one's stop.
        threading.Thread(target=ask, args=(place,), name="still_wanted", daemon=True).start()
    await asyncio.wait(answers.values(), timeout=ASK_S)
    for place in (place for place, answer in answers.items() if not answer.done()):
        logger.error("still_wanted is too slow", extra={"action": "still_wanted_slow", "type": hooks[place][0].name})
    return {place: answer.done() and answer.result() for place, answer in answers.items()}


def _settle(answer: asyncio.Future[bool], *, wanted: bool) -> None:
    if not answer.done():
        answer.set_result(wanted)


def _is_wanted(kind: NotificationType, report_id: str) -> bool:
    assert kind.still_wanted is not None
    try:
        return bool(kind.still_wanted(report_id))
    except BaseException:  # the application's own code, of whatever class: one message's matter
        logger.exception("still_wanted failed", extra={"action": "still_wanted_failed", "type": kind.name})
        return False
    finally:
        connections.close_all()  # this thread's own, which nobody else would close

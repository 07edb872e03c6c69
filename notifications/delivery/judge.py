"""Judge: whether a picked intent may be sent now, asking the application where the matter has grown old."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace

from notifications.door import Picked
from notifications.policy.claim import PLAIN, Block, ClaimDecision, ClaimFacts, decide_claim
from notifications.states import LossModel, State
from notifications.types import NotificationType

logger = logging.getLogger(__name__)

# The hook runs inside the claim, so that a slow one would hold up everything that was picked with it.
ASK_S = 5.0
_BLOCKS = {
    "unsubscribed": Block.UNSUBSCRIBED,
    "opted_out": Block.OPTED_OUT,
    "bounced": Block.BOUNCED,
    "complained": Block.COMPLAINED,
}


async def judge(one: Picked, kind: NotificationType | None, *, idempotent: bool) -> ClaimDecision:
    """Decide on one picked intent; `idempotent` says whether its account's keys make a repeat safe.

    Past the window, and before an attempt that a person ordered, the type's own hook is asked as well.
    """
    if not (one.ambiguous or one.blocked or one.manual) and one.expires_in_s is None:
        return PLAIN  # nearly every intent: a record of facts to decide on costs more than all that decides
    facts = ClaimFacts(
        state=State(one.state),
        # Of a type that this release does not know, the careful one: it may be the type's own.
        loss_model=LossModel.NEVER_TWICE if kind is None else kind.loss_model,
        idempotent=idempotent,
        ambiguous=one.ambiguous,
        window_left_s=one.window_left_s,
        expired=one.expires_in_s is not None and one.expires_in_s <= 0,
        blocked_by=None if one.blocked is None else _BLOCKS[one.blocked],
        ordered_by_person=one.manual,
    )
    decision = decide_claim(facts)
    late = decision.possible_duplicate or one.manual
    if decision.sends and late and kind is not None and kind.still_wanted is not None:
        decision = decide_claim(replace(facts, still_wanted=await _is_wanted(kind, one.report_id)))
    return decision


async def _is_wanted(kind: NotificationType, report_id: str) -> bool:
    """Ask the application; one that fails, or takes too long, has not said yes."""
    try:
        # The hook may use the database: never on the loop's thread.
        return await asyncio.wait_for(asyncio.to_thread(_asked, kind, report_id), ASK_S)
    except TimeoutError:
        logger.error("still_wanted is too slow", extra={"action": "still_wanted_slow", "type": kind.name})
        return False


def _asked(kind: NotificationType, report_id: str) -> bool:
    assert kind.still_wanted is not None
    try:
        return bool(kind.still_wanted(report_id))
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # the application's own code, of whatever class: one message's matter
        logger.exception("still_wanted failed", extra={"action": "still_wanted_failed", "type": kind.name})
        return False

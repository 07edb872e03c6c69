"""One due intent on its way through the claim: what it is for, and the bytes that it gets or has."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from notifications.delivery.prepare import Frozen, freeze
from notifications.delivery.shop import Account, Rules
from notifications.door import Picked
from notifications.policy import codes
from notifications.policy.claim import ClaimDecision, decide_unprepared
from notifications.providers.base import Unsendable
from notifications.states import Known, ResultClass
from notifications.types import NotificationType

logger = logging.getLogger(__name__)

# What a person's retry prepares anew: nothing of the old bytes was or will be delivered.
_ANEW = frozenset({Known.INVALID, Known.SOFT_BOUNCED})


@dataclass(slots=True)
class Due:
    """One picked intent; `frozen` are new bytes, `anew` of a new generation, `duplicate` maybe a second message."""

    picked: Picked
    kind: NotificationType | None
    account: Account
    frozen: Frozen | None = None
    anew: bool = False
    duplicate: bool = False


def given_bytes(due: Due, rules: Rules, decision: ClaimDecision) -> ClaimDecision:
    """Freeze what is to be sent; give the decision, or the one to stop where no bytes can be made.

    Only inside `plain_language`.
    """
    if not decision.sends:
        return decision
    due.duplicate = decision.possible_duplicate
    try:
        _freeze(due, rules)
    except Unsendable as refusal:
        return decide_unprepared(refusal.code, refusal.result_class, ambiguous=due.picked.ambiguous)
    return decision


def _freeze(due: Due, rules: Rules) -> None:
    """Set the bytes, where the generation has none yet or a person ordered it anew. Raises Unsendable."""
    one = due.picked
    was_prepared = one.body_sha256 is not None
    due.anew = one.manual and was_prepared and not one.ambiguous and one.known in _ANEW
    if one.body is not None and not due.anew:
        if one.body_mode != rules.site_mode:
            raise Unsendable(codes.SITE_MODE_CHANGED)
        return
    if was_prepared and not due.anew:  # the same bytes could not be made again for certain
        raise Unsendable(codes.BYTES_ERASED)
    if due.kind is None:
        raise Unsendable(codes.INVALID_DATA)
    generation = one.generation + 1 if due.anew else one.generation
    try:
        due.frozen = freeze(one, due.kind, due.account, rules=rules, generation=generation)
    except (Unsendable, KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # an adapter's bug, of any class, concerns one message and not the loop
        logger.error(
            "preparing failed: %s",
            type(error).__name__,
            extra={"action": "prepare_failed", "intent": one.notification_id},
        )
        raise Unsendable(codes.INVALID_DATA, ResultClass.FIX_CONFIG) from error

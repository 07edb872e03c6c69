"""One due intent on its way through the claim: what it is for, and the bytes that it gets or has."""

from __future__ import annotations

import functools
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from psycopg import AsyncConnection

from notifications.delivery.prepare import Frozen, Moment, Own, freeze
from notifications.delivery.shop import Account
from notifications.door import Picked
from notifications.policy import codes
from notifications.policy.claim import ClaimDecision, decide_unprepared, is_prepared_anew
from notifications.providers.attachment import Attachment
from notifications.providers.base import Unsendable
from notifications.states import Known, ResultClass
from notifications.types import NotificationType

logger = logging.getLogger(__name__)

_ROOTS: Final = """
SELECT i.id, k.intent_id FROM unnest(%s::bigint[]) AS u(id)
JOIN notifyops_private.notifications_intent i ON i.id = u.id
JOIN notifyops_private.notifications_intentkey k
  ON k.key = regexp_replace(i.notification_id, '~a[0-9]+$', '') AND k.workspace = i.workspace
"""


@dataclass(slots=True)
class Due:
    """One picked intent; `frozen` are new bytes, `anew` of a new generation, `duplicate` maybe a second message.

    `root`: of a corrected address, the notification that was first owed under the caller's key. `attachments` as they
    go into new bytes.
    """

    picked: Picked
    kind: NotificationType | None
    account: Account
    frozen: Frozen | None = None
    anew: bool = False
    duplicate: bool = False
    root: int | None = None
    attachments: tuple[Attachment, ...] = ()


async def set_roots(connection: AsyncConnection[Any], cases: Sequence[Due]) -> None:
    """Name the root of each corrected address that has no bytes yet."""
    corrected = {case.picked.id: case for case in cases if "~a" in case.picked.notification_id}
    if not corrected:
        return
    for intent, root in await (await connection.execute(_ROOTS, (list(corrected),))).fetchall():
        corrected[intent].root = root


async def time_for(connection: AsyncConnection[Any], cases: Sequence[Due]) -> datetime | None:
    """Give the database's time, where an account puts it into its bytes."""
    if not any(case.account.provider.capabilities.dates_messages for case in cases):
        return None
    row = await (await connection.execute("SELECT notifyops_private.clock_v1()")).fetchone()
    assert row is not None
    now: datetime = row[0]
    return now.astimezone(UTC)


def given_bytes(due: Due, moment: Moment, decision: ClaimDecision) -> ClaimDecision:
    """Freeze what is to be sent; give the decision, or the one to stop where no bytes can be made.

    Only inside `plain_language`.
    """
    if not decision.sends:
        return decision
    due.duplicate, due.anew = decision.possible_duplicate, decision.anew
    try:
        _freeze(due, moment)
    except Unsendable as refusal:
        return decide_unprepared(refusal.code, refusal.result_class, ambiguous=due.picked.ambiguous)
    return decision


def _freeze(due: Due, moment: Moment) -> None:
    """Set the bytes, where the generation has none yet or a person ordered it anew. Raises Unsendable."""
    one = due.picked
    was_prepared = one.body_sha256 is not None
    # A message that came back was made, also where a restored database has forgotten its bytes.
    was_made = was_prepared or one.known == Known.SOFT_BOUNCED
    elsewhere = was_prepared and one.body_mode != moment.rules.site_mode
    unusable = elsewhere or (was_prepared and one.body is None)
    by_one = is_prepared_anew(one.known, ambiguous=one.ambiguous, unusable=unusable)
    due.anew = due.anew or (one.manual and was_made and by_one)
    if one.body is not None and not due.anew:
        if elsewhere:
            raise Unsendable(codes.SITE_MODE_CHANGED)
        return
    if was_prepared and not due.anew:  # the same bytes could not be made again for certain
        raise Unsendable(codes.BYTES_ERASED)
    if due.kind is None:
        _tell_unknown(one.type)
        raise Unsendable(codes.UNKNOWN_TYPE)
    generation = one.generation + 1 if due.anew else one.generation
    try:
        # A restored database may have forgotten that there is a corrected address: the first one's number says it.
        tags = {"generation": str(generation)} | ({"root": str(due.root)} if due.root else {})
        due.frozen = freeze(one, due.kind, due.account, moment=moment, own=Own(tags, due.attachments))
    except (Unsendable, KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # an adapter's bug, of any class, concerns one message and not the loop
        logger.error(
            "preparing failed: %s",
            type(error).__name__,
            extra={"action": "prepare_failed", "intent": one.notification_id},
        )
        raise Unsendable(codes.INVALID_DATA, ResultClass.FIX_CONFIG) from error


@functools.cache
def _tell_unknown(name: str) -> None:
    """Say it once a process and type: each of its notifications makes a case anyway."""
    logger.warning(
        "this worker does not know the type %s: is its package named in NOTIFYOPS_APPS here?",
        name,
        extra={"action": "type_unknown", "type": name},
    )

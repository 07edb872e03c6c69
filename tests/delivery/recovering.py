"""A recovery in a test: opened as the command does, tended as the chores do, by the workplace's clock."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from notifications.delivery import discovery
from notifications.delivery.forgotten import read_lists
from notifications.delivery.reconcile import SETTLE_S, Desk, reconcile
from notifications.delivery.restore import tend_recovery
from notifications.providers.base import Lookup
from notifications.providers.resend_lookup import ResendLookup
from tests.delivery.asking import QUICK
from tests.delivery.workplace import Workplace, connected
from tests.providers.inquiries import body_of, mail_ids, post

REASON = "Restored from last night's backup."
WINDOW_S = 84_600.0
_OPEN = "SELECT notifyops_private.recover_v1('test', notifyops_private.clock_v1() - %s::interval, 'cli:lena@host', %s)"


def opened(place: Workplace, ago_s: float = 600.0) -> int:
    """Open a recovery for what was sent in the last `ago_s` seconds; give its number."""
    return int(place.sql(_OPEN, f"{ago_s} s", REASON, role="web")[0][0])


def tended(place: Workplace) -> None:
    """Do the chore once."""

    async def scene() -> None:
        async with await connected(place.dsn()) as connection:
            await tend_recovery(connection, window_s=WINDOW_S, mode="sandbox")

    place.play(scene())


def round_of_questions(place: Workplace, lookup: Lookup | None = None, **desk: Any) -> int:
    """Ask as the chores do on a restored database: look, read the lists, and ask; give how many answers were kept."""

    async def scene() -> int:
        used = lookup or ResendLookup(base_url=place.sandbox.url, api_key=place.sandbox.full_key, timeout_s=5)
        try:
            async with await connected(place.dsn()) as connection:
                await discovery.discover(connection, settle_s=SETTLE_S)
                whole = Desk({place.account: used}, {place.account: QUICK}, site="test", **desk)
                await read_lists(connection, whole)
                return await reconcile(connection, whole, worker="host/1/ask0")
        finally:
            await used.close()

    kept: int = place.play(scene())
    return kept


def recovered(place: Workplace, lookup: Lookup | None = None, ago_s: float = 600.0) -> None:
    """Do all of it: open, hold, wait until the provider has settled, ask, finish."""
    opened(place, ago_s)
    tended(place)
    place.later(130)
    round_of_questions(place, lookup)
    tended(place)


def trouble(place: Workplace) -> str | None:
    """Give why the loops may not send from this database."""
    word: str | None = place.sql("SELECT notifyops_private.site_trouble_v1('test')", role="worker")[0][0]
    return word


def forgotten_send(place: Workplace, intent: int, *, to: str = "ana@example.com", generation: int = 1) -> str:
    """Let the provider take what a restored database does not remember to have sent; give the mail's id."""
    ((notification_id,),) = place.sql(
        "SELECT notification_id FROM notifyops_private.notifications_intent WHERE id = %s", intent
    )
    key = notification_id if generation == 1 else f"{notification_id}~g{generation}"
    post(place.sandbox, body_of(intent, to=to, generation=generation), key)
    return mail_ids(place.sandbox)[-1]


def past(seconds: float) -> datetime:
    return datetime.now(UTC) - timedelta(seconds=seconds)

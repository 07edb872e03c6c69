"""What keeps from being sent what is due, and when what a person has just ordered can happen."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from django.db import connection
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from notifications.models import Intent
from reviews import times
from reviews.refusals import Sentence
from reviews.standing import Standing
from reviews.words import PAUSED

# As the claim and the questions look at it: a used-up quota or a refused key keeps from sending, not from asking. A
# pause keeps from sending as well. `infinity`, until a person has mended it, is no Python time.
_SQL: Final = """
SELECT f.now, f.name, isfinite(f.until), CASE WHEN isfinite(f.until) THEN f.until END,
    CASE WHEN NOT f.asks THEN (
        SELECT max(p.ends_at) FROM notifyops_private.notifications_pause p
        WHERE p.resumed_at IS NULL AND p.ends_at > f.now AND CASE p.scope
            WHEN 'account' THEN p.account_id = f.account WHEN 'type' THEN p.name = f.type
            ELSE p.name = f.workspace END) END
FROM (
    SELECT t.now, a.name, a.id AS account, i.type, i.workspace, q.asks,
        greatest(c.wait_until, CASE WHEN NOT q.asks OR c.reason NOT IN ('daily_quota', 'monthly_quota', 'config')
            THEN c.open_until END) AS until
    FROM notifyops_private.notifications_intent i
    JOIN notifyops_private.notifications_provideraccount a ON a.id = i.account_id
    LEFT JOIN notifyops_private.notifications_circuit c ON c.account_id = a.id,
    (SELECT notifyops_private.clock_v1() AS now OFFSET 0) t, (SELECT %s::boolean AS asks) q
    WHERE i.id = %s
) f
"""
_AGAIN: Final = _("The account “%(account)s” is not called now: this is done when it is called again, at %(until)s.")
_MENDED: Final = _("The account “%(account)s” is not called until a person has mended it: this is done then.")
_PAUSED: Final = _("A pause holds it until %(until)s: this is done then, or when somebody resumes it.")


def when(intent_id: int, *, asks: bool) -> Sentence:
    """Say when the attempt, or with `asks` the question, can be made; empty where that is now, or within seconds."""
    with connection.cursor() as cursor:
        cursor.execute(_SQL, [asks, intent_id])
        row = cursor.fetchone()
    if row is None:
        return ""
    now, account, is_finite, until, paused_until = row
    if is_finite is False:
        return str(_MENDED) % {"account": account}
    if until is not None and until > now and until >= (paused_until or now):
        return str(_AGAIN) % {"account": account, "until": _at(until, now)}
    return str(_PAUSED) % {"until": _at(paused_until, now)} if paused_until is not None else ""


def waits(intent: Intent, standing: Standing) -> Iterator[str]:
    """Name what keeps it from being sent although it may be due: its account, and the pause that ends last."""
    for one in standing.circuits:
        if one.account_id == intent.account_id:
            until = times.clock(one.until, "%Y-%m-%d %H:%M:%S") if one.until else gettext("a person has mended it")
            words = {"account": one.account, "until": until, "code": one.code}
            yield gettext("It waits: the account “%(account)s” is not called until %(until)s (%(code)s).") % words
    holding = [one for one in standing.pauses if one.holds(intent)]
    if holding:
        last = holding[-1]  # they come by their ends
        pause = {"n": last.number, "what": PAUSED[last.scope], "name": last.name or gettext("(default)")}
        yield gettext("It waits for pause %(n)d (%(what)s %(name)s).") % pause


def _at(until: datetime, now: datetime) -> str:
    is_today = timezone.localtime(until).date() == timezone.localtime(now).date()
    return times.clock(until, "%H:%M:%S" if is_today else "%Y-%m-%d %H:%M")

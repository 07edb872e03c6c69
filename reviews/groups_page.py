"""What is in review, one line for each error code of each account: where the same cause made many cases."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from urllib.parse import urlencode

from django.db import connection
from django.urls import reverse

from notifications.models import ConfigRevision, Intent
from notifications.policy.causes import Cause, cause_of
from notifications.states import NextAction
from reviews import hints, queue
from reviews.refusals import Sentence
from reviews.standing import Standing
from reviews.suggestions import NEXT_ACTIONS

# So many lines that nobody reads on; the page says where it stops.
MOST: Final = 100
# Of a refused field the code does not say whose it is; the suggestion does.
_OF_ACCOUNT: Final = frozenset({Cause.ACCOUNT, Cause.REQUEST})
# From one pair of code and account to the next by one probe of the index each; counts stop behind the cap, and look at
# the index alone. What a person set aside is left out, as in the queue.
_SQL: Final = """
WITH RECURSIVE hop AS (
    (SELECT i.error_code, i.account_id FROM notifyops_private.notifications_intent i
     WHERE i.state = 'needs_review' ORDER BY i.error_code, i.account_id LIMIT 1)
    UNION ALL
    SELECT n.error_code, n.account_id FROM hop CROSS JOIN LATERAL (
        SELECT i.error_code, i.account_id FROM notifyops_private.notifications_intent i
        WHERE i.state = 'needs_review' AND (i.error_code, i.account_id) > (hop.error_code, hop.account_id)
        ORDER BY i.error_code, i.account_id LIMIT 1) n
), line AS (SELECT * FROM hop LIMIT %(lines)s)
SELECT line.error_code, line.account_id, a.name, counted.n, oldest.id, oldest.review_since, oldest.next_action
FROM line JOIN notifyops_private.notifications_provideraccount a ON a.id = line.account_id
CROSS JOIN LATERAL (
    SELECT count(*) AS n FROM (
        SELECT FROM notifyops_private.notifications_intent i
        WHERE i.state = 'needs_review' AND i.error_code = line.error_code AND i.account_id = line.account_id
          AND (i.snoozed_until IS NULL OR i.snoozed_until <= %(now)s)
        -- The index's own order: else the planner may hope to meet so many soon by reading the table through.
        ORDER BY i.error_code, i.account_id, i.review_since LIMIT %(cap)s) AS few) counted
CROSS JOIN LATERAL (
    SELECT i.id, i.review_since, i.next_action FROM notifyops_private.notifications_intent i
    WHERE i.state = 'needs_review' AND i.error_code = line.error_code AND i.account_id = line.account_id
      AND (i.snoozed_until IS NULL OR i.snoozed_until <= %(now)s)
    ORDER BY i.error_code, i.account_id, i.review_since LIMIT 1) oldest
ORDER BY counted.n DESC, oldest.review_since
"""


@dataclass(frozen=True, slots=True)
class Group:
    """Cases of one error code at one account. `revision`: the account's configuration changed since the oldest came."""

    code: str
    label: str
    meaning: str
    account_id: int
    account: str
    count: str
    counted: int
    oldest_id: int
    oldest_at: datetime
    next_action: Sentence
    is_configuration: bool
    revision: ConfigRevision | None
    query: str

    @property
    def queue_url(self) -> str:
        """Give the queue with these cases alone."""
        return f"{reverse('reviews:queue')}?{self.query}"

    @property
    def plan_url(self) -> str:
        """Give where something is planned for all of them; for a cause that was mended, with that reason."""
        reason = "&reason_code=configuration_fixed" if self.is_configuration and self.revision else ""
        return f"{reverse('reviews:bulk_new')}?{self.query}{reason}"


def read(standing: Standing) -> dict[str, Any]:
    """Give the page's facts, in two queries beside the header's."""
    facts: dict[str, int | datetime] = {"lines": MOST + 1, "cap": queue.COUNT_CAP + 1, "now": standing.now}
    with connection.cursor() as cursor:
        cursor.execute(_SQL, facts)
        rows = cursor.fetchall()
    newest: dict[int, ConfigRevision] = {}
    for revision in ConfigRevision.objects.filter(account_id__in={row[1] for row in rows}).order_by("revision"):
        newest[revision.account_id] = revision
    found = [_group(row, newest.get(row[1])) for row in rows[:MOST]]
    return {"standing": standing, "groups": found, "is_cut": len(rows) > MOST, "limit": MOST}


def _group(row: tuple[Any, ...], revision: ConfigRevision | None) -> Group:
    code, account_id, account, count, oldest_id, oldest_at, next_action = row
    is_newer = revision is not None and revision.revision > 1 and revision.at > oldest_at
    return Group(
        code=code,
        label=hints.label(code),
        meaning=hints.meaning(code),
        account_id=account_id,
        account=account,
        count=f"{queue.COUNT_CAP:,}+" if count > queue.COUNT_CAP else f"{count:,}",
        counted=count,
        oldest_id=oldest_id,
        oldest_at=oldest_at,
        next_action=NEXT_ACTIONS.get(next_action or "", ""),
        is_configuration=is_of_configuration(code, next_action),
        revision=revision if is_newer else None,
        query=urlencode({"code": code, "provider": account}),
    )


def is_of_configuration(code: str | None, next_action: str | None) -> bool:
    """Tell whether an account's configuration is the cause: a type's data and templates are mended elsewhere."""
    return next_action == NextAction.FIX_CONFIG and cause_of(code) in _OF_ACCOUNT


def is_of_type(code: str | None, next_action: str | None) -> bool:
    """Tell whether the type's data or templates are the cause."""
    return next_action == NextAction.FIX_CONTENT or cause_of(code) is Cause.CONTENT


def mended(intent: Intent) -> ConfigRevision | None:
    """Give the account's newest change since this case came into review, where its configuration caused it."""
    if not is_of_configuration(intent.error_code, intent.next_action) or intent.review_since is None:
        return None
    later = ConfigRevision.objects.filter(account_id=intent.account_id, at__gt=intent.review_since, revision__gt=1)
    return later.order_by("-revision").first()

"""Read back from the provider's list what never reached us, for example while our address was away for a day.

Bounded: no further back than `since`, at most `most` events are fetched, and those that are here already cost nothing
but their line in the list. Run it again to go on where the bound cut it short. It parks what it finds as the webhook
would, so that the same rules apply it, once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from notifications.models import ProviderAccount, ProviderEvent
from notifications.providers.resend_events import EventsApi
from notifications.receipts.parse import moment, parse
from notifications.receipts.receive import Verified, receive

# The provider's own retries end after 28 hours: what is older than a few days was decided by people.
MOST: Final = 1000
CHUNK: Final = 50


class NoWebhook(Exception):
    """The provider has no webhook that points here; the text is the path that was looked for."""


@dataclass(slots=True)
class CaughtUp:
    """What one run found: events listed, of them known here, fetched and new; `cut` where the bound ended it."""

    listed: int = 0
    known: int = 0
    new: int = 0
    cut: bool = False


def catch_up(
    api: EventsApi,
    account: ProviderAccount,
    *,
    since: datetime,
    most: int = MOST,
    site: str,
) -> CaughtUp:
    """Fetch and keep what is missing of one account. Raises NoWebhook, EventsUnavailable and DatabaseError.

    Each fifty events are kept by a statement of their own: what a failing run has fetched is not lost.
    """
    path = f"/api/v1/providers/{account.name}/events"
    webhooks = api.webhooks_at(path)
    if not webhooks:
        raise NoWebhook(path)
    found = CaughtUp()
    for webhook in webhooks:
        for ids in _chunks(api, webhook, since, found):
            missing = _missing(account, ids)
            found.known += len(ids) - len(missing)
            chosen = missing[: most - found.new]
            found.cut = found.cut or len(chosen) < len(missing)
            events = [_event(api, webhook, event_id) for event_id in chosen]
            found.new += receive(account.pk, events, site=site, source="catch_up")
            if found.cut:
                return found
    return found


def _chunks(api: EventsApi, webhook: str, since: datetime, found: CaughtUp) -> Iterator[list[str]]:
    """Give the ids of the events since then, newest first, in chunks."""
    chunk: list[str] = []
    for event_id, created_at in api.summaries(webhook):
        at = moment(created_at)
        if at is not None and at < since:
            break
        found.listed += 1
        chunk.append(event_id)
        if len(chunk) == CHUNK:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def _missing(account: ProviderAccount, ids: list[str]) -> list[str]:
    known = set(ProviderEvent.objects.filter(account=account, event_id__in=ids).values_list("event_id", flat=True))
    return [event_id for event_id in ids if event_id not in known]


def _event(api: EventsApi, webhook: str, event_id: str) -> Verified:
    body = api.payload(webhook, event_id)
    return Verified(event_id, body, parse(body))

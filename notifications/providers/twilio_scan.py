"""What a list of one number's messages tells about those that were looked for: no calls, no clock.

The list bears no name of ours. One message of exactly these words, to this number, by this account and in these minutes
is the one; of several nobody can tell, and a text that the provider may have rewritten or emptied proves nothing.

Source: twilio.com/docs/messaging/api/message-resource (read 2026-11); /docs/messaging/services, smart encoding;
/docs/messaging/features/message-redaction.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any, Final

from notifications.providers import twilio_errors
from notifications.providers.base import LookupQuery, LookupResult
from notifications.providers.resend_scan import AFTER, BEFORE
from notifications.providers.twilio import is_sid
from notifications.providers.twilio_message import read_text
from notifications.states import DeliveryStatus, Found

STATUSES: Final = {
    "delivered": DeliveryStatus.DELIVERED,
    "read": DeliveryStatus.DELIVERED,
    "undelivered": DeliveryStatus.SOFT_BOUNCED,
    "failed": DeliveryStatus.FAILED,
    "canceled": DeliveryStatus.FAILED,
}
KINDS: Final = {
    twilio_errors.PERMANENT: DeliveryStatus.BOUNCED,
    twilio_errors.SUPPRESSED: DeliveryStatus.SUPPRESSED,
    twilio_errors.TRANSIENT: DeliveryStatus.SOFT_BOUNCED,
    twilio_errors.ACCOUNT: DeliveryStatus.FAILED,
}
# The list is ordered by when messages left, and one may wait ten hours for that.
_DISORDER: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Listed:
    """One message of the list."""

    sid: str
    to: str
    body: str
    created_at: datetime
    status: DeliveryStatus


@dataclass(frozen=True, slots=True)
class Sought:
    """One question, with what its frozen bytes say."""

    query: LookupQuery
    to: str
    body: str

    def may_be(self, one: Listed) -> bool:
        """Say whether the message was made while this one was tried, for this number."""
        return one.to == self.to and self.query.since - BEFORE <= one.created_at <= self.query.until + AFTER

    def is_like(self, one: Listed) -> bool:
        """Say whether the text may be this one's, rewritten into another alphabet, or emptied."""
        return not one.body or _skeleton(one.body) == _skeleton(self.body)


class Pages:
    """The messages of one number, as far as they were read. `is_whole`: each could be read, and nothing is left out."""

    def __init__(self, wanted: Sequence[Sought]) -> None:
        self._wanted = wanted
        self._lower = min(one.query.since for one in wanted) - BEFORE - _DISORDER
        self._found: dict[str, Listed] = {}
        self.is_whole = True
        self.newest: datetime | None = None

    def add(self, items: Sequence[object]) -> bool:
        """Take a page; give whether the rest is too old to matter."""
        read = [listed(item) for item in items if not _is_inbound(item)]
        self.is_whole &= None not in read
        known = [one for one in read if one is not None]
        self._found |= {one.sid: one for one in known}
        for one in known:
            self.newest = one.created_at if self.newest is None else max(self.newest, one.created_at)
        return bool(known) and all(one.created_at < self._lower for one in known)

    def results(self, as_of: datetime | None) -> Iterator[LookupResult]:
        """Give the answer to each question, after all that matters was read."""
        is_ahead = as_of is not None and self.newest is not None and self.newest > as_of + BEFORE
        for one in self._wanted:
            near = [each for each in self._found.values() if one.may_be(each)]
            exact = [each for each in near if each.body == one.body]
            if len(exact) == 1 and not self._is_shared(one, exact[0]):
                yield LookupResult(one.query.ref, Found.FOUND, "scan", ids=(exact[0].sid,), status=exact[0].status)
                continue
            why_not = (
                (bool(exact) or any(one.is_like(each) for each in near), "lookup.unproven"),
                (not self.is_whole, "lookup.malformed"),
                (is_ahead, "lookup.clock_apart"),
                (not one.query.settled, "lookup.not_settled"),
            )
            code = next((word for applies, word in why_not if applies), None)
            yield LookupResult(one.query.ref, Found.INCONCLUSIVE if code else Found.NOT_FOUND, "scan", code)

    def _is_shared(self, one: Sought, found: Listed) -> bool:
        return any(other is not one and other.body == one.body and other.may_be(found) for other in self._wanted)


def sought(query: LookupQuery) -> Sought | None:
    """Read from the frozen bytes what to look for; None where they are erased or not this provider's."""
    text = read_text(query.body) if query.body is not None else None
    return None if text is None else Sought(query, text.field("To"), text.field("Body"))


def listed(item: object) -> Listed | None:
    """Read one message; None where it cannot be."""
    if not isinstance(item, dict):
        return None
    sid, to, body, created_at = item.get("sid"), item.get("to"), item.get("body"), time_of(item.get("date_created"))
    if not isinstance(sid, str) or not is_sid(sid) or not isinstance(to, str) or created_at is None:
        return None
    return Listed(sid, to, body.strip() if isinstance(body, str) else "", created_at, status_of(item))


def status_of(fields: Mapping[str, Any]) -> DeliveryStatus:
    """Give what the provider last saw happen to a message; a failure is judged by its number."""
    status = fields.get("status")
    if not isinstance(status, str) or status not in STATUSES:
        return DeliveryStatus.NONE
    number = twilio_errors.number_of(fields.get("error_code")) if status in ("failed", "undelivered") else None
    return KINDS.get(twilio_errors.FAILURES.get(number or 0, ""), STATUSES[status])


def time_of(text: object) -> datetime | None:
    """Read `Thu, 24 Aug 2023 05:01:45 +0000`; None for anything else."""
    if not isinstance(text, str) or len(text) > 40:
        return None
    try:
        read = parsedate_to_datetime(text)
        return None if read.tzinfo is None else read.astimezone(UTC)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


def _is_inbound(item: object) -> bool:
    return isinstance(item, dict) and item.get("direction") == "inbound"


def _skeleton(text: str) -> str:
    return "".join(mark for mark in text if mark.isascii() and mark.isalnum())

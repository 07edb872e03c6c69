"""What a scan of Resend's list looks for, and what it has seen so far: no calls, no clock.

The list has no filter and shows no tags, so that a mail which may be ours (recipient and time) is confirmed by its own
page. Source: Resend's OpenAPI file (2026-08-21), GET /emails and GET /emails/{id}; resend-node 6.38.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from notifications.providers.base import LookupQuery, LookupResult
from notifications.states import DeliveryStatus, Found

# Between our clock and the provider's, before an attempt's claim and after its end.
BEFORE: Final = timedelta(minutes=5)
AFTER: Final = timedelta(minutes=10)
# Neighbours in the list may be this much out of order; more, and "everything newer was read" means nothing.
_DISORDER: Final = timedelta(minutes=1)
_ID: Final = re.compile(r"[A-Za-z0-9._-]{1,200}")
_OURS: Final = ("site", "intent", "generation")
# `opened` and `clicked` hide `delivered`; a cancelled mail never comes.
STATUSES: Final = {
    "delivered": DeliveryStatus.DELIVERED,
    "opened": DeliveryStatus.DELIVERED,
    "clicked": DeliveryStatus.DELIVERED,
    "delivery_delayed": DeliveryStatus.DEFERRED,
    "bounced": DeliveryStatus.BOUNCED,
    "complained": DeliveryStatus.COMPLAINED,
    "suppressed": DeliveryStatus.SUPPRESSED,
    "failed": DeliveryStatus.FAILED,
    "canceled": DeliveryStatus.FAILED,
}
Fields = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Mail:
    """One item of the list."""

    id: str
    to: frozenset[str]
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Page:
    """One page, newest first. `is_whole` says that each item could be read and that they stand in order."""

    mails: tuple[Mail, ...]
    has_more: bool
    is_whole: bool


@dataclass(slots=True)
class Sought:
    """One question, with what its frozen bytes say."""

    query: LookupQuery
    to: str
    subject: str | None
    tags: Mapping[str, str]
    found: list[tuple[datetime, str]] = field(default_factory=list)
    status: DeliveryStatus = DeliveryStatus.NONE
    doubtful: bool = False

    @property
    def mark(self) -> tuple[str, ...] | None:
        """Give what no other message has, None where the bytes bear no such tags."""
        return tuple(self.tags[name] for name in _OURS) if all(name in self.tags for name in _OURS) else None

    @property
    def lower(self) -> datetime:
        """Give the time before which the provider cannot have taken it."""
        return self.query.since - BEFORE


class Scan:
    """The open questions of one scan; results come out as the list passes their time."""

    def __init__(self, wanted: Sequence[Sought], as_of: datetime | None = None) -> None:
        self._waiting = sorted(wanted, key=lambda one: one.lower)
        self._by_mark = {one.mark: one for one in wanted if one.mark is not None}
        self._by_to: dict[str, list[Sought]] = {}
        self._spans: dict[str, tuple[datetime, datetime]] = {}
        for one in wanted:
            self._by_to.setdefault(one.to, []).append(one)
            first, last = self._spans.get(one.to, (one.lower, one.query.until + AFTER))
            self._spans[one.to] = min(first, one.lower), max(last, one.query.until + AFTER)
        self._reached: datetime | None = None
        self._is_whole = True
        # A provider whose clock runs ahead dates what it took of ours behind the time in which it is looked for.
        self._newest_credible = None if as_of is None else as_of + BEFORE
        self._is_ahead = False

    @property
    def is_done(self) -> bool:
        """Whether every question has its result."""
        return not self._waiting

    def candidates(self, page: Page) -> list[Mail]:
        """Take one page, and give the mails on it that may be ours."""
        self._is_whole &= page.is_whole
        if page.mails:
            if self._reached is not None and page.mails[0].created_at > self._reached + _DISORDER:
                self._is_whole = False
            self._reached = page.mails[-1].created_at
        limit = self._newest_credible
        self._is_ahead |= limit is not None and any(mail.created_at > limit for mail in page.mails)
        return [mail for mail in page.mails if any(self._may_be(to, mail) for to in mail.to)]

    def _may_be(self, to: str, mail: Mail) -> bool:
        span = self._spans.get(to)
        return span is not None and span[0] <= mail.created_at <= span[1]

    def confirm(self, mail: Mail, fields: Fields | None) -> None:
        """Take a candidate's own page, None where it could not be read: then it may be any that it looks like."""
        tags = tags_of(fields)
        mark = None if tags is None else tuple(tags.get(name, "") for name in _OURS)
        one = None if mark is None else self._by_mark.get(mark)
        if one is not None and tags is not None and tags.items() >= one.tags.items() and one.to in mail.to:
            one.found.append((mail.created_at, mail.id))
            one.status = status_of(fields)
            return
        subject = None if fields is None else fields.get("subject")
        for other in (each for to in mail.to for each in self._by_to.get(to, ())):
            if (tags is None or other.mark is None) and (None in (subject, other.subject) or subject == other.subject):
                other.doubtful = True

    def passed(self) -> Iterator[LookupResult]:
        """Give the results of questions whose time the list has passed."""
        while self._waiting and self._reached is not None and self._reached < self._waiting[-1].lower:
            yield self._result(self._waiting.pop())

    def ended(self) -> Iterator[LookupResult]:
        """Give the results of all that are left: the list holds nothing older."""
        while self._waiting:
            yield self._result(self._waiting.pop())

    def cut_short(self, answer: Found | None, code: str) -> Iterator[LookupResult]:
        """Give what was found before the scan had to end; the rest get `answer`, or none."""
        while self._waiting:
            one = self._waiting.pop()
            if one.found:
                yield self._result(one)
            elif answer is not None:
                yield LookupResult(one.query.ref, answer, "scan", code)

    def _result(self, one: Sought) -> LookupResult:
        ref = one.query.ref
        if one.found:
            ids = tuple(dict.fromkeys(each for _, each in sorted(one.found)))
            return LookupResult(ref, Found.FOUND, "scan", ids=ids, status=one.status)
        why_not = (
            (one.doubtful, "lookup.unproven"),
            (not self._is_whole, "lookup.malformed"),
            (self._is_ahead, "lookup.clock_apart"),
            (not one.query.settled, "lookup.not_settled"),
        )
        code = next((word for applies, word in why_not if applies), None)
        return LookupResult(ref, Found.INCONCLUSIVE if code else Found.NOT_FOUND, "scan", code)


def is_id(text: str) -> bool:
    """Tell whether a message id can stand in an address; one with a slash would lead elsewhere."""
    return _ID.fullmatch(text) is not None and text.strip(".") != ""


def sought(query: LookupQuery) -> Sought | None:
    """Read from the frozen bytes what to look for; None where they are erased or not this provider's."""
    if query.body is None and query.to is not None:
        forgotten = addresses(query.to)
        return Sought(query, next(iter(forgotten)), None, query.tags) if len(forgotten) == 1 else None
    fields = json_object(query.body)
    to, subject = addresses(fields.get("to")), fields.get("subject")
    if len(to) != 1 or not isinstance(subject, str):
        return None
    return Sought(query, next(iter(to)), subject, tags_of({"tags": [], **fields}) or {})


def read_page(body: bytes | None) -> Page | None:
    """Read one page of the list; None where it is none."""
    fields = json_object(body)
    items, has_more = fields.get("data"), fields.get("has_more")
    if not isinstance(items, list) or not isinstance(has_more, bool):
        return None
    read = [_mail(item) for item in items]
    mails = tuple(mail for mail in read if mail is not None)
    in_order = all(newer.created_at >= older.created_at - _DISORDER for newer, older in itertools.pairwise(mails))
    return Page(mails, has_more, len(mails) == len(items) and in_order)


def _mail(item: object) -> Mail | None:
    if not isinstance(item, dict):
        return None
    mail_id, created_at, to = item.get("id"), time_of(item.get("created_at")), addresses(item.get("to"))
    if not isinstance(mail_id, str) or not is_id(mail_id) or created_at is None or not to:
        return None
    return Mail(mail_id, to, created_at)


def time_of(text: object) -> datetime | None:
    """Read `2026-04-03 22:13:42.674981+00` or ISO 8601; None for anything else, and for a time without a zone."""
    if not isinstance(text, str) or len(text) > 40:
        return None
    try:
        read = datetime.fromisoformat(text)
        return None if read.tzinfo is None else read.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def addresses(value: object) -> frozenset[str]:
    """Give the bare addresses of a field that holds one or several, in lower case: some stores fold them."""
    texts = value if isinstance(value, list) else [value]
    bare = (text.rpartition("<")[2].rstrip("> ").strip().lower() for text in texts if isinstance(text, str))
    return frozenset(text for text in bare if "@" in text)


def tags_of(fields: Fields | None) -> dict[str, str] | None:
    """Give a message's tags, an array in answers and an object in events; None where none are shown at all."""
    tags = None if fields is None else fields.get("tags")
    if isinstance(tags, dict):
        return {str(name): str(value) for name, value in tags.items()}
    if not isinstance(tags, list):
        return None
    return {str(tag.get("name")): str(tag.get("value")) for tag in tags if isinstance(tag, dict)}


def status_of(fields: Fields | None) -> DeliveryStatus:
    """Give what the provider last saw happen to a message."""
    event = None if fields is None else fields.get("last_event")
    return STATUSES.get(event, DeliveryStatus.NONE) if isinstance(event, str) else DeliveryStatus.NONE


def json_object(body: bytes | None) -> Fields:
    """Give the fields of a JSON object; an empty mapping for anything else."""
    try:
        fields = json.loads(body) if body else {}
    except (ValueError, RecursionError):
        return {}
    return fields if isinstance(fields, dict) else {}

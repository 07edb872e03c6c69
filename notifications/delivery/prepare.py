"""Freeze the bytes of one generation: who gets what, in which words, as the account's adapter writes it."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal

from notifications.delivery.redirect import Words, marked, reached
from notifications.delivery.render import rendered_by
from notifications.delivery.shop import Account, Rules
from notifications.door import Picked
from notifications.policy import codes
from notifications.policy.endpoints import address_for
from notifications.policy.recipients import InvalidAddress
from notifications.providers.attachment import Attachment
from notifications.providers.base import Message, Unsendable
from notifications.states import ResultClass
from notifications.types import NotificationType

# By the lane's class (lane_v1).
_PRIORITIES: Final[tuple[Literal["urgent", "normal", "bulk"], ...]] = ("urgent", "normal", "bulk")


@dataclass(frozen=True, slots=True)
class Moment:
    """What the bytes depend on beside the notification: the installation's numbers, and the database's time.

    `now` is None where no account of this claim dates its messages: reading a clock for nothing is not free.
    """

    rules: Rules
    now: datetime | None = None

    def until(self, span_s: float | None) -> datetime | None:
        """Give the time in so many seconds; None where either is not known, or it is beyond every calendar."""
        if self.now is None or span_s is None:
            return None
        with contextlib.suppress(OverflowError):  # a year beyond 9999: it never expires
            return self.now + timedelta(seconds=span_s)
        return None


@dataclass(frozen=True, slots=True)
class Own:
    """What this message has of its own: the tags that say what it is, and its files."""

    tags: Mapping[str, str]
    attachments: tuple[Attachment, ...] = ()


@dataclass(frozen=True, slots=True)
class Frozen:
    """The bytes of one generation, and what the log and the console may say about them."""

    body: bytes
    sha256: bytes
    subject: str
    template_version: str


def freeze(picked: Picked, kind: NotificationType, account: Account, *, moment: Moment, own: Own) -> Frozen:
    """Give the exact bytes of this generation; only inside `plain_language`.

    Raises Unsendable, with a code of the closed vocabulary.
    """
    rules = moment.rules
    if picked.erased or picked.recipient is None:
        raise Unsendable(codes.INVALID_DATA)
    try:
        to = address_for(picked.channel, picked.recipient)
    except InvalidAddress as refusal:
        raise Unsendable(codes.INVALID_RECIPIENT, ResultClass.RECIPIENT) from refusal
    try:
        data = json.loads(picked.data or "{}")
    except ValueError as fault:  # a number of thousands of digits, for example
        raise Unsendable(codes.INVALID_DATA) from fault
    wants_short = account.provider.capabilities.wants_short
    rendered = rendered_by(kind, data, report_id=picked.report_id, locale=picked.locale, short=wants_short)
    words = marked(Words(rendered.subject, rendered.text, rendered.short), picked.channel, to, rules)
    message = Message(
        sender=account.sender,
        to=reached(picked.channel, to, rules),
        subject=words.subject,
        text=words.text,
        html=rendered.html,
        short=words.short,
        tags={"site": rules.site, "intent": str(picked.id), **own.tags, **kind.tags},
        prepared_at=moment.now,
        facts={
            "type": kind.name,
            "notification_id": picked.notification_id,
            "report_id": picked.report_id,
            "data": data,
        },
        expires_at=moment.until(picked.expires_in_s),
        priority=_PRIORITIES[min(picked.lane // 16, 2)],
        attachments=own.attachments,
    )
    body = account.provider.prepare(message)
    return Frozen(body, hashlib.sha256(body).digest(), message.subject, rendered.template_version)

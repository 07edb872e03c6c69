"""Read what a mail service says of a message, by django-anymail's parsers, into the catalogued fields of any event.

anymail gives one list of words for all services; hard and soft bounces, which it puts together, are told apart by the
service's own words. Whatever is sent, reading never raises.

Source: django-anymail 15.2, webhooks/postmark.py and webhooks/mailgun.py, which name the services' own words; Mailgun's
reasons beside `bounce`, `generic` and `suppress-bounce` are unverified, and what is not known is soft.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from notifications.providers.anymail import kept_id
from notifications.receipts.parse import UNREADABLE, Told, code_of, ours, says

# anymail's word → the type that is kept; any other word is kept as it is, and says nothing of a message's fate.
_TYPES: Final = {
    "queued": "email.scheduled",
    "sent": "email.sent",
    "delivered": "email.delivered",
    "deferred": "email.delivery_delayed",
    "opened": "email.opened",
    "clicked": "email.clicked",
    "bounced": "email.bounced",
    "rejected": "email.bounced",
    "complained": "email.complained",
    "failed": "email.failed",
}
PERMANENT: Final = "permanent"
TRANSIENT: Final = "transient"
SUPPRESSED: Final = "suppressed"
# Of Postmark's types of bounces these say that the address will never do; every other one is for now.
_POSTMARK_HARD: Final = frozenset({"HardBounce", "BadEmailAddress"})
_POSTMARK_LISTED: Final = frozenset({"ManuallyDeactivated", "ManualSuppression", "Unconfirmed"})
# It arrived, and a machine called it spam: nobody has complained.
_POSTMARK_SPAM: Final = "SpamNotification"


def postmark(body: bytes) -> tuple[str, Told]:
    """Give the id by which a repeat is known, and what the event says. Never raises."""
    raw, event = _parsed("postmark", body)
    record = raw.get("RecordType")
    if event is None:
        return _digest("unreadable", hashlib.sha256(body).hexdigest()), Told(UNREADABLE)
    named = [raw.get(name) for name in ("DeliveredAt", "BouncedAt", "ReceivedAt", "ChangedAt")]
    event_id = _digest(*map(str, (record, raw.get("MessageID"), raw.get("ID"), raw.get("Type"), *named)))
    if record not in ("Bounce", "Delivery", "SpamComplaint", "Open", "Click"):
        # An address was put on a list or off it: that is no word about this message.
        return event_id, _told(event, "email.unsubscribed", None, None)
    kind = raw.get("Type") if isinstance(raw.get("Type"), str) else None
    bounce: str | None = None
    event_type = _TYPES.get(str(event.event_type), "email.unknown")
    if kind == _POSTMARK_SPAM:
        event_type = "email.bounced"
    if event_type == "email.bounced":
        bounce = PERMANENT if kind in _POSTMARK_HARD else SUPPRESSED if kind in _POSTMARK_LISTED else TRANSIENT
    return event_id, _told(event, event_type, bounce, code_of([kind], [raw.get("Details")]))


def mailgun(body: bytes) -> tuple[str, Told]:
    """Give the id by which a repeat is known, and what the event says. Never raises.

    The id is the signature's token: the signature does not cover the body, so each token may speak once.
    """
    raw, event = _parsed("mailgun", body)
    token = _part(raw.get("signature"), "token")
    event_id = _digest("token", str(token))
    if event is None:
        return event_id, Told(UNREADABLE)
    data = raw.get("event-data")
    reason = str(_part(data, "reason") or "")
    event_type = _TYPES.get(str(event.event_type), "email.unknown")
    bounce: str | None = None
    if str(event.event_type) == "rejected":
        event_type = "email.failed"
    elif event_type == "email.bounced" and reason.startswith("suppress-"):
        event_type, bounce = "email.suppressed", None
    elif event_type == "email.bounced":
        # Permanent failures are also said of policies and of mail that grew too old; only `bounce` is the address's.
        bounce = PERMANENT if reason == "bounce" else TRANSIENT
    status = _part(data, "delivery-status")
    texts = [_part(status, "enhanced-code"), _part(status, "message")]
    return event_id, _told(event, event_type, bounce, code_of([reason.replace("-", "_")], texts))


READERS: Final[dict[str, Callable[[bytes], tuple[str, Told]]]] = {"postmark": postmark, "mailgun": mailgun}


def _parsed(esp: str, body: bytes) -> tuple[Mapping[str, Any], Any]:
    """Give the event as it came and as anymail reads it; None for the second where anymail cannot."""
    from anymail.webhooks.mailgun import MailgunTrackingWebhookView
    from anymail.webhooks.postmark import PostmarkTrackingWebhookView

    raw: Any = {}
    try:
        raw = json.loads(body)
        # What they would verify by is ours to verify: verify.py and esp_verify.py do.
        view: Any = (
            PostmarkTrackingWebhookView(webhook_secret="not:asked")  # noqa: S106
            if esp == "postmark"
            else MailgunTrackingWebhookView(webhook_secret="not:asked", webhook_signing_key="x", api_key=None)  # noqa: S106
        )
        return raw, view.esp_to_anymail_event(raw)
    except Exception:  # a foreign parser, over what strangers may have made
        return raw if isinstance(raw, Mapping) else {}, None


def _told(event: Any, event_type: str, bounce: str | None, code: str | None) -> Told:
    tags = event.metadata if isinstance(event.metadata, Mapping) else {}
    return Told(
        type=event_type,
        says=says(event_type, bounce),
        occurred_at=_aware(event.timestamp),
        provider_message_id=kept_id(event.message_id),
        bounce_class=bounce,
        code=code,
        **ours(tags),
    )


def _aware(at: object) -> datetime | None:
    if not isinstance(at, datetime):
        return None
    try:
        found = at.replace(tzinfo=at.tzinfo or UTC).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return found if 2000 <= found.year < 2200 else None


def _part(raw: object, name: str) -> Any:
    return raw.get(name) if isinstance(raw, Mapping) else None


def _digest(*parts: str) -> str:
    """Give one id of many parts; no address is among them, since a hash of one can be tried out."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()

"""What the API takes and gives. Requests are read strictly: a number is no text, and an unknown field is an error."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Final, Literal

from ninja import Schema
from pydantic import Field

from notifications.api.attachments import Attached, AttachedTo
from notifications.api.given import Given
from notifications.models.api_token import SCOPES
from notifications.states import DeliveryStatus, EntryKind, Known, NextAction, State

MOST_ITEMS: Final = 1000
assert SCOPES[:2] == ("enqueue", "read")
Key = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[A-Za-z0-9._:/-]+$")]
# As other keys, and those of corrected addresses, which only we give.
AnyKey = Annotated[str, Field(min_length=1, max_length=210, pattern=r"^[A-Za-z0-9._:/-]+(~a[0-9]{1,6})?$")]
Report = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")]
Workspace = Annotated[str, Field(max_length=64, pattern=r"^[A-Za-z0-9._-]*$")]
TypeName = Annotated[str, Field(min_length=1, max_length=64)]
Moment = Annotated[
    str, Field(pattern=r"^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)? ?(Z|[+-]\d\d(:?\d\d)?)$", max_length=40)
]


class Options(Given):
    """What may be said besides the notification itself."""

    notification_id: Key | None = Field(default=None, description="The key. Default: `<type>/<report>`.")
    channel: str | None = Field(default=None, max_length=32, description="Default: the type's.")
    workspace: Workspace | None = Field(default=None, description="Default: the token's, if it has only one.")
    locale: str | None = Field(default=None, max_length=16, examples=["en", "zh-hans"])
    actor: str | None = Field(default=None, max_length=200, description="Who caused it, by ID; part of the content.")
    not_before: Moment | None = Field(default=None, examples=["2026-12-01T09:00:00Z"])
    expires_at: Moment | None = Field(default=None, examples=["2026-12-08T09:00:00Z"])
    priority: Literal["urgent", "normal", "bulk"] | None = None
    supersedes: Key | None = Field(default=None, description="The key of the notification that this one replaces.")
    attachments: list[Attached] | None = Field(default=None, max_length=10)


class Wish(Given):
    """One notification owed to one recipient."""

    notification_type: TypeName = Field(examples=["report_ready"])
    report_id: Report = Field(description="The business thing that it is about.", examples=["demo-report-001"])
    # A browser's subscription as JSON is the longest form of an address.
    recipient: str = Field(min_length=1, max_length=4000, examples=["ana@example.com"])
    data: dict[str, Any] = Field(default_factory=dict, examples=[{"title": "Q3"}])
    options: Options = Field(default_factory=Options)


class Batch(Given):
    """Up to 1,000 notifications: `all` writes all or none, `each` tells of each."""

    mode: Literal["all", "each"]
    items: list[Wish] = Field(min_length=1, max_length=MOST_ITEMS)


class Withdrawal(Given):
    """Why a notification is taken back. Kept for ever: no names, no addresses."""

    reason: str = Field(min_length=3, max_length=500, examples=["The report was withdrawn."])


class PreviewWish(Given):
    """A type and what its templates need."""

    notification_type: TypeName = Field(examples=["report_ready"])
    data: dict[str, Any] = Field(default_factory=dict, examples=[{"title": "Q3"}])
    report_id: Report = "demo-001"
    locale: str | None = Field(default=None, max_length=16)


class Links(Schema):
    """Where to go on."""

    self: str = Field(examples=["/api/v1/intents/42"])
    log: str
    cancel: str
    case: str = Field(description="The notification in the console, for people.")


class Enqueued(Schema):
    """The notification that is owed now."""

    id: int = Field(examples=[42])
    notification_id: str = Field(examples=["report-ready/demo-report-001"])
    created: bool = Field(description="False: it stood there already, with the same content.")
    state: str = Field(examples=["pending"])
    links: Links


class Refusal(Schema):
    """Why one item was refused: the problem that it would have been alone."""

    status: int
    code: str
    detail: str
    hint: str
    field: str | None = None
    existing: str | None = None


class BatchResult(Schema):
    """What became of one item; `position` counts from 1."""

    position: int
    status: int = Field(description="201 created, 200 there already, or the refusal's.")
    intent: Enqueued | None = None
    problem: Refusal | None = None


class BatchDone(Schema):
    """What became of all of them, in the order of the items."""

    created: int
    existing: int
    refused: int
    results: list[BatchResult]


class Intent(Schema):
    """Where a notification stands. Never its address or content."""

    id: int
    notification_id: str
    report_id: str
    type: str
    workspace: str
    channel: str
    state: State
    delivery_status: DeliveryStatus
    known: Known | None
    error_code: str | None
    next_action: NextAction | None
    attempts: int
    generation: int
    next_attempt_at: datetime | None
    provider_message_id: str | None
    expires_at: datetime | None
    supersedes: str | None
    seq: int
    created_at: datetime
    links: Links


class WholeIntent(Intent):
    """The same, with what is attached."""

    attachments: list[AttachedTo] = Field(description="Empty where there is none, or its content was erased.")


class Intents(Schema):
    """The notifications of one key or one report, oldest first."""

    items: list[Intent]
    next_after: int | None = Field(description="Pass it as `after` for more; null: these were all.")


class Entry(Schema):
    """One fact of the story."""

    seq: int
    at: datetime
    kind: EntryKind
    from_state: State
    to_state: State
    attempt: int
    generation: int
    trigger: Literal["auto", "manual"]
    outcome: str | None
    code: str | None
    phase: str | None
    http_status: int | None
    duration_ms: int | None
    provider_message_id: str | None
    reason_code: str | None
    hash: str = Field(description="Chained to the one before it, in hexadecimal.")


class Story(Schema):
    """Entries in order."""

    items: list[Entry]
    next_after: int | None = Field(description="Pass it as `after` for more; null: these were all.")


class Withdrawn(Schema):
    """What became of the wish to cancel."""

    notification_id: str
    outcome: Literal["cancelled", "cancelled_maybe_sent", "already", "too_late"]
    state: State
    why: str = Field(description="The same in a sentence.")
    links: Links


class Preview(Schema):
    """The rendered parts. Nothing was sent or written."""

    type: str
    subject: str
    text: str
    html: str | None
    template_version: str
    warnings: list[str]


class Outcome(Schema):
    """One thing that became of a notification. `(notification_id, workspace, seq)` comes once."""

    position: int
    notification_id: str
    workspace: str
    seq: int
    outcome: Literal["accepted", "delivered", "bounced", "complained", "closed", "cancelled", "needs_review"]
    at: datetime
    report_id: str
    type: str
    state: State
    code: str | None
    reason_code: str | None
    generation: int
    attempt: int
    provider_message_id: str | None
    intent_id: int


class Outcomes(Schema):
    """A part of the feed, in order."""

    items: list[Outcome]
    next_after: int = Field(description="Keep it with what you did about these, and pass it as `after` next time.")
    has_more: bool = Field(description="Call again at once; false: there is no more yet.")

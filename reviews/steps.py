"""What each decision writes: its entry at the door, and the rows that belong to it. Inside the action's transaction."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

from django.conf import settings

from notifications import door
from notifications.delivery import reconcile
from notifications.models import Intent
from notifications.policy import codes
from notifications.policy.receipt import came_back
from notifications.policy.recipients import mask
from notifications.states import DeliveryStatus, EntryKind, Known, NextAction, State
from reviews.models import ApprovalRequest
from reviews.person import Person, identity
from reviews.record import Order
from reviews.situation import REQUEST_OPEN, Situation

_MOVES: Final[dict[str, tuple[EntryKind, State | None]]] = {
    "retry": (EntryKind.RETRIED, State.RETRY),
    "undo": (EntryKind.UNDONE, State.NEEDS_REVIEW),
    "adopt": (EntryKind.ADOPTED, State.ACCEPTED),
    "approve": (EntryKind.RELEASED, State.PENDING),
    "decline": (EntryKind.CLOSED, State.CLOSED),
    "close": (EntryKind.CLOSED, State.CLOSED),
    "reopen": (EntryKind.REOPENED, State.NEEDS_REVIEW),
    "withdraw": (EntryKind.WITHDRAWN, State.CANCELLED),
    "wait": (EntryKind.SNOOZED, None),
    "resume": (EntryKind.RESUMED, None),
    "resend": (EntryKind.RESEND_ASKED, None),
}


@dataclass(frozen=True, slots=True)
class Step:
    """One decision on its way to the door. `now` is the database's time."""

    verb: str
    intent: Intent
    situation: Situation
    order: Order
    person: Person
    code: str
    now: Any


@dataclass(frozen=True, slots=True)
class Taken:
    """What became of it: the door's word of refusal, or what else the record of the decision is to say."""

    refused: str | None
    before: dict[str, Any] = field(default_factory=dict)
    after: dict[str, Any] = field(default_factory=dict)


def take(step: Step) -> Taken:
    """Write it."""
    if step.verb == "correct":
        return _correct(step)
    kind, entry = entry_of(step)
    (appended,) = door.append(kind, [entry], actor=step.person.name)
    if appended.refused:
        return Taken(appended.refused)
    return _beside(step)


def entry_of(step: Step) -> tuple[EntryKind, door.Entry]:
    """Give the entry that the decision appends."""
    kind, to_state = _kind(step)
    said = _said(step)
    if step.order.insists:
        # The claim, which would ask the application again, reads it here (again_v1.sql).
        said["detail"] = said.get("detail", {}) | {"insists": True}
    return kind, door.Entry(id=step.intent.pk, to_state=to_state, seq=step.intent.seq, **said)


def _kind(step: Step) -> tuple[EntryKind, State | None]:
    resends = step.situation.open_request(step.now) is not None
    if step.verb == "approve" and resends:
        return EntryKind.RETRIED, State.RETRY
    if step.verb == "decline" and resends:
        return EntryKind.RESEND_DROPPED, None
    if step.verb == "undo" and step.intent.state == State.PENDING:
        return EntryKind.WITHDRAWN, State.CANCELLED
    return _MOVES[step.verb]


def _said(step: Step) -> dict[str, Any]:
    """Give the columns of the entry beside what every entry has."""
    said: dict[str, Any] = {"reason_code": step.code or None}
    intent, request = step.intent, step.situation.open_request(step.now)
    match step.verb:
        case "retry":
            said |= {"delay_s": settings.NOTIFYOPS_UNDO_S, "site_mode": settings.NOTIFYOPS_SITE_MODE}
        case "resend":
            said["site_mode"] = settings.NOTIFYOPS_SITE_MODE
        case "approve" if request is not None:
            said = {
                "reason_code": "forced_resend",
                "delay_s": settings.NOTIFYOPS_UNDO_S,
                "detail": {"may_duplicate": True, "asked_by": request.asked_by},
                "site_mode": settings.NOTIFYOPS_SITE_MODE,
            }
        case "adopt":
            said["provider_message_id"] = _named(step)
        case "reopen":
            about = came_back(DeliveryStatus(intent.delivery_status), intent.error_code)
            said |= dict(zip(("code", "known", "next_action"), about or _stood(intent), strict=True))
        case "wait":
            said["until"] = step.now + timedelta(minutes=step.order.minutes or 0)
        case "withdraw" if step.order.erase:
            said["detail"] = {"erased": True}
    return said


def _named(step: Step) -> str:
    """Give the message to adopt: the one on record where the provider names it, else the first that it took."""
    proof = step.situation.asked.proof
    ids, ours = proof.ids if proof else (), step.intent.provider_message_id
    return ours if ours in ids and ours else ids[0]


def _stood(intent: Intent) -> tuple[str, str, str]:
    """Give what a case was about before it was closed."""
    action = intent.next_action or NextAction.ASK_LEAD
    return intent.error_code or "reopened", intent.known or _known_of(intent), action


def _known_of(intent: Intent) -> Known:
    """Give what is proven where a case was closed before anything about it was recorded."""
    if intent.provider_message_id:
        return Known.ACCEPTED
    return Known.UNKNOWN if intent.attempt_count else Known.NOT_SENT


def _beside(step: Step) -> Taken:
    """Write the rows that belong to the entry."""
    request = step.situation.open_request(step.now)
    if step.verb == "resume" and step.intent.error_code == codes.RESTORED:
        # The provider's "no" may have come while it lay aside, and goes for nothing since: ask anew.
        reconcile.want(step.intent.pk, by=step.person.name)
    if step.verb == "resend":
        return _ask_second_person(step)
    if step.verb == "withdraw" and step.order.erase:
        return Taken(None, after={"erased": door.erase(step.intent.pk)})
    if request is not None and step.verb in ("approve", "decline"):
        own = identity(request.asked_by) == identity(step.person.name)
        outcome = "confirmed" if step.verb == "approve" else "withdrawn" if own else "declined"
        _decide(outcome, step)
        return Taken(None, after={"resend": outcome, "asked_by": request.asked_by})
    return Taken(None)


def _ask_second_person(step: Step) -> Taken:
    # One that nobody confirmed in time, or before the case moved: the door lets no other pass.
    _decide("expired", step)
    ends = step.now + REQUEST_OPEN
    ApprovalRequest.objects.create(
        intent_id=step.intent.pk, asked_by=step.person.name, asked_at=step.now, expires_at=ends
    )
    return Taken(None, after={"resend": "asked", "open_until": ends.isoformat(timespec="seconds")})


def _decide(outcome: str, step: Step) -> None:
    by = "" if outcome == "expired" else step.person.name
    open_one = ApprovalRequest.objects.filter(intent_id=step.intent.pk, outcome="")
    open_one.update(outcome=outcome, decided_by=by, decided_at=step.now)


def _correct(step: Step) -> Taken:
    """Owe it to the other address. Both go no further than here: the record has masks, the log a salted hash too."""
    content = getattr(step.intent, "content", None)
    old = mask(content.recipient) if content is not None and content.recipient is not None else ""
    new = mask(step.order.address)
    entry = door.Entry(
        id=step.intent.pk,
        seq=step.intent.seq,
        detail={"from": old, "to": new},
        delay_s=settings.NOTIFYOPS_UNDO_S,
    )
    made = door.correct(entry, step.order.address, actor=step.person.name, site_mode=settings.NOTIFYOPS_SITE_MODE)
    if made.refused:
        return Taken(made.refused)
    after: dict[str, Any] = {"recipient": new, "continued_as": made.notification_id}
    if step.situation.earlier and Intent.objects.filter(pk=made.id or 0, state=State.NEEDS_REVIEW).exists():
        after["held"] = True
    return Taken(None, {"recipient": old}, after)

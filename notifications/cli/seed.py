"""The rows of the first screen: a case of every kind, made as the worker makes them, through intake and the door.

Each story is played in one transaction, so that no loop ever sees it due; all end in states that are not sent.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from django.conf import settings
from django.db import connections, transaction
from django.db.utils import DatabaseError

from notifications import door
from notifications.policy.codes import INVALID_DATA, SECOND_MESSAGE, WINDOW_OVER, WORKER_LOST
from notifications.providers.base import Message
from notifications.providers.resend_message import request_bytes
from notifications.states import DeliveryStatus, EntryKind, Found, Known, NextAction, Outcome, Phase, State

WORKER: Final = "seed"
# Resend's 24 hours less the margin; a window of 0 has closed at once.
_WINDOW_S: Final = 84_600.0


_EVENT: Final = """
WITH kept AS (
    SELECT notifyops_private.receive_v1(i.account_id, jsonb_build_array(jsonb_build_object(
        'event_id', 'msg_seed_' || i.id || '_' || i.seq, 'type', 'email.seeded', 'tag_intent', i.id,
        'sha256', encode(sha256('seeded'), 'hex'))), 'catch_up') AS new, i.id
    FROM notifyops_private.notifications_intent i WHERE i.id = %s
)
SELECT currval('notifyops_private.notifications_providerevent_id_seq') FROM kept WHERE new = 1
"""


@dataclass(frozen=True, slots=True)
class Step:
    """One entry of a story."""

    kind: EntryKind
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Story:
    """One notification, and what happened to it."""

    report_id: str
    steps: tuple[Step, ...] = ()
    type: str = "report_ready"
    workspace: str = ""


def attempt(outcome: Outcome, code: str | None, to_state: State, **facts: Any) -> tuple[Step, Step]:
    """Give a claim and its result; what is left out follows from the outcome."""
    unknown = outcome in (Outcome.UNKNOWN, Outcome.IN_FLIGHT)
    phase = {Outcome.NOT_SENT: Phase.NOT_CONNECTED, Outcome.UNKNOWN: Phase.REQUEST_WRITTEN}
    base: dict[str, Any] = {
        "outcome": outcome,
        "code": code,
        "to_state": to_state,
        "phase": phase.get(outcome, Phase.ANSWER_READ),
        "known": {Outcome.REJECTED: Known.INVALID, Outcome.IN_FLIGHT: Known.UNKNOWN}.get(outcome, outcome),
        "ambiguous": unknown,
        "window_s": _WINDOW_S if unknown else None,
        "failure": outcome in (Outcome.NOT_SENT, Outcome.UNKNOWN),
        "delay_s": 0.0 if to_state == State.RETRY else None,
        "duration_ms": None,  # the entries bear the time of the story's making: ten seconds would contradict them
    }
    return Step(EntryKind.CLAIMED), Step(EntryKind.RESULT, base | facts)


def accepted(number: int, *more: Step) -> tuple[Step, ...]:
    """Give an accepted attempt and what receipts said."""
    pid = f"5e9d0000-demo-4000-8000-{number:012d}"
    return (*attempt(Outcome.ACCEPTED, None, State.ACCEPTED, http_status=200, provider_message_id=pid), *more)


def receipt(status: DeliveryStatus, known: Known | None = None, action: NextAction | None = None) -> Step:
    """Give a receipt; one with something known brings the case into review."""
    to_state = State.NEEDS_REVIEW if known else State.ACCEPTED
    code = known.value if known else None
    facts = {"to_state": to_state, "delivery_status": status, "known": known, "code": code, "next_action": action}
    return Step(EntryKind.RECEIPT, facts)


def evidence(answer: Found, *ids: str) -> Step:
    """Give an answer of the provider."""
    return Step(EntryKind.EVIDENCE, {"outcome": answer, "detail": {"method": "scan", "ids": list(ids)}})


def contradiction(*ids: str) -> tuple[Step, Step]:
    """Give the answer that there is more than one message, and what follows from it."""
    facts = {
        "to_state": State.NEEDS_REVIEW,
        "code": SECOND_MESSAGE,
        "known": Known.ACCEPTED,
        "next_action": NextAction.ASK_LEAD,
    }
    return evidence(Found.FOUND, *ids), Step(EntryKind.CONTRADICTED, facts)


def unknown_thrice() -> tuple[Step, ...]:
    """Give three attempts that may each have been accepted."""
    again = attempt(Outcome.UNKNOWN, "unknown.deadline", State.RETRY)
    action = NextAction.QUERY_PROVIDER
    return (*again, *again, *attempt(Outcome.UNKNOWN, "unknown.deadline", State.NEEDS_REVIEW, next_action=action))


def window_over() -> tuple[Step, ...]:
    """Give three attempts of which the last may have been accepted; nothing begins after its window has closed."""
    again = attempt(Outcome.NOT_SENT, "not_sent.refused", State.RETRY)
    action = NextAction.QUERY_PROVIDER
    last = attempt(Outcome.UNKNOWN, WINDOW_OVER, State.NEEDS_REVIEW, window_s=0.0, next_action=action)
    return (*again, *again, *last)


def refused_thrice(code: str = "not_sent.refused") -> tuple[Step, ...]:
    """Give three attempts that never left this machine."""
    again = attempt(Outcome.NOT_SENT, code, State.RETRY)
    action = NextAction.RETRY_SAME_KEY
    return (*again, *again, *attempt(Outcome.NOT_SENT, code, State.NEEDS_REVIEW, next_action=action))


def lost_worker() -> tuple[Step, ...]:
    """Give a claim whose lease ran out."""
    facts = {
        "to_state": State.NEEDS_REVIEW,
        "code": WORKER_LOST,
        "outcome": Outcome.UNKNOWN,
        "known": Known.UNKNOWN,
        "next_action": NextAction.QUERY_PROVIDER,
        "ambiguous": True,
        "window_s": _WINDOW_S,
        "failure": True,
    }
    return Step(EntryKind.CLAIMED, {"delay_s": 0.0}), Step(EntryKind.LEASE_LOST, facts)


def rejected(code: str, status: int, action: NextAction, field: str = "") -> tuple[Step, ...]:
    """Give one attempt that the provider refused for good; `field`: what it named of the request."""
    detail = {"detail": {"field": field}} if field else {}
    return attempt(Outcome.REJECTED, code, State.NEEDS_REVIEW, http_status=status, next_action=action, **detail)


def stories() -> Iterator[Story]:
    """Give every kind of case, and a few that need nobody."""
    review, ask = State.NEEDS_REVIEW, NextAction.QUERY_PROVIDER
    yield Story("demo-101", unknown_thrice())
    yield Story("demo-102", window_over())
    yield Story("demo-103", refused_thrice())
    yield Story("demo-104", refused_thrice(), workspace="acme")
    yield Story("demo-105", rejected("resend.422.validation_error", 422, NextAction.CORRECT_ADDRESS, "to"))
    yield Story("demo-106", rejected("resend.403.validation_error", 403, NextAction.FIX_CONFIG), workspace="acme")
    conflict = attempt(
        Outcome.CONFLICT, "resend.409.invalid_idempotent_request", review, http_status=409, next_action=ask
    )
    yield Story("demo-107", (*attempt(Outcome.UNKNOWN, "unknown.disconnected", State.RETRY), *conflict))
    yield Story("demo-108", type="report_approved", workspace="acme")
    once = attempt(Outcome.UNKNOWN, "unknown.disconnected", review, next_action=ask)
    yield Story("demo-109", once, type="report_once")
    yield Story("demo-110", lost_worker(), workspace="acme")
    yield Story("demo-111", accepted(111, receipt(DeliveryStatus.BOUNCED, Known.BOUNCED, NextAction.CORRECT_ADDRESS)))
    yield Story("demo-112", accepted(112, receipt(DeliveryStatus.COMPLAINED, Known.COMPLAINED, NextAction.ASK_LEAD)))
    soft = receipt(DeliveryStatus.SOFT_BOUNCED, Known.SOFT_BOUNCED, NextAction.RETRY_NEW_KEY)
    yield Story("demo-113", accepted(113, soft), workspace="acme")
    facts = {"to_state": review, "code": INVALID_DATA, "known": Known.INVALID, "next_action": NextAction.FIX_CONTENT}
    yield Story("demo-114", (Step(EntryKind.INVALID, facts),))
    yield Story("demo-115", refused_thrice("not_sent.dns"))
    yield Story("demo-116", refused_thrice())
    yield Story("demo-117", accepted(117))
    for number in (118, 119, 120):
        workspace = "acme" if number == 119 else ""
        yield Story(f"demo-{number}", accepted(number, receipt(DeliveryStatus.DELIVERED)), workspace=workspace)


def play(story: Story, *, using: str, recipient: str = "ana@example.com") -> int | None:
    """Write one story as the role behind alias `using`; give the intent, or None where it was there before."""
    with transaction.atomic(using=using):
        intent_id, is_new = _enqueue(story, using, recipient)
        if not is_new:
            return None
        fence = 0
        for step in story.steps:
            fence += step.kind is EntryKind.CLAIMED
            append_step(step, intent_id, fence, using)
        return intent_id


def _enqueue(story: Story, using: str, recipient: str) -> tuple[int, bool]:
    with connections[using].cursor() as cursor:
        cursor.execute(
            "SELECT id, created FROM notifyops.enqueue(%s, %s, %s, jsonb_build_object('title', %s::text),"
            " jsonb_build_object('workspace', %s::text))",
            [story.type, story.report_id, recipient, f"Report {story.report_id}", story.workspace],
        )
        intent_id, created = cursor.fetchone()
    return intent_id, created


def append_step(step: Step, intent_id: int, fence: int, using: str) -> None:
    """Append one entry as the role behind alias `using`. Raises DatabaseError where the door refuses it."""
    facts: dict[str, Any] = dict(step.facts)
    actor = None
    if step.kind is EntryKind.CLAIMED:
        facts = {"to_state": State.SENDING, "delay_s": 60.0} | facts
        if fence == 1 and "body" not in facts:
            body = _body(intent_id)
            facts |= {"body": body, "detail": {"sha256": hashlib.sha256(body).hexdigest()}, "template_version": WORKER}
            facts["site_mode"] = settings.NOTIFYOPS_SITE_MODE
    elif step.kind in (EntryKind.RESULT, EntryKind.LEASE_LOST):
        facts["fence"] = fence
    elif step.kind is EntryKind.RECEIPT:
        facts["detail"] = {"event": _event(intent_id, using), "says": facts["delivery_status"]}
    elif step.kind is EntryKind.RETRIED:
        actor, facts["seq"] = "user:olga", _seq(intent_id, using)
    entry = door.Entry(id=intent_id, **facts)
    (done,) = door.append(step.kind, [entry], worker=None if actor else WORKER, actor=actor, using=using)
    if done.refused:
        raise DatabaseError(f"the door refused the demo's entry {step.kind}: {done.refused}")


def _event(intent_id: int, using: str) -> int:
    """Keep an event as if it had come, applied already; give its number."""
    with connections[using].cursor() as cursor:
        cursor.execute(_EVENT, [intent_id])
        number: int = cursor.fetchone()[0]
    return number


def _seq(intent_id: int, using: str) -> int:
    with connections[using].cursor() as cursor:
        cursor.execute("SELECT seq FROM notifyops_private.notifications_intent WHERE id = %s", [intent_id])
        seq: int = cursor.fetchone()[0]
    return seq


def _body(intent_id: int) -> bytes:
    """Give real bytes: an operator may retry a demo case, and the sandbox then takes it."""
    return request_bytes(
        Message(
            sender="Notifications <notifications@example.com>",
            to="ana@example.com",
            subject=f"Your report is ready ({intent_id})",
            text="Your report is ready.",
        )
    )

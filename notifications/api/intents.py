"""`/intents`: owe, look, follow, take back."""

from __future__ import annotations

import logging
from typing import Any

from django.db import connection, transaction
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from ninja import Query, Router, Status

from notifications import outbox
from notifications.api import reading
from notifications.api.gate import Gate, workspace_of
from notifications.api.problems import Problem
from notifications.api.refusals import problem_of
from notifications.api.schemas import (
    Batch,
    BatchDone,
    BatchResult,
    Enqueued,
    Intents,
    Links,
    Refusal,
    Story,
    WholeIntent,
    Wish,
    Withdrawal,
    Withdrawn,
)
from notifications.models import ApiToken
from notifications.outbox_errors import EnqueueError
from notifications.outbox_wire import text
from notifications.states import Approval
from notifications.types import registry

logger = logging.getLogger(__name__)
router = Router(tags=["intents"])
WHY = {
    "cancelled": "Taken back before anything left.",
    "cancelled_maybe_sent": "Nothing more is sent, but an earlier attempt may have been accepted.",
    "already": "It had ended before.",
    "too_late": "It is being sent just now, or the provider has it.",
}


class Asker(HttpRequest):
    """A request that has passed the gate."""

    auth: ApiToken


def links(intent: int) -> Links:
    """Give the addresses of one notification."""
    base = f"/api/v1/intents/{intent}"
    return Links(self=base, log=f"{base}/log", cancel=f"{base}/cancel", case=reverse("reviews:case", args=[intent]))


@router.post("", response={201: Enqueued, 200: Enqueued}, auth=Gate("enqueue"), summary="Owe a notification")
def enqueue(request: Asker, response: HttpResponse, body: Wish) -> Status[Enqueued]:
    """Owe one notification to one recipient, in a transaction of its own.

    The same key with the same content again answers 200 with `Idempotent-Replay: true`: trying again is always safe.
    The key never expires.
    """
    item = _item(request.auth, body)
    with transaction.atomic():
        made = outbox.enqueue(item.notification_type, item.report_id, item.to, item.data, **item.options)
    _note(request, "api_enqueue", intent=made.id, is_new=made.created)
    if not made.created:
        response["Idempotent-Replay"] = "true"
    return Status(201 if made.created else 200, _enqueued(made))


@router.post("/batch", response={201: BatchDone, 200: BatchDone}, auth=Gate("enqueue"), summary="Owe many")
def enqueue_batch(request: Asker, response: HttpResponse, body: Batch) -> Status[BatchDone]:
    """Owe up to 1,000 notifications.

    `mode: all` writes all or none, in one transaction: a refusal is the answer, and names the item. `mode: each` writes
    what it can and tells of each by its position. 201 where at least one is new.
    """
    results = _all(request.auth, body) if body.mode == "all" else _each(request.auth, body)
    done = BatchDone(
        created=sum(result.status == 201 for result in results),
        existing=sum(result.status == 200 for result in results),
        refused=sum(result.problem is not None for result in results),
        results=results,
    )
    _note(request, "api_batch", written=done.created, existing=done.existing, refused=done.refused)
    if done.existing == len(results):
        response["Idempotent-Replay"] = "true"
    return Status(201 if done.created else 200, done)


@router.get("", response=Intents, auth=Gate("read"), summary="Find by key or report")
def find(request: Asker, asked: Query[reading.Asked]) -> dict[str, Any]:
    """Find the notification of a key (`notification_id`), or those of a report (`report_id`): name one of the two."""
    return reading.found(request.auth, asked, links)


@router.get("/{int:intent}", response=WholeIntent, auth=Gate("read"), summary="Where it stands")
def show(request: Asker, intent: int) -> dict[str, Any]:
    """Give state, delivery status, attempts and attachments of one notification."""
    return reading.whole(request.auth, intent, links)


@router.get("/{int:intent}/log", response=Story, auth=Gate("read"), summary="Its story")
def story(request: Asker, intent: int, page: Query[reading.Page]) -> dict[str, Any]:
    """Give the append-only log of one notification, oldest first."""
    return reading.story(request.auth, intent, page)


@router.post("/{int:intent}/cancel", response=Withdrawn, auth=Gate("enqueue"), summary="Take it back")
def cancel(request: Asker, intent: int, body: Withdrawal) -> Withdrawn:
    """Take back a notification that has not left. The answer is final: what is `cancelled` is not sent any more."""
    workspace, key = reading.key_of(request.auth, intent)
    reason = text(body.reason, "reason")
    call = "SELECT notification_id, outcome, state FROM notifyops_private.cancel_by_token_v1(%s, %s, %s, %s)"
    with reading.refusing(), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(call, [key, reason, workspace, request.auth.pk])
        row = cursor.fetchone()
    assert row is not None
    _note(request, "api_cancel", intent=intent, outcome=row[1])
    return Withdrawn(notification_id=row[0], outcome=row[1], state=row[2], why=WHY[row[1]], links=links(intent))


def _item(token: ApiToken, wish: Wish) -> outbox.Item:
    options: dict[str, Any] = wish.options.dict(exclude_none=True)
    options["workspace"] = workspace_of(token, wish.options.workspace)
    kind = registry.get(wish.notification_type)
    if kind is not None and kind.approval is Approval.REQUIRED and not wish.options.actor:
        sentence = "This type needs approval, and nobody approves their own: say in `options.actor` who asks."
        raise Problem("invalid", sentence, field_="options.actor")
    return outbox.Item(wish.notification_type, wish.report_id, wish.recipient, wish.data, options)  # type: ignore[arg-type]


def _all(token: ApiToken, body: Batch) -> list[BatchResult]:
    items = []
    for place, wish in enumerate(body.items, start=1):
        try:
            items.append(_item(token, wish))
        except Problem as problem:
            problem.detail = f"item {place}: {problem.detail}"
            raise
    with transaction.atomic():
        made = outbox.enqueue_many(items)
    return [_result(place, one) for place, one in enumerate(made, start=1)]


def _each(token: ApiToken, body: Batch) -> list[BatchResult]:
    try:
        return _all(token, body)
    except (EnqueueError, Problem):
        # One by one, each in a transaction of its own: what is good must not wait for what is not.
        return [_alone(token, place, wish) for place, wish in enumerate(body.items, start=1)]


def _alone(token: ApiToken, place: int, wish: Wish) -> BatchResult:
    try:
        item = _item(token, wish)
        with transaction.atomic():
            made = outbox.enqueue(item.notification_type, item.report_id, item.to, item.data, **item.options)
    except (EnqueueError, Problem) as refusal:
        problem = refusal if isinstance(refusal, Problem) else problem_of(refusal)
        return BatchResult(position=place, status=problem.status, problem=Refusal(**problem.document()))
    return _result(place, made)


def _result(place: int, made: outbox.Enqueued) -> BatchResult:
    return BatchResult(position=place, status=201 if made.created else 200, intent=_enqueued(made))


def _enqueued(made: outbox.Enqueued) -> Enqueued:
    return Enqueued(
        id=made.id,
        notification_id=made.notification_id,
        created=made.created,
        state=made.state,
        links=links(made.id),
    )


def _note(request: Asker, action: str, **said: Any) -> None:
    """Say in the log whose token did it; the client's name and the token's visible part, never more."""
    extra = {"action": action, "token": request.auth.prefix, "client": request.auth.name, **said}
    logger.info("api: %s", action, extra=extra)

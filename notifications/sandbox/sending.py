"""POST /emails and POST /emails/batch: one message per key, whatever happens to the answer."""

from __future__ import annotations

import json
from typing import Any

from notifications.sandbox.checks import check, digest_of
from notifications.sandbox.gate import refused
from notifications.sandbox.ledger import Held
from notifications.sandbox.mailbox import Mail, Payload, listed
from notifications.sandbox.receivers import carry
from notifications.sandbox.refusals import Refusal
from notifications.sandbox.visit import Visit
from notifications.sandbox.wire import Answer
from notifications.sandbox.world import World

MAX_KEY_LENGTH = 256
MAX_BATCH = 100
Prepared = list[tuple[Payload, float | None]]


async def send(visit: Visit) -> Answer | None:
    """Accept, replay or refuse; None where a fault has already dealt with the socket.

    Between taking a key and completing it only the faults of the stage `during` wait, so a second request with the
    same key meets either nothing, a running one or a finished one.
    """
    world, call, key = visit.world, visit.call, visit.seen.key
    if key is not None and not 1 <= len(key) <= MAX_KEY_LENGTH:
        raise Refusal("invalid_idempotency_key")
    parsed = _parsed(call.body)
    if key is None:
        return await _accept(visit, parsed, None)
    now_s, retention_s = world.clock.now_s(), world.knobs.key_retention_s
    world.slots.forget_expired(now_s, retention_s)
    held = Held((call.method, call.path, key), digest_of(call.body, parsed, strict=world.knobs.strict_digest))
    stored = world.slots.reserve(held, now_s, retention_s)
    if stored is not None:
        world.remember({"fact": "replay", "key": key})
        world.ledger.of(key).replays += 1
        visit.seen.replayed = True
        return Answer(stored.status, stored.body)
    try:
        return await _accept(visit, parsed, held)
    except Refusal as refusal:
        if world.knobs.remember_errors:
            world.slots.complete(held, refused(refusal), world.clock.now_s())
        raise
    finally:
        world.slots.release(held)


async def _accept(visit: Visit, parsed: Any, held: Held | None) -> Answer | None:
    world, seen = visit.world, visit.seen
    broken, over = await visit.struck("during", None)
    if over:
        return broken
    in_batch = visit.call.path == "/emails/batch"
    prepared, errors = _prepared(visit, parsed, in_batch=in_batch)
    _check_quota(world, prepared)
    first_number = len(world.mailbox.mails)
    mails = [
        world.new_mail(payload, seen.key, send_at_s, first_number + place)
        for place, (payload, send_at_s) in enumerate(prepared)
    ]
    answer = Answer(200, _answer_body(mails, errors, in_batch=in_batch))
    now_s = world.clock.now_s()
    slot = None if held is None else [*held.scope, held.digest, answer.body.decode(), now_s]
    # Remembered first: a message that a restarted sandbox does not know of must not have been accepted.
    world.remember({"fact": "accepted", "mails": [mail.fact() for mail in mails], "slot": slot})
    world.book(mails)
    if held is not None:
        world.slots.complete(held, answer, now_s)
    seen.accepted = bool(mails)
    for mail in mails:
        carry(world, mail)
    return Answer(answer.status, answer.body)


def _parsed(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise Refusal("validation_error", "The request body is not valid JSON.", status=400) from None


def _prepared(visit: Visit, parsed: Any, *, in_batch: bool) -> tuple[Prepared, list[dict[str, Any]] | None]:
    """Check every item; in permissive mode give the bad ones as errors, otherwise refuse all for the first.

    Source: Resend changelog 2025-09-19 (x-batch-validation).
    """
    world = visit.world
    if not in_batch:
        return [(parsed, check(parsed, world.knobs.domains, world.clock.now_s()))], None
    if not isinstance(parsed, list) or not 1 <= len(parsed) <= MAX_BATCH:
        raise Refusal("validation_error", f"The body must be a list of 1 to {MAX_BATCH} emails.")
    permissive = visit.call.headers.get("x-batch-validation", "strict").lower() == "permissive"
    prepared: Prepared = []
    errors: list[dict[str, Any]] = []
    for index, item in enumerate(parsed):
        try:
            prepared.append((item, _check_batch_item(world, item)))
        except Refusal as refusal:
            if not permissive:
                raise
            errors.append({"index": index, "message": refusal.message})
    return prepared, errors if permissive else None


def _check_batch_item(world: World, item: Any) -> float | None:
    if isinstance(item, dict) and item.get("attachments"):
        raise Refusal("validation_error", "The `attachments` field is not supported in a batch.")
    return check(item, world.knobs.domains, world.clock.now_s())


def _check_quota(world: World, prepared: Prepared) -> None:
    """Refuse what would exceed a quota; every recipient counts. Source: docs/…/account-quotas-and-limits."""
    wanted = sum(len(listed(payload.get(name))) for payload, _ in prepared for name in ("to", "cc", "bcc"))
    today, month = world.used_quota()
    if world.knobs.daily_quota is not None and today + wanted > world.knobs.daily_quota:
        raise Refusal("daily_quota_exceeded")
    if world.knobs.monthly_quota is not None and month + wanted > world.knobs.monthly_quota:
        raise Refusal("monthly_quota_exceeded")


def _answer_body(mails: list[Mail], errors: list[dict[str, Any]] | None, *, in_batch: bool) -> bytes:
    if not in_batch:
        return b'{"id":"%s"}' % mails[0].id.encode()
    body: dict[str, Any] = {"data": [{"id": mail.id} for mail in mails]}
    return json.dumps(body if errors is None else body | {"errors": errors}).encode()

"""The way of one request through the API, in the provider's own order."""

from __future__ import annotations

import asyncio
import json
import time
from urllib.parse import unquote

from notifications.sandbox import hook_endpoints, mail_endpoints, suppression_endpoints
from notifications.sandbox.asked import Asked
from notifications.sandbox.connection import Connection
from notifications.sandbox.gate import SENDING, admit, counted, refused, turned_away_at_the_edge
from notifications.sandbox.refusals import Refusal
from notifications.sandbox.sending import send
from notifications.sandbox.visit import Visit
from notifications.sandbox.wire import Answer, Call
from notifications.sandbox.world import World

ROUTES = (*mail_endpoints.ROUTES, *suppression_endpoints.ROUTES, *hook_endpoints.ROUTES)


async def answer_call(world: World, call: Call, connection: Connection) -> Answer | None:
    """Answer one request to the API; None where a fault has already dealt with the socket."""
    seen = world.note(call)
    visit = Visit(world, call, connection, seen)
    if world.knobs.latency_s:
        await asyncio.sleep(world.knobs.latency_s)
    answer, over = await visit.struck("before_accept", None)
    if not over:
        answer = await _considered(visit)
        if answer is not None and (seen.accepted or seen.replayed):
            # What the provider meant to say counts in its own log, even if nobody ever receives it.
            seen.status, seen.answer = answer.status, answer.body
            answer, _ = await visit.struck("after_accept", answer)
    seen.ended_at_s = time.time()
    if answer is not None and seen.status is None:
        seen.status, seen.answer = answer.status, answer.body
    return answer


async def _considered(visit: Visit) -> Answer | None:
    world, call = visit.world, visit.call
    at_the_edge = turned_away_at_the_edge(call)
    if at_the_edge is not None:
        return at_the_edge
    headers = counted(world)
    try:
        admit(world, call, headers)
        if (call.method, call.path) in SENDING:
            answer = await send(visit)
        else:
            answer = _elsewhere(world, call)
    except Refusal as refusal:
        answer = refused(refusal)
    if answer is not None:
        answer.headers = [
            *headers,
            *_quota_headers(world),
            ("cf-ray", f"{visit.seen.number:016x}-AMS"),
            *answer.headers,
        ]
    return answer


def _elsewhere(world: World, call: Call) -> Answer:
    """Answer a call to any endpoint but sending. Raises Refusal."""
    known = any(path == call.path for _, path in SENDING)
    for method, pattern, respond in ROUTES:
        matched = pattern.fullmatch(call.path)
        if matched is None:
            continue
        known = True
        if method == call.method:
            parts = tuple(unquote(part) for part in matched.groups())
            return Answer(200, json.dumps(respond(Asked(world, call, parts))).encode())
    raise Refusal("method_not_allowed" if known else "not_found")


def _quota_headers(world: World) -> list[tuple[str, str]]:
    """Give the used counts, not the remainders; the daily one exists on the free plan only.

    Source: resend.com/docs/api-reference/rate-limit; recorded answers of resend-node.
    """
    today, month = world.used_quota()
    headers = [("x-resend-monthly-quota", str(month))]
    if world.knobs.daily_quota is not None:
        headers.append(("x-resend-daily-quota", str(today)))
    return headers

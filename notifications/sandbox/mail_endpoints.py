"""Reading accepted messages and logs; moving and cancelling scheduled ones."""

from __future__ import annotations

from typing import Any

from notifications.sandbox import receivers
from notifications.sandbox.asked import Asked, route
from notifications.sandbox.checks import scheduled_time
from notifications.sandbox.mailbox import page, page_bounds
from notifications.sandbox.refusals import Refusal


def list_mails(asked: Asked) -> dict[str, Any]:
    mailbox, query = asked.world.mailbox, asked.call.query
    places = {name: mailbox.number_of(query[name]) for name in ("after", "before") if name in query}
    first, past_last, has_more = page_bounds(len(mailbox.mails), places, query)
    last = len(mailbox.mails) - 1
    return {
        "object": "list",
        "has_more": has_more,
        "data": [mailbox.mails[last - place].summary() for place in range(first, past_last)],
    }


def get_mail(asked: Asked) -> dict[str, Any]:
    return asked.world.mailbox.get(asked.parts[0]).full()


def reschedule_mail(asked: Asked) -> dict[str, Any]:
    mail = asked.world.mailbox.get(asked.parts[0])
    wish = asked.body().get("scheduled_at")
    if not wish:
        raise Refusal("missing_required_field", "Missing `scheduled_at` field.")
    due_s = scheduled_time(wish, asked.world.clock.now_s())
    if mail.last_event != "scheduled":
        raise Refusal("validation_error", "Only a scheduled email can be updated.")
    asked.world.remember({"fact": "event", "id": mail.id, "last_event": "scheduled", "scheduled_at_s": due_s})
    mail.scheduled_at_s = due_s
    receivers.await_time(asked.world, mail)
    return {"object": "email", "id": mail.id}


def cancel_mail(asked: Asked) -> dict[str, Any]:
    mail = asked.world.mailbox.get(asked.parts[0])
    if mail.last_event != "scheduled":
        raise Refusal("validation_error", "Only a scheduled email can be cancelled.")
    receivers.cancel(asked.world, mail)
    return {"object": "email", "id": mail.id}


def list_logs(asked: Asked) -> dict[str, Any]:
    rows = [seen.log_row() for seen in asked.world.seen if seen.status is not None]
    return page(rows, asked.call.query)


def get_log(asked: Asked) -> dict[str, Any]:
    for seen in asked.world.seen:
        if seen.id == asked.parts[0] and seen.status is not None:
            return seen.log_full()
    raise Refusal("not_found", "Log not found")


ROUTES = (
    route("GET", "/emails", list_mails),
    route("GET", "/emails/*", get_mail),
    route("PATCH", "/emails/*", reschedule_mail),
    route("POST", "/emails/*/cancel", cancel_mail),
    route("GET", "/logs", list_logs),
    route("GET", "/logs/*", get_log),
)

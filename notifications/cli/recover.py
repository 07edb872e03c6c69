"""`notify recover`: after a restore, ask about what may have been sent since, before anything else goes out."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from django.conf import settings
from django.core.management.base import CommandParser
from django.db import connection, transaction

from notifications.cli.adopt_site import checked_reason
from notifications.cli.terminal import Refused, Terminal, counted, rows
from notifications.delivery import site
from notifications.delivery.restore import MARGIN
from notifications.host import actor

# As far back as a provider can be asked.
LONGEST: Final = timedelta(days=29)
_SPAN: Final = re.compile(r"(\d{1,6}) ?([smhd])")
_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
# A restored database claims nothing, so its last claim was made before the restored point; receipts and answers go on.
_LAST: Final = """
SELECT l.at FROM notifyops_private.notifications_logentry l WHERE l.kind = 'claimed' ORDER BY l.id DESC LIMIT 1
"""
_NOW: Final = "SELECT notifyops_private.clock_v1() AS now"
_PLAN: Final = """
SELECT count(*) FILTER (WHERE i.state = 'pending' AND i.next_attempt_at <= t.now) AS pending,
    count(*) FILTER (WHERE i.state = 'retry' AND i.next_attempt_at <= t.now) AS retry,
    count(*) FILTER (WHERE i.state = 'sending') AS sending,
    count(*) FILTER (WHERE i.state = 'needs_review') AS needs_review,
    count(*) FILTER (WHERE i.state = 'accepted' AND i.delivery_status IN ('none', 'deferred') AND i.created_at > %s)
        AS accepted_without_receipt
FROM notifyops_private.notifications_intent i, (SELECT notifyops_private.clock_v1() AS now OFFSET 0) t
WHERE i.state IN ('pending', 'retry', 'sending', 'needs_review') OR i.created_at > %s
"""
_LATEST: Final = """
SELECT r.id, r.since, r.started_at, r.actor, r.reason, r.marked_at, r.marked_count, r.finished_at, r.waived_by,
    (SELECT count(*) FROM notifyops_private.notifications_question q
     JOIN notifyops_private.notifications_intent i ON i.id = q.intent_id
     WHERE q.about = 'restore' AND q.asked_at IS NULL AND i.state = 'needs_review') AS unanswered,
    (SELECT count(*) FROM notifyops_private.notifications_intent i
     WHERE i.state = 'needs_review' AND i.error_code = 'restored') AS in_review
FROM notifyops_private.notifications_recovery r ORDER BY r.id DESC LIMIT 1
"""
_LISTS: Final = """
SELECT a.name AS account, l.done_at IS NOT NULL AS read, l.code, (
        SELECT count(*) FROM notifyops_private.notifications_unknownmail u
        WHERE u.recovery_id = %s AND u.account_id = a.id AND NOT EXISTS (
            SELECT FROM notifyops_private.notifications_intent i
            WHERE i.provider_message_id = u.provider_message_id)) AS unknown_here
FROM notifyops_private.notifications_provideraccount a
LEFT JOIN notifyops_private.notifications_recoverylist l ON l.account_id = a.id AND l.recovery_id = %s ORDER BY a.name
"""
_UNKNOWN: Final = """
SELECT u.provider_message_id, u.tag_intent AS intent, u.tag_generation AS generation, u.taken_at, (
        SELECT i.notification_id FROM notifyops_private.notifications_intent i
        WHERE i.id = CASE WHEN u.tag_root ~ '^[0-9]{1,18}$' THEN u.tag_root::bigint END) AS corrects
FROM notifyops_private.notifications_unknownmail u WHERE u.recovery_id = %s AND NOT EXISTS (
    SELECT FROM notifyops_private.notifications_intent i WHERE i.provider_message_id = u.provider_message_id)
ORDER BY u.taken_at, u.id
"""
_START: Final = "SELECT notifyops_private.recover_v1(%s, %s, %s, %s)"
_WAIVE: Final = "SELECT notifyops_private.waive_recovery_v1(%s, %s, %s)"


def add_arguments(parser: CommandParser) -> None:
    """Take since when, why, and whether it is meant."""
    parser.add_argument("--since", help="the restored point: 2026-11-30T18:00:00Z, or 2h, 90m, 1d ago")
    parser.add_argument("--reason", help="why; it is kept for ever")
    parser.add_argument("--confirm", action="store_true", help="begin; without it the plan is printed")
    parser.add_argument("--waive", action="store_true", help="send again without asking, or without its end")
    parser.add_argument("--wait", action="store_true", help="stay until the loops send again")
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def run(options: dict[str, Any], terminal: Terminal) -> int:
    """Plan, begin, waive, or say how far it is."""
    if options["waive"]:
        return _waive(options, terminal)
    if site.trouble(settings.NOTIFYOPS_SITE) != "recovering" and (options["confirm"] or not _is_news(options)):
        since = _since(options["since"])
        if not options["confirm"]:
            return _plan(since, options, terminal)
        _begin(since, checked_reason(options["reason"]))
    elif options["confirm"]:
        terminal.say("A recovery is open already; this one goes on.")
    return _watch(options, terminal)


def _is_news(options: dict[str, Any]) -> bool:
    """Say whether nothing is asked for but how the last recovery went."""
    return options["since"] is None and site.trouble(settings.NOTIFYOPS_SITE) is None and bool(rows(_LATEST))


def _plan(since: datetime, options: dict[str, Any], terminal: Terminal) -> int:
    found = rows(_PLAN, [since - MARGIN, since - MARGIN])[0]
    plan = {"site": settings.NOTIFYOPS_SITE, "trouble": site.trouble(settings.NOTIFYOPS_SITE), "since": since, **found}
    if options["json"]:
        terminal.json(plan)
        return 0
    terminal.line(f"Since {since:%Y-%m-%d %H:%M:%S} UTC, and {MARGIN.seconds // 60} minutes before it:")
    terminal.line(f"  held and asked about first   {found['pending']} pending, {found['retry']} retry,")
    terminal.line(f"                               {found['sending']} being sent at that time")
    terminal.line(f"  asked about beside them      {found['needs_review']} in review,")
    terminal.line(f"                               {found['accepted_without_receipt']} accepted without a receipt")
    terminal.line("Nothing was changed. To begin, repeat it with --confirm --reason; nothing is sent until it is done.")
    return 0


def _begin(since: datetime, reason: str) -> None:
    trouble = site.trouble(settings.NOTIFYOPS_SITE)
    if trouble in ("not_adopted", "other_site"):
        raise Refused(site.TROUBLES[trouble])
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_START, [settings.NOTIFYOPS_SITE, since, actor(), reason])


def _waive(options: dict[str, Any], terminal: Terminal) -> int:
    reason = checked_reason(options["reason"])
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_WAIVE, [settings.NOTIFYOPS_SITE, actor(), reason])
        row = cursor.fetchone()
    if row is None or not row[0]:
        terminal.line("No recovery is open, and this database was neither copied nor restored; nothing was changed.")
        return 0
    terminal.line("Waived. What was held already waits for the provider's answer; the loops go on within five seconds.")
    return 0


def _watch(options: dict[str, Any], terminal: Terminal) -> int:
    """Print how far it is, and stay where that is wanted; whoever leaves stops nothing."""
    before = ""
    while True:
        state = _state()
        line = _sentence(state)
        if options["wait"] and not options["json"] and line != before:
            terminal.line(line)
            terminal.out.flush()
        before = line
        if not options["wait"] or state["finished_at"] is not None:
            break
        time.sleep(1.0)
    if options["json"]:
        terminal.json(state)
    elif not options["wait"]:
        terminal.line(line)
    if not options["json"]:
        _print_lists(state, terminal)
    return 0


def _state() -> dict[str, Any]:
    found = dict(rows(_LATEST)[0])
    found["lists"] = rows(_LISTS, [found["id"], found["id"]])
    found["unknown_here"] = rows(_UNKNOWN, [found["id"]])
    return found


def _sentence(state: dict[str, Any]) -> str:
    held, left = state["marked_count"], state["in_review"]
    if state["waived_by"]:
        return f"Waived by {state['waived_by']}; {counted(left, 'that was held is', 'that were held are')} in review."
    if state["marked_at"] is None:
        return f"{counted(held, 'is', 'are')} held so far; it waits for the cluster's chores, and for running calls."
    if state["finished_at"] is None:
        waiting = counted(state["unanswered"], "waits", "wait")
        return f"{counted(held, 'is', 'are')} held, {waiting} for the provider's first answer."
    to_a_person = f"{counted(left, 'is', 'are')} left to a person"
    return f"Finished: {counted(held, 'was', 'were')} held, {to_a_person}; the loops send again."


def _print_lists(state: dict[str, Any], terminal: Terminal) -> None:
    for one in state["lists"]:
        how = f"not read ({one['code']})" if one["code"] else "read" if one["read"] else "not read to its end yet"
        terminal.line(f"list of {one['account']}: {how}; unknown here: {one['unknown_here']}")
    for mail in state["unknown_here"]:
        line = f"  {mail['provider_message_id']}  intent {mail['intent']}  taken {mail['taken_at']:%F %T}"
        terminal.line(line + (f"  corrected address of {mail['corrects']}" if mail["corrects"] else ""))


def _since(text: str | None) -> datetime:
    """Give the restored point. Raises Refused where it cannot be read, or is no time that can be asked about."""
    now: datetime = rows(_NOW)[0]["now"]
    if text is None:
        if site.trouble(settings.NOTIFYOPS_SITE) not in ("restored", "copied"):
            raise Refused("Give --since: nothing here shows a restore, so only you know the restored point.")
        last = rows(_LAST)
        if not last:
            raise Refused("Give --since: nothing was claimed here yet, so only you know the restored point.")
        since: datetime = last[0]["at"]
    elif found := _SPAN.fullmatch(text.strip()):
        since = now - min(timedelta(**{_UNITS[found[2]]: int(found[1])}), 2 * LONGEST)
    else:
        since = _moment(text)
    if not now - LONGEST < since <= now:
        raise Refused(f"--since is {since:%F %T} UTC: it must be a time of the last {LONGEST.days} days, and past.")
    return since.astimezone(UTC)


def _moment(text: str) -> datetime:
    try:
        read = datetime.fromisoformat(text.strip())
    except ValueError:
        raise Refused(f"--since {text!r} is no time: give 2026-11-30T18:00:00Z, or 2h, 90m or 1d.") from None
    if read.tzinfo is None:
        raise Refused(f"--since {text!r} names no time zone: end it with Z, or +08:00.")
    return read.astimezone(UTC)

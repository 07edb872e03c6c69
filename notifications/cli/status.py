"""`notify status`: is everything all right?"""

from __future__ import annotations

from typing import Any, Final

from django.conf import settings
from django.core.management.base import CommandParser

from notifications.cli.terminal import Terminal, age, counted, listed, moment, rows
from notifications.delivery import site
from notifications.policy.overall import BEAT_S, Overall, overall
from notifications.states import EntryKind, Outcome, State

DUE: Final = """
    SELECT count(*) AS count, max(extract(epoch FROM t.now - i.next_attempt_at))::float8 AS oldest_s
    FROM notifyops_private.notifications_intent i, (SELECT notifyops_private.clock_v1() AS now OFFSET 0) t
    WHERE i.next_attempt_at <= t.now AND i.state IN ('pending', 'retry')
"""
WAITING: Final = """
    SELECT count(*) AS count, max(extract(epoch FROM t.now - i.created_at))::float8 AS oldest_s
    FROM notifyops_private.notifications_intent i, (SELECT notifyops_private.clock_v1() AS now OFFSET 0) t
    WHERE i.next_attempt_at IS NOT NULL
"""
# The log's newest entries by id, which is indexed; by time they would be a scan.
PER_MINUTE: Final = """
    WITH t AS (SELECT notifyops_private.clock_v1() AS now),
    newest AS MATERIALIZED (
        SELECT l.at, l.kind, l.from_state, l.to_state, l.outcome FROM notifyops_private.notifications_logentry l
        ORDER BY l.id DESC LIMIT 100000
    )
    SELECT count(*) FILTER (WHERE n.to_state = 'accepted' AND n.from_state <> 'accepted') AS accepted,
        count(*) FILTER (WHERE s.stopped AND s.doubt IS NOT TRUE AND n.kind = ANY (%s)) AS failed,
        count(*) FILTER (WHERE s.stopped AND (s.doubt OR n.kind = ANY (%s))) AS unknown,
        count(*) FILTER (WHERE s.stopped AND n.kind = ANY (%s)) AS held,
        count(*) FILTER (WHERE n.to_state = 'retry' AND n.from_state <> 'retry') AS retried
    FROM newest n, t, LATERAL (SELECT n.to_state = 'needs_review' AND n.from_state <> 'needs_review' AS stopped,
        n.outcome = ANY (%s) AS doubt) s
    WHERE n.at > t.now - interval '1 minute'
"""
# By which entries a notification stops for a person: plainly failed, nobody can say, or nothing was tried yet. What a
# person undoes or reopens is none of these.
_STOPS: Final[dict[str, list[str]]] = {  # in the order of the query's parameters
    "failed": [EntryKind.RESULT, EntryKind.RECEIPT, EntryKind.INVALID, EntryKind.BLOCKED],
    "unknown": [
        EntryKind.LEASE_LOST, EntryKind.WINDOW_OVER, EntryKind.UNCONFIRMED, EntryKind.CONTRADICTED,
        EntryKind.EXPIRED,  # stops for a person only where an attempt may have been accepted
    ],
    "held": [EntryKind.HELD, EntryKind.RESTORED],
    "doubt": [Outcome.UNKNOWN, Outcome.CONFLICT, Outcome.IN_FLIGHT],
}  # fmt: skip
# The row of a loop that ended stays until its successor beats; whoever was killed has not beaten for a while.
WORKERS: Final = """
    SELECT b.worker, b.host, b.role, b.slot, b.started_at, b.beat_at,
        extract(epoch FROM notifyops_private.clock_v1() - b.beat_at)::float8 AS beat_age_s, b.claimed_at,
        extract(epoch FROM notifyops_private.clock_v1() - b.claimed_at)::float8 AS claimed_age_s
    FROM notifyops_private.notifications_workerbeat b
    WHERE b.ended_at IS NULL AND b.beat_at > notifyops_private.clock_v1() - interval '60 seconds'
    ORDER BY b.role, b.slot, b.beat_at DESC
"""
CIRCUITS: Final = """
    SELECT a.name AS account, a.channel, a.enabled, coalesce(c.open_until > t.now, false) AS open,
        CASE WHEN isfinite(c.open_until) THEN c.open_until END AS open_until,
        coalesce(c.open_until = 'infinity', false) AS until_a_person, c.wait_until, c.reason, c.code,
        notifyops_private.rate_v1(a.rate_per_s, b.learned_per_s, b.ramp_since, t.now) AS rate_per_s, b.learned_per_s
    FROM notifyops_private.notifications_provideraccount a
    LEFT JOIN notifyops_private.notifications_circuit c ON c.account_id = a.id
    LEFT JOIN notifyops_private.notifications_ratebucket b ON b.account_id = a.id,
    (SELECT notifyops_private.clock_v1() AS now OFFSET 0) t ORDER BY a.name
"""
PAUSES: Final = """
    SELECT p.id, p.scope, p.name, p.ends_at, p.reason_code, p.actor
    FROM notifyops_private.notifications_pause p, (SELECT notifyops_private.clock_v1() AS now OFFSET 0) t
    WHERE p.resumed_at IS NULL AND p.ends_at > t.now ORDER BY p.ends_at
"""
REVIEW: Final = """
    SELECT count(*) AS count, max(extract(epoch FROM t.now - i.review_since))::float8 AS oldest_s
    FROM notifyops_private.notifications_intent i, (SELECT notifyops_private.clock_v1() AS now OFFSET 0) t
    WHERE i.state = 'needs_review'
"""

RECEIPTS: Final = """
    SELECT count(*) AS count, max(extract(epoch FROM t.now - e.received_at))::float8 AS oldest_s
    FROM notifyops_private.notifications_parkedreceipt p
    JOIN notifyops_private.notifications_providerevent e ON e.id = p.event_id,
    (SELECT notifyops_private.clock_v1() AS now OFFSET 0) t
"""
TASKS: Final = "SELECT count(*) AS count FROM notifyops_private.django_q_ormq"
_VERDICTS: Final[dict[Overall, str]] = {
    Overall.STANDS_STILL: "Delivery stands still: see below.",
    Overall.HELD_UP: "Delivery is held up: an account is not called, see below.",
    Overall.OFF: "Delivery is off: the site mode is off.",
    Overall.PAUSED: "Delivery is paused in part: see below.",
    Overall.RUNS: "Delivery runs: workers are alive, every account is called.",
}


def add_arguments(parser: CommandParser) -> None:
    """Take whether the answer is for a program."""
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def run(options: dict[str, Any], terminal: Terminal) -> int:
    """Print the figures."""
    found = figures()
    if options["json"]:
        terminal.json(found)
    else:
        _print(found, terminal)
    return 0


def figures() -> dict[str, Any]:
    """Give everything that `status` knows; ages are seconds, None where there is nothing that could be old."""
    counted = rows("SELECT state, count(*) AS count FROM notifyops_private.notifications_intent GROUP BY state")
    by_state = {row["state"]: row["count"] for row in counted}
    due, waiting, review, receipts = rows(DUE)[0], rows(WAITING)[0], rows(REVIEW)[0], rows(RECEIPTS)[0]
    tasks = rows(TASKS)[0]["count"]
    workers, circuits, pauses = rows(WORKERS), rows(CIRCUITS), rows(PAUSES)
    trouble = site.trouble(settings.NOTIFYOPS_SITE)
    return {
        "delivery": verdict(workers, circuits, len(pauses), trouble).value,
        "site": {
            "name": settings.NOTIFYOPS_SITE,
            "mode": settings.NOTIFYOPS_SITE_MODE,
            "trouble": trouble,
        },
        "states": {state.value: by_state.get(state.value, 0) for state in State},
        "due": due["count"],
        "oldest_due_s": due["oldest_s"],
        "waiting": waiting["count"],
        "oldest_waiting_s": waiting["oldest_s"],
        "per_minute": per_minute(),
        "workers": workers,
        "circuits": circuits,
        "pauses": pauses,
        "receipts": {"waiting": receipts["count"], "oldest_s": receipts["oldest_s"]},
        "queue": {"review": review["count"], "oldest_review_s": review["oldest_s"], "tasks": tasks},
    }


def verdict(workers: list[dict[str, Any]], circuits: list[dict[str, Any]], pauses: int, trouble: str | None) -> Overall:
    """Give how delivery stands, by the rows of WORKERS and CIRCUITS; `trouble`: why nothing is sent at all."""
    return overall(
        workers=sum(one["beat_age_s"] < BEAT_S for one in workers),
        circuits=sum(one["open"] for one in circuits),
        pauses=pauses,
        mode=settings.NOTIFYOPS_SITE_MODE,
        troubled=bool(trouble),
    )


def per_minute() -> dict[str, int]:
    """Count what happened within the last minute: accepted, failed, unknown, held, retried."""
    return rows(PER_MINUTE, [[str(one) for one in them] for them in _STOPS.values()])[0]


def _overall(found: dict[str, Any]) -> str:
    """Answer the question of this command in one line, in the console's words."""
    cases = found["queue"]["review"]
    waits = "Nothing waits" if not cases else counted(cases, "case waits", "cases wait")
    return f"{_VERDICTS[Overall(found['delivery'])]} {waits} for a person."


def _print(found: dict[str, Any], terminal: Terminal) -> None:
    place = found["site"]
    terminal.line(_overall(found))
    terminal.line(f"site         {place['name']}, mode {place['mode']}")
    if place["trouble"]:
        terminal.line(f"             nothing is sent: {site.TROUBLES[place['trouble']]}")
    terminal.line(f"states       {listed(found['states'])}")
    terminal.line(f"due          {found['due']}, the oldest for {age(found['oldest_due_s'])}")
    terminal.line(f"waiting      {found['waiting']}, the oldest since {age(found['oldest_waiting_s'])}")
    terminal.line(f"last minute  {listed(found['per_minute'])}")
    terminal.line(f"review       {found['queue']['review']}, the oldest for {age(found['queue']['oldest_review_s'])}")
    terminal.line(
        f"receipts     {found['receipts']['waiting']} wait, the oldest for {age(found['receipts']['oldest_s'])}"
    )
    terminal.line(f"tasks        {found['queue']['tasks']} in django-q2's queue")
    for worker in found["workers"]:
        claimed = f", claimed {age(worker['claimed_age_s'])} ago" if worker["claimed_at"] else ""
        terminal.line(
            f"worker       {worker['worker']} ({worker['role']}), seen {age(worker['beat_age_s'])} ago{claimed}"
        )
    if not found["workers"]:
        terminal.line("worker       none was seen within the last minute: is manage.py qcluster running?")
    for circuit in found["circuits"]:
        until = "until a person closes it" if circuit["until_a_person"] else f"until {moment(circuit['open_until'])}"
        word = f"open {until} ({circuit['code'] or circuit['reason']})" if circuit["open"] else "closed"
        rate = "" if circuit["rate_per_s"] is None else f", {circuit['rate_per_s']:.3g} calls a second"
        terminal.line(f"circuit      {circuit['account']}: {word if circuit['enabled'] else 'account disabled'}{rate}")
    for pause in found["pauses"]:
        terminal.line(
            f"pause        {pause['scope']} {pause['name'] or '(the default one)'} until {moment(pause['ends_at'])} "
            f"({pause['reason_code']}, by {pause['actor']}; number {pause['id']})"
        )

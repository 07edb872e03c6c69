"""Deliveries a second by each channel, at receivers that answer at once: what an adapter costs beside the loop."""

from __future__ import annotations

import contextlib
import os
import smtplib
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from bench import rows
from bench.deliveries import IN_FLIGHT, SLOWEST_RATE
from bench.figures import Figure, Report
from bench.rows import Owner
from bench.stage import BASE, BenchFailed, Stage, free_port, tail, wait
from notifyops import children
from notifyops.children import Child, Command

_ACCOUNT: Final = """
INSERT INTO notifyops_private.notifications_provideraccount (name, kind, channel, sender, api_key_ref)
VALUES (%(name)s, %(kind)s, %(channel)s, 'Bench <bench@example.com>', %(key)s) ON CONFLICT DO NOTHING
"""
_BACKLOG: Final = """
WITH named AS MATERIALIZED (
    SELECT nextval('notifyops_private.notifications_intent_id_seq') AS id, %(run)s || '-' || g AS report_id,
        a.id AS account, a.channel, t.now
    FROM generate_series(1, %(count)s::bigint) AS g,
        (SELECT id, channel FROM notifyops_private.notifications_provideraccount WHERE name = %(name)s) AS a,
        (SELECT clock_timestamp() AS now) AS t
), made AS (
    INSERT INTO notifyops_private.notifications_intent (id, notification_id, report_id, type, channel, workspace,
        account_id, lane, next_attempt_at, failure_limit, head, month, created_at, created_by)
    SELECT id, report_id, report_id, %(type)s::text, channel, '', account, 16 + (hashtext('') & 15), now, 3,
        notifyops_private.genesis_v1(id, report_id, '', report_id, %(type)s::text, channel, '', now),
        date_trunc('month', now AT TIME ZONE 'UTC')::date, now, session_user
    FROM named
)
INSERT INTO notifyops_private.notifications_content (intent_id, recipient, commitment, data)
SELECT id, replace(%(to)s, '#', id::text), sha256(id::text::bytea),
    jsonb_build_object('title', repeat('Quarterly figures of the northern region, second edition ', 2))
FROM named
"""
_LEFT: Final = "SELECT count(*) FROM notifyops_private.notifications_intent WHERE state <> 'accepted'"
_SPAN: Final = """
SELECT extract(epoch FROM max(at) - min(at))::float FROM notifyops_private.notifications_logentry
WHERE kind IN ('claimed', 'result')
"""


@dataclass(frozen=True, slots=True)
class Channel:
    """One row: a kind of account, whom it writes to (# is a number), and what its receiver counts, if there is one.

    `url` is the receiver's address; {http} and {smtp} are the ports of this measurement.
    """

    kind: str
    channel: str = "email"
    type: str = "report_ready"
    to: str = "user#@example.com"
    url: str = ""
    key: str = ""
    counted: str = ""


SECRET: Final = "whsec_YmVuY2htYXJrIHNlY3JldCBvZiAzMiBieXRlcywgeWVz"  # noqa: S105
# A new channel is a row here, and where it needs one, a path of bench/provider.py.
CHANNELS: Final = (
    Channel("resend", url="http://127.0.0.1:{http}", key="re_bench", counted="requests"),
    Channel("smtp", url="smtp+cleartext://127.0.0.1:{smtp}", counted="mails"),
    Channel(
        "webhook",
        channel="webhook",
        type="report_event",
        to="https://hooks.example.com/in/#",
        url="http://127.0.0.1:{http}/hooks/one",
        key=SECRET,
        counted="quick_requests",
    ),
    Channel("console"),
    # django-anymail's services share one adapter; Mailgun's answer needs nothing of the request.
    Channel("mailgun", url="http://127.0.0.1:{http}/v3/", key="key-bench", counted="requests"),
)


def measure(stage: Stage, report: Report) -> None:
    """Deliver the same backlog by each channel in turn, one loop, 16 in flight."""
    count = stage.sized(10_000, 2_000)
    rates: dict[str, list[float]] = {one.kind: [] for one in CHANNELS}
    with _sink(stage) as smtp_port:
        for _ in range(stage.runs):
            for one in CHANNELS:
                rates[one.kind].append(_rate(stage, one, count, smtp_port))
    for kind, found in rates.items():
        name = f"{kind}: one loop, 0 ms, 16 in flight"
        report.add(Figure(name, "/s", tuple(found), None, "from the first claim to the last result in the log"))


def _rate(stage: Stage, one: Channel, count: int, smtp_port: int) -> float:
    stage.ask_provider("/reset")
    counted = _counter(stage, one, smtp_port)
    before = counted()
    # An account of its own: that of the other measurements has its own settings.
    name = "resend" if one.kind == "resend" else f"bench-{one.kind}"
    settings = {
        f"NOTIFYOPS_{one.kind.upper()}_BASE_URL": one.url.format(http=stage.provider_port, smtp=smtp_port),
        "BENCH_CHANNEL_KEY": one.key,
    }
    with stage.owner() as owner:
        rows.clear(owner)
        key = "env:BENCH_CHANNEL_KEY" if one.key else ""
        owner.execute(_ACCOUNT, {"name": name, "kind": one.kind, "channel": one.channel, "key": key})
        rows.hold(owner, name)
        values = {"run": f"{one.kind}{time.monotonic_ns()}", "name": name, "count": count}
        owner.execute(_BACKLOG, values | {"type": one.type, "to": one.to})
        rows.settle(owner)
        with stage.cluster(loops=1, in_flight=IN_FLIGHT, **settings) as cluster:
            rows.release(owner, name)
            _accepted(owner, cluster, one.kind, count)
        came = counted() - before
        if one.counted and came != count:
            raise BenchFailed(f"{count} were owed by {one.kind}, and its receiver got {came}")
        span = owner.execute(_SPAN).fetchone()
    return count / float(span[0]) if span and span[0] else 0.0


def _accepted(owner: Owner, cluster: Child, kind: str, count: int) -> None:
    ends_at = time.monotonic() + 30 + count / SLOWEST_RATE
    while (row := owner.execute(_LEFT).fetchone()) and row[0]:
        if children.has_ended(cluster.pid) or time.monotonic() > ends_at:
            raise BenchFailed(f"the cluster did not deliver by {kind}; its log: {tail(cluster.command.log)}")
        time.sleep(0.1)


def _counter(stage: Stage, one: Channel, smtp_port: int) -> Callable[[], int]:
    """Give what tells how many messages the receiver has got."""
    if one.counted == "mails":
        return lambda: _mails(smtp_port)
    return lambda: int(stage.ask_provider("/stats")[one.counted]) if one.counted else 0


def _mails(port: int) -> int:
    with smtplib.SMTP("127.0.0.1", port, timeout=30) as client:
        return int(client.verify("count")[1])


@contextlib.contextmanager
def _sink(stage: Stage) -> Iterator[int]:
    """Run the mail server while the block runs; give its port."""
    port = free_port()
    argv = (sys.executable, "-m", "bench.mail_sink", str(port))
    log = stage.home / "mail_sink.log"
    child = Child(Command(name="mail_sink", argv=argv, log=log, cwd=BASE, env=dict(os.environ)))
    child.start()
    try:
        wait(lambda: _listens(port), 10, child, "the mail server did not listen")
        yield port
    finally:
        children.stop([child])


def _listens(port: int) -> bool:
    with contextlib.suppress(OSError, smtplib.SMTPException):
        return _mails(port) >= 0
    return False

"""Webhooks: deliveries a second beside mail's, and what one slow endpoint of a thousand costs the others."""

from __future__ import annotations

import time
from typing import Any, Final

from bench import rows
from bench.deliveries import IN_FLIGHT, sample
from bench.figures import Figure, Goal, Report, median, shown
from bench.rows import Owner
from bench.stage import BenchFailed, Stage, tail
from notifyops import children
from notifyops.children import Child

ENDPOINTS: Final = 1000
# Every twentieth event goes to the slow one: fifty times its share.
SLOW_EVERY: Final = 20
SLOW_MS: Final = 5000
SECRET: Final = "whsec_YmVuY2htYXJrIHNlY3JldCBvZiAzMiBieXRlcywgeWVz"  # noqa: S105
# Recipients are called themselves, and they are on this machine.
SETTINGS: Final = {
    "NOTIFYOPS_SITE_MODE": "live",
    "NOTIFYOPS_WEBHOOK_NETWORKS": "127.0.0.0/8",
    "BENCH_HOOK_SECRETS": SECRET,
}
_ACCOUNT: Final = """
INSERT INTO notifyops_private.notifications_provideraccount (name, kind, channel, sender, api_key_ref)
VALUES ('hooks', 'webhook', 'webhook', 'Bench <bench@example.com>', 'env:BENCH_HOOK_SECRETS') ON CONFLICT DO NOTHING
"""
_BACKLOG: Final = """
WITH named AS MATERIALIZED (
    SELECT nextval('notifyops_private.notifications_intent_id_seq') AS id, %(run)s || '-' || g AS report_id,
        a.id AS account, t.now,
        %(base)s || CASE WHEN g %% %(slow_every)s = 0 THEN 'slow' ELSE (g %% %(endpoints)s)::text END AS url
    FROM generate_series(1, %(count)s::bigint) AS g,
        (SELECT id FROM notifyops_private.notifications_provideraccount WHERE name = 'hooks') AS a,
        (SELECT clock_timestamp() AS now) AS t
), made AS (
    INSERT INTO notifyops_private.notifications_intent (id, notification_id, report_id, type, channel, workspace,
        account_id, lane, next_attempt_at, failure_limit, head, month, created_at, created_by)
    SELECT id, 'report-event/' || report_id, report_id, 'report_event', 'webhook', '', account,
        16 + (hashtext('') & 15), now, 7, notifyops_private.genesis_v1(
            id, 'report-event/' || report_id, '', report_id, 'report_event', 'webhook', '', now),
        date_trunc('month', now AT TIME ZONE 'UTC')::date, now, session_user
    FROM named
)
INSERT INTO notifyops_private.notifications_content (intent_id, recipient, commitment, data)
SELECT id, url, sha256(url::bytea), jsonb_build_object('title', 'Quarterly figures of the northern region')
FROM named
"""
_OPEN: Final = """
SELECT count(*) FROM notifyops_private.notifications_intent i
JOIN notifyops_private.notifications_content c ON c.intent_id = i.id
WHERE i.state <> 'accepted' AND (%(all)s OR c.recipient NOT LIKE '%%slow')
"""


def measure(stage: Stage, report: Report) -> None:
    """Deliver the same backlog with one endpoint slow and with none; mail's rate of the same minutes beside it."""
    count = stage.sized(20_000, 4_000)
    quick, slowed, mail = [], [], []
    for _ in range(stage.runs):
        quick.append(_rate(stage, count, slow_ms=0))
        slowed.append(_rate(stage, count, slow_ms=SLOW_MS))
        mail.append(sample(stage, count, loops=1, in_flight=IN_FLIGHT).rate)
    report.add(
        Figure(
            "webhooks: one loop, 0 ms, 16 in flight",
            "/s",
            tuple(quick),
            None,
            f"{ENDPOINTS:,} endpoints; mail {shown(median(mail))}/s",
        ),
        Figure(
            "webhooks: one slow endpoint of 1,000: the others' rate ÷ undisturbed",
            "",
            tuple(slow / rate for slow, rate in zip(slowed, quick, strict=True)),
            Goal(0.7, floor=True),
            f"{SLOW_MS / 1000:.0f} s an answer, every {SLOW_EVERY}th event to it; {shown(median(slowed))}/s",
        ),
    )


def _rate(stage: Stage, count: int, *, slow_ms: int) -> float:
    """Give how many a second reached the quick endpoints, by their own arrivals."""
    stage.ask_provider(f"/reset?slow_ms={slow_ms}")
    with stage.owner() as owner:
        rows.clear(owner)
        owner.execute(_ACCOUNT)
        rows.hold(owner, "hooks")
        values = {"slow_every": SLOW_EVERY, "endpoints": ENDPOINTS, "count": count}
        base = f"http://127.0.0.1:{stage.provider_port}/hooks/"
        owner.execute(_BACKLOG, values | {"run": f"hooks{time.monotonic_ns()}", "base": base})
        rows.settle(owner)
        with stage.cluster(loops=1, in_flight=IN_FLIGHT, **SETTINGS) as cluster:
            rows.release(owner, "hooks")
            _delivered(stage, owner, cluster, with_slow=not slow_ms)
            return _judged(stage.ask_provider("/stats"), count)


def _delivered(stage: Stage, owner: Owner, cluster: Child, *, with_slow: bool) -> None:
    ends_at = time.monotonic() + 180
    while _open(owner, with_slow=with_slow):
        if children.has_ended(cluster.pid) or time.monotonic() > ends_at:
            raise BenchFailed(f"the cluster did not deliver the webhooks; its log: {tail(cluster.command.log)}")
        time.sleep(0.1)


def _open(owner: Owner, *, with_slow: bool) -> int:
    row = owner.execute(_OPEN, {"all": with_slow}).fetchone()
    return int(row[0]) if row else 0


def _judged(stats: dict[str, Any], count: int) -> float:
    """A rate counts only where each event of a quick endpoint came exactly once."""
    owed = count - count // SLOW_EVERY
    if stats["quick_unique"] != owed or stats["quick_requests"] != owed:
        raise BenchFailed(f"{owed} were owed to quick endpoints, and they got {stats}")
    spent: float = stats["quick_last_at"] - stats["quick_first_at"]
    return owed / spent

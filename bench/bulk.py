"""Deciding many cases together: how long freezing and judging takes, and how many a second a run can order.

Rows in review are made past the guards, as `bench/rows.py` makes its own; planning, the door, the record and the
checkpoints are the product's, in a process of the web's role and one of the worker's.
"""

from __future__ import annotations

import json
from typing import Any, Final

from bench import rows
from bench.figures import Figure, Goal, Report
from bench.stage import BenchFailed, Stage

# One case as the door leaves it after three refused connections, copied: what matters is how many.
_CASES: Final = """
WITH made AS (
    INSERT INTO notifyops_private.notifications_intent (notification_id, report_id, type, channel, workspace,
        account_id, lane, state, next_attempt_at, attempt_count, failure_count, fence, seq, failure_limit, known,
        error_code, next_action, review_since, head, month, created_at, created_by)
    SELECT 'report-ready/case-' || g, 'case-' || g, 'report_ready', 'email', 'w' || g %% 7, a.id, 16, 'needs_review',
        NULL, 3, 3, 3, 6, 3, 'not_sent', CASE WHEN g %% 50 = 0 THEN 'not_sent.dns' ELSE 'not_sent.refused' END,
        'retry_same_key', t.now - make_interval(secs => g), t.head, t.month, t.now - interval '1 day', 'bench'
    FROM generate_series(1, %(count)s::bigint) AS g,
        (SELECT id FROM notifyops_private.notifications_provideraccount WHERE name = 'resend') AS a,
        (SELECT now(), sha256('case') AS head, date_trunc('month', now() AT TIME ZONE 'UTC')::date AS month) AS t
    RETURNING id
)
INSERT INTO notifyops_private.notifications_content (intent_id, recipient, commitment, data)
SELECT id, 'user' || id || '@example.com', sha256(id::text::bytea), '{"title": "Q3"}' FROM made
"""
# console.md §9: the plan of 10,000 within a second, groups within 150 ms; a batch of 200 within a tenth of a second.
_PLAN_S: Final = Goal(1.0)
_GROUPS_MS: Final = Goal(150.0)


def measure(stage: Stage, report: Report) -> None:
    """Plan and order 10,000 cases of 10,000 in review, and of 100,000 (left out where quick)."""
    for in_review in (10_000,) if stage.quick else (10_000, 100_000):
        found: list[dict[str, Any]] = []
        for _run in range(stage.runs):
            with stage.owner() as owner:
                rows.clear(owner)
                owner.execute(_CASES, {"count": in_review})
                rows.settle(owner)
            planned = json.loads(stage.run(("-m", "bench.bulk_run", "plan"), stage.env("web")))
            ordered = json.loads(
                stage.run(("-m", "bench.bulk_run", "carry", str(planned["number"])), stage.env("worker"))
            )
            if ordered["released"] != planned["eligible"]:
                raise BenchFailed(f"{planned['eligible']} were to be ordered, and {ordered['released']} were")
            found.append(planned | ordered)
        _say(report, in_review, found)


def _say(report: Report, in_review: int, found: list[dict[str, Any]]) -> None:
    beside = f"of {in_review:,} in review"
    count = found[0]["eligible"]
    report.add(
        Figure(
            f"plan of {count:,}", "s", tuple(one["plan_s"] for one in found), _PLAN_S, f"{beside}, frozen and judged"
        ),
        Figure("page of such a plan", "ms", tuple(one["page_ms"] for one in found), _GROUPS_MS, beside),
        Figure("groups", "ms", tuple(one["groups_ms"] for one in found), _GROUPS_MS, beside),
        Figure(
            "ordered by a run without a rate",
            "/s",
            tuple(one["released"] / one["carry_s"] for one in found),
            None,
            f"{beside}; batches of 200, door, record and checkpoint in one transaction each",
        ),
    )

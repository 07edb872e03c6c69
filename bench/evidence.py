"""How long one look-up takes that settles many unknown outcomes at once, at a provider without a rate limit."""

from __future__ import annotations

import json
from typing import Any

from bench import rows
from bench.figures import Figure, Report
from bench.stage import BenchFailed, Stage
from notifications.sandbox.app import running_sandbox


def measure(stage: Stage, report: Report) -> None:
    """Settle 10,000 unknown outcomes by one scan (1,000 where quick); each message must be accepted once, and found."""
    count = stage.sized(10_000, 1_000)
    took, scans = list[float](), 0
    for run in range(stage.runs):
        with running_sandbox(delivery_delay_s=86_400.0, log_limit=3 * count) as sandbox:
            with stage.owner() as owner:
                rows.clear(owner)
                owner.execute("DELETE FROM notifyops_private.notifications_question")
                rows.release(owner)
                rows.add_backlog(owner, f"evidence-{run}", count)
            env = stage.env(
                "worker",
                NOTIFYOPS_RESEND_BASE_URL=sandbox.url,
                NOTIFYOPS_RESEND_API_KEY=sandbox.sending_key,
                NOTIFYOPS_RESEND_LOOKUP_KEY=sandbox.full_key,
                NOTIFYOPS_LEASE_S=3600,
            )
            found: dict[str, Any] = json.loads(stage.run(("-m", "bench.asker", str(count)), env))
            if found["states"] != {"accepted": count}:
                raise BenchFailed(f"{count} outcomes were unknown and now stand so: {found['states']}")
            scans = sum(seen["method"] == "GET" and seen["path"] == "/emails" for seen in _requests(sandbox, count))
        took.append(count / found["took_s"])
    note = f"{count:,} in one scan of {scans} pages, each mail confirmed by a call of its own; a rate limit not counted"
    report.add(Figure("unknown outcomes settled by a look-up", "/s", tuple(took), None, note))


def _requests(sandbox: Any, count: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = sandbox.order("GET", "requests", {"limit": 3 * count})["requests"]
    return found

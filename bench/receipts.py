"""How many receipts a second are verified, kept and applied: from the first that is kept to the last in the log."""

from __future__ import annotations

import base64
import secrets
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from bench import rows
from bench.figures import Figure, Goal, Report, median, shown
from bench.stage import BenchFailed, Stage

# As many web processes as keep the disk's flushes shared.
WEB: Final = 4
_PREPARED: Final = """
INSERT INTO notifyops_private.notifications_prepared (intent_id, generation, account_id, sha256, template_version,
    site_mode)
SELECT id, 1, account_id, sha256('kept'), '', 'live' FROM notifyops_private.notifications_intent
"""
_SPAN: Final = """
SELECT (SELECT count(*) FROM notifyops_private.notifications_logentry WHERE kind = 'receipt'),
    (SELECT extract(epoch FROM max(at)) FROM notifyops_private.notifications_logentry WHERE kind = 'receipt')::float8,
    extract(epoch FROM min(received_at))::float8, extract(epoch FROM max(received_at))::float8
FROM notifyops_private.notifications_providerevent
"""


def measure(stage: Stage, report: Report) -> None:
    """Measure run by run: one event for each of many accepted messages, while the chore applies them."""
    found = [_rates(stage) for _ in range(stage.runs)]
    whole, kept = tuple(one for one, _ in found), [other for _, other in found]
    beside = f"kept alone {shown(median(kept))}/s; {WEB} web processes without their HTTP server, one applier"
    report.add(Figure("receipts verified and applied", "/s", whole, Goal(2000, floor=True), beside))


def _rates(stage: Stage) -> tuple[float, float]:
    """Give how many a second were applied, and how many were verified and kept meanwhile."""
    each = stage.sized(5000, 1000)
    with stage.owner() as owner:
        rows.clear(owner)
        owner.execute("TRUNCATE notifyops_private.notifications_parkedreceipt")
        rows.add_kept(owner, 1, WEB * each)
        owner.execute(_PREPARED)
        rows.settle(owner)
        row = owner.execute("SELECT min(id) FROM notifyops_private.notifications_intent").fetchone()
    first = int(row[0]) if row else 0
    secret = "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode()
    web, worker = stage.env("web", NOTIFYOPS_RESEND_WEBHOOK_SECRETS=secret), stage.env("worker")
    with ThreadPoolExecutor(WEB + 1) as pool:
        calls = [
            pool.submit(stage.run, ("-m", "bench.receiver", "take", str(first + n * each), str(each)), web)
            for n in range(WEB)
        ]
        calls.append(pool.submit(stage.run, ("-m", "bench.receiver", "apply", str(WEB * each)), worker))
        for call in calls:
            call.result()
    with stage.owner() as owner:
        count, applied_at, began_at, kept_at = owner.execute(_SPAN).fetchone() or (0, 0, 0, 0)
    if count != WEB * each:
        raise BenchFailed(f"{WEB * each} receipts were due and {count} were applied")
    return count / (applied_at - began_at), count / (kept_at - began_at)

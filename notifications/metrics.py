"""`/metrics`: whether delivery makes progress, for Prometheus. Nothing of anybody, read as it is asked for.

A healthy process proves nothing: watch `notifyops_oldest_due_seconds` and `notifyops_last_claim_age_seconds`.
"""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from django.conf import settings
from django.db import DatabaseError, transaction
from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from notifications.cli import status
from notifications.cli.terminal import rows
from notifications.delivery import site
from notifications.policy.overall import Overall

_REFUSED: Final = (
    "Metrics are read from this machine, or with the token of NOTIFYOPS_METRICS_TOKEN: Authorization: Bearer …\n"
)
_WAITING: Final = """
    SELECT i.state, count(*) AS count FROM notifyops_private.notifications_intent i
    WHERE i.next_attempt_at IS NOT NULL GROUP BY i.state
"""
_CLAIMED: Final = """
    SELECT extract(epoch FROM notifyops_private.clock_v1() - max(b.claimed_at))::float8 AS age_s
    FROM notifyops_private.notifications_workerbeat b
"""
# Of the newest entries of an hour, as far back as a look by id goes.
_HOUR: Final = """
    WITH newest AS MATERIALIZED (
        SELECT l.at, l.kind, l.outcome, l.detail ->> 'says' AS says, l.intent_id
        FROM notifyops_private.notifications_logentry l ORDER BY l.id DESC LIMIT 100000
    )
    SELECT a.name AS account, count(*) FILTER (WHERE n.kind = 'result') AS attempts,
        count(*) FILTER (WHERE n.kind = 'result' AND n.outcome = 'accepted') AS accepted,
        count(*) FILTER (WHERE n.kind = 'result' AND n.outcome IN ('unknown', 'in_flight')) AS ambiguous,
        count(*) FILTER (WHERE n.kind = 'receipt' AND n.says = 'bounced') AS bounced,
        count(*) FILTER (WHERE n.kind = 'receipt' AND n.says = 'complained') AS complained
    FROM newest n JOIN notifyops_private.notifications_intent i ON i.id = n.intent_id
    JOIN notifyops_private.notifications_provideraccount a ON a.id = i.account_id
    WHERE n.at > notifyops_private.clock_v1() - interval '1 hour' GROUP BY a.name
"""
# Name → what it says. The order is that of the page; docs/metrics.md repeats it.
HELP: Final[Mapping[str, str]] = {
    "notifyops_site_info": "1, with the site's name and mode.",
    "notifyops_delivery": "1 for the word that holds: runs, paused, off, held_up or stands_still.",
    "notifyops_waiting": "Notifications that are owed or under way, by state.",
    "notifyops_due": "Notifications whose time has come and which no worker has taken.",
    "notifyops_oldest_due_seconds": "How long the oldest of them has been due; 0 where there is none.",
    "notifyops_oldest_waiting_seconds": "Age of the oldest notification that is owed; 0 where there is none.",
    "notifyops_last_claim_age_seconds": "Time since any loop claimed something; absent where none ever did.",
    "notifyops_per_minute": "What happened within the last minute: accepted, failed, unknown, held, retried.",
    "notifyops_attempts_hour": "Calls that ended within the last hour, by account; all, accepted, ambiguous.",
    "notifyops_receipts_hour": "Receipts of the last hour that say bounced or complained, by account.",
    "notifyops_review_cases": "Cases that wait for a person.",
    "notifyops_oldest_review_seconds": "How long the oldest of them has waited; 0 where there is none.",
    "notifyops_receipts_waiting": "Receipts that are kept and not applied yet.",
    "notifyops_oldest_receipt_seconds": "Age of the oldest of them; 0 where there is none.",
    "notifyops_circuit_open": "1 while an account is not called.",
    "notifyops_rate_per_second": "Calls a second that an account allows now; absent without a limit.",
    "notifyops_pauses": "Pauses that stand now.",
    "notifyops_workers": "Workers that have beaten within the last minute, by role.",
    "notifyops_tasks_queued": "Tasks in django-q2's queue.",
}


@never_cache
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Answer in Prometheus' text form; 403 for strangers, 503 where the database does not answer."""
    if not _may_read(request):
        return HttpResponse(_REFUSED, status=403, content_type="text/plain; charset=utf-8")
    registry = CollectorRegistry()
    try:
        with transaction.atomic():  # one look: the figures belong together
            registry.register(_Read(list(figures())))
    except DatabaseError:
        return HttpResponse("database: no answer\n", status=503, content_type="text/plain; charset=utf-8")
    return HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_LATEST)


class _Read:
    """What was read, as the library wants it."""

    def __init__(self, found: Iterable[Metric]) -> None:
        self._found = found

    def collect(self) -> Iterable[Metric]:
        return self._found


def _may_read(request: HttpRequest) -> bool:
    token: str = settings.NOTIFYOPS_METRICS_TOKEN
    kind, _, given = request.headers.get("Authorization", "").partition(" ")
    if token and kind.lower() == "bearer":
        return hmac.compare_digest(given.strip().encode(), token.encode())
    # A proxy that nobody has named makes every stranger look like this machine.
    if request.META.get("notifyops.claims"):
        return False
    try:
        return ipaddress.ip_address(str(request.META.get("REMOTE_ADDR") or "")).is_loopback
    except ValueError:
        return False


def figures() -> Iterator[Metric]:
    """Read every figure, in the order of HELP."""
    place = (settings.NOTIFYOPS_SITE, settings.NOTIFYOPS_SITE_MODE)
    yield _by("notifyops_site_info", ("name", "mode"), [(place, 1)])
    workers, circuits = rows(status.WORKERS), rows(status.CIRCUITS)
    pauses = len(rows(status.PAUSES))
    holds = status.verdict(workers, circuits, pauses, site.trouble(settings.NOTIFYOPS_SITE))
    yield _by("notifyops_delivery", ("verdict",), [((str(one),), int(one == holds)) for one in Overall])
    yield _by("notifyops_waiting", ("state",), _waiting())
    yield from _ages("notifyops_due", "notifyops_oldest_due_seconds", rows(status.DUE)[0])
    yield _gauge("notifyops_oldest_waiting_seconds", rows(status.WAITING)[0]["oldest_s"] or 0)
    yield _gauge("notifyops_last_claim_age_seconds", rows(_CLAIMED)[0]["age_s"])
    yield _by("notifyops_per_minute", ("what",), [((what,), count) for what, count in status.per_minute().items()])
    hour = rows(_HOUR)
    yield _by("notifyops_attempts_hour", ("account", "outcome"), _columns(hour, "attempts", "accepted", "ambiguous"))
    yield _by("notifyops_receipts_hour", ("account", "says"), _columns(hour, "bounced", "complained"))
    yield from _ages("notifyops_review_cases", "notifyops_oldest_review_seconds", rows(status.REVIEW)[0])
    yield from _ages("notifyops_receipts_waiting", "notifyops_oldest_receipt_seconds", rows(status.RECEIPTS)[0])
    yield _by("notifyops_circuit_open", ("account",), [((one["account"],), int(one["open"])) for one in circuits])
    rated = [((one["account"],), one["rate_per_s"]) for one in circuits if one["rate_per_s"] is not None]
    yield _by("notifyops_rate_per_second", ("account",), rated)
    yield _gauge("notifyops_pauses", pauses)
    roles = [one["role"] for one in workers]
    yield _by("notifyops_workers", ("role",), [((role,), roles.count(role)) for role in ("loop", "chores")])
    yield _gauge("notifyops_tasks_queued", rows(status.TASKS)[0]["count"])


def _waiting() -> list[tuple[tuple[str, ...], float]]:
    found = {row["state"]: row["count"] for row in rows(_WAITING)}
    return [((state,), found.get(state, 0)) for state in ("pending", "sending", "retry")]


def _columns(found: list[dict[str, Any]], *names: str) -> list[tuple[tuple[str, ...], float]]:
    return [((row["account"], name), row[name]) for row in found for name in names]


def _ages(count: str, oldest: str, row: dict[str, Any]) -> Iterator[Metric]:
    yield _gauge(count, row["count"])
    yield _gauge(oldest, row["oldest_s"] or 0)


def _gauge(name: str, value: float | None) -> Metric:
    """Give one figure; what is not known is absent, since 0 would be an answer."""
    family = GaugeMetricFamily(name, HELP[name])
    if value is not None:
        family.add_metric([], value)
    return family


def _by(name: str, labels: tuple[str, ...], found: Iterable[tuple[tuple[str, ...], float]]) -> Metric:
    family = GaugeMetricFamily(name, HELP[name], labels=labels)
    for values, figure in found:
        family.add_metric(values, figure)
    return family

"""What must be true before this process may deliver; each fault is a sentence that says how to mend it."""

from __future__ import annotations

from django.conf import settings
from django.db import connection, transaction
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone
from django_q.models import Schedule

from notifications import wiring
from notifications.models import DoorRole, ProviderAccount
from notifications.states import Who

OLDEST_SERVER = 150_000
WATCH = "notifications.tasks.watch"
# Beside the families of slots; held for the length of one short transaction.
SCHEDULE_LOCK = 7804


def worker_faults() -> list[str]:
    """Say what keeps this host from delivering; an empty list means that it may."""
    faults = [*_server_faults()]
    if faults:
        return faults
    with connection.cursor() as cursor:
        cursor.execute("SELECT session_user")
        role = cursor.fetchone()[0]
    if not DoorRole.objects.filter(role=role, who=Who.WORKER).exists():
        faults.append(
            f"Database role {role} may not write a worker's entries: set NOTIFYOPS_DATABASE_URL to the worker's role "
            f"({settings.NOTIFYOPS_ROLES['worker']})."
        )
    return faults + _account_faults()


def _server_faults() -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute("SHOW server_version_num")
        version = int(cursor.fetchone()[0])
    if version < OLDEST_SERVER:
        return [f"PostgreSQL {version // 10_000} is too old: use 15 or newer."]
    executor = MigrationExecutor(connection)
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        return ["Migrations are missing: run manage.py migrate."]
    return []


def _account_faults() -> list[str]:
    """Say why no account at all can be used here; some that cannot are other hosts' work, and are logged."""
    refusals = []
    for row in ProviderAccount.objects.filter(enabled=True):
        try:
            wiring.account(row, wiring.rules())
        except wiring.Unusable as refusal:
            refusals.append(str(refusal))
        else:
            return []
    return refusals


def ensure_schedule() -> None:
    """Have the watchdog's schedule exactly once, due at the latest now; a missed minute is not caught up."""
    always = {"schedule_type": Schedule.MINUTES, "minutes": 1, "repeats": -1}
    now = timezone.now()
    with transaction.atomic(), connection.cursor() as cursor:
        # Nothing in the table is unique: two hosts that start for the first time at once would each add a row.
        cursor.execute("SELECT pg_advisory_xact_lock(%s, 0)", [SCHEDULE_LOCK])
        rows = Schedule.objects.filter(func=WATCH).order_by("pk")
        kept = rows.first()
        if kept is None:
            Schedule.objects.create(func=WATCH, name="notifyops watchdog", **always)
            return
        rows.exclude(pk=kept.pk).delete()
        # A host whose clock is ahead may have moved it far into the future.
        rows.filter(pk=kept.pk).update(**always, next_run=min(kept.next_run, now))

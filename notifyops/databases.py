"""Django's DATABASES: `default` is the role of this process, `owner` the tables' owner where it is known."""

from __future__ import annotations

from typing import Any, Final

from notifyops import dsn

# A cluster's forked workers must never wait for a lock or a lost peer for ever: one of them may hold a lease.
# Seconds are far below django-q2's timeout, above any statement that the loops make.
CLUSTER_OPTIONS: Final = {
    "options": "-c lock_timeout=5s -c statement_timeout=30s -c idle_in_transaction_session_timeout=60s",
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 30000,
}


def databases(url: str, *, owner_url: str, in_cluster: bool) -> dict[str, dict[str, Any]]:
    """Give the connections of one process; without a URL one that cannot connect, so that tools still load settings.

    In tests `default` looks at the owner's test database, since only the owner may make and flush it.
    """
    default = _connection(url, in_cluster=in_cluster)
    if not owner_url:
        return {"default": default}
    default["TEST"] = {"MIRROR": "owner"}
    return {"default": default, "owner": _connection(owner_url, in_cluster=False)}


def _connection(url: str, *, in_cluster: bool) -> dict[str, Any]:
    parts = dsn.read(url, name="NOTIFYOPS_DATABASE_URL") if url else {"host": "127.0.0.1", "port": "1", "dbname": "-"}
    parts = {"connect_timeout": "10", "application_name": "notifyops", **parts}
    options: dict[str, Any] = {key: value for key, value in parts.items() if key not in dsn.NAMED}
    if in_cluster:
        given = options.get("options", "")
        options = {**CLUSTER_OPTIONS, **options, "options": f"{CLUSTER_OPTIONS['options']} {given}".strip()}
    named = {django: parts.get(libpq, "") for libpq, django in dsn.NAMED.items()}
    return {
        "ENGINE": "django.db.backends.postgresql",
        **named,
        "OPTIONS": options,
        # Kept in the cluster, where a connection per task costs ten times the task; never under ASGI, where each
        # open stream would hold one.
        "CONN_MAX_AGE": 60 if in_cluster else 0,
        "CONN_HEALTH_CHECKS": in_cluster,
    }

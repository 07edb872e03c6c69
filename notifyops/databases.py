"""Django's DATABASES: `default` is the role of this process, `owner` the tables' owner where it is known."""

from __future__ import annotations

from collections.abc import Mapping
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


# A process that serves: a request ends in time, or its thread, its connection and its place in the API are lost for as
# long as a stranger's transaction lasts, also when the client has long gone. A lock is waited for less long than
# clients and providers wait, and they hear that they may try again. The longest pages bound themselves closer.
SERVED_OPTIONS: Final = {
    "options": "-c lock_timeout=3s -c statement_timeout=20s -c idle_in_transaction_session_timeout=60s",
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 2,
    "tcp_user_timeout": 10000,
}
# A database that is away must be said to be away: seconds that a page may hang for it.
_SERVED_CONNECT_S: Final = "3"


def databases(
    url: str, *, owner_url: str, in_cluster: bool, serves: bool = False, pool: int = 0
) -> dict[str, dict[str, Any]]:
    """Give the connections of one process; without a URL one that cannot connect, so that tools still load settings.

    In tests `default` looks at the owner's test database, since only the owner may make and flush it. `pool` is how
    many connections a process of the web keeps for its threads: a session's first calls plan anew, which costs an
    enqueue over HTTP twenty times its work. Never in the cluster, whose forked workers would share sockets.
    """
    bounds = CLUSTER_OPTIONS if in_cluster else SERVED_OPTIONS if serves else {}
    default = _connection(url, bounds, in_cluster=in_cluster)
    if pool and not in_cluster:
        default["ENGINE"] = "notifyops.kept"
        default["OPTIONS"]["pool"] = pool
    if not owner_url:
        return {"default": default}
    default["TEST"] = {"MIRROR": "owner"}
    return {"default": default, "owner": _connection(owner_url, {}, in_cluster=False)}


def _connection(url: str, bounds: Mapping[str, Any], *, in_cluster: bool) -> dict[str, Any]:
    parts = dsn.read(url, name="NOTIFYOPS_DATABASE_URL") if url else {"host": "127.0.0.1", "port": "1", "dbname": "-"}
    connect_s = _SERVED_CONNECT_S if bounds is SERVED_OPTIONS else "10"
    parts = {"connect_timeout": connect_s, "application_name": "notifyops", **parts}
    options: dict[str, Any] = {key: value for key, value in parts.items() if key not in dsn.NAMED}
    if bounds:
        given = options.get("options", "")
        options = {**bounds, **options, "options": f"{bounds['options']} {given}".strip()}
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

"""What every page's header says: the site, its mode, who works, what is stopped, and as of when."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.conf import settings
from django.db import connection

# A list that takes longer reads too much: the page says so instead of waiting (console.md, errors).
PAGE_TIMEOUT_MS: Final = 1000
# A loop beats after each claim, at least every poll; half a minute of silence is the supervisor's limit too.
BEAT_S: Final = 30

# One query: it also bounds the time of all that follow in this transaction. `infinity` is no Python time.
_SQL: Final = """
WITH now AS MATERIALIZED (SELECT notifyops_private.clock_v1() AS t, set_config('statement_timeout', %s, true) AS s),
beats AS (
    SELECT count(*) FILTER (WHERE b.beat_at > now.t - make_interval(secs => %s)) AS alive, max(b.beat_at) AS last
    FROM notifyops_private.notifications_workerbeat b, now
)
SELECT now.t, beats.alive, beats.last, (
    SELECT coalesce(json_agg(json_build_array(a.name, coalesce(c.code, c.reason, ''),
        CASE WHEN isfinite(c.open_until) THEN extract(epoch FROM c.open_until)::float8 END) ORDER BY a.name), '[]')
    FROM notifyops_private.notifications_circuit c
    JOIN notifyops_private.notifications_provideraccount a ON a.id = c.account_id WHERE c.open_until > now.t),
    notifyops_private.site_trouble_v1(%s)
FROM now, beats
"""


@dataclass(frozen=True, slots=True)
class OpenCircuit:
    """An account that is not called now; `until` None: until a person has mended it."""

    account: str
    code: str
    until: datetime | None


@dataclass(frozen=True, slots=True)
class Standing:
    """The header's facts. `now` is the database's clock, by which all ages on the page are told.

    `trouble` says why nothing is sent from this database: a word of `site_trouble_v1`, or None.
    """

    now: datetime
    workers_alive: int
    last_beat_at: datetime | None
    circuits: tuple[OpenCircuit, ...]
    site: str
    mode: str
    trouble: str | None = None


def read_standing() -> Standing:
    """Read the header's facts, and bound the statements of the caller's open transaction."""
    with connection.cursor() as cursor:
        cursor.execute(_SQL, [f"{PAGE_TIMEOUT_MS}ms", BEAT_S, settings.NOTIFYOPS_SITE])
        now, alive, last, circuits, trouble = cursor.fetchone()
    return Standing(
        now=now,
        workers_alive=alive,
        last_beat_at=last,
        circuits=tuple(OpenCircuit(name, code, _time(until, now)) for name, code, until in circuits),
        site=settings.NOTIFYOPS_SITE,
        mode=settings.NOTIFYOPS_SITE_MODE,
        trouble=trouble,
    )


def _time(epoch: float | None, now: datetime) -> datetime | None:
    return datetime.fromtimestamp(epoch, tz=now.tzinfo) if epoch is not None else None

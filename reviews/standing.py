"""What every page's header says: the site, its mode, who works, what is stopped, and as of when."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.conf import settings
from django.db import connection

from notifications.models import Intent
from notifications.policy.overall import BEAT_S

# A list that takes longer reads too much: the page says so instead of waiting (console.md, errors).
PAGE_TIMEOUT_MS: Final = 1000

# One query: it also bounds the time of all that follow in this transaction. `infinity` is no Python time.
_SQL: Final = """
WITH now AS MATERIALIZED (SELECT notifyops_private.clock_v1() AS t, set_config('statement_timeout', %s, true) AS s),
beats AS (
    SELECT count(*) FILTER (WHERE b.ended_at IS NULL AND b.beat_at > now.t - make_interval(secs => %s)) AS alive,
        max(b.beat_at) AS last
    FROM notifyops_private.notifications_workerbeat b, now
)
SELECT now.t, beats.alive, beats.last, (
    SELECT coalesce(json_agg(json_build_array(a.id, a.name, coalesce(c.code, c.reason, ''),
        CASE WHEN isfinite(c.open_until) THEN extract(epoch FROM c.open_until)::float8 END) ORDER BY a.name), '[]')
    FROM notifyops_private.notifications_circuit c
    JOIN notifyops_private.notifications_provideraccount a ON a.id = c.account_id WHERE c.open_until > now.t), (
    SELECT coalesce(json_agg(json_build_array(p.id, p.scope, p.name, p.account_id,
        extract(epoch FROM p.ends_at)::float8)
        ORDER BY p.ends_at), '[]')
    FROM notifyops_private.notifications_pause p WHERE p.resumed_at IS NULL AND p.ends_at > now.t),
    notifyops_private.site_trouble_v1(%s)
FROM now, beats
"""


@dataclass(frozen=True, slots=True)
class OpenCircuit:
    """An account that is not called now; `until` None: until a person has mended it."""

    account_id: int
    account: str
    code: str
    until: datetime | None


@dataclass(frozen=True, slots=True)
class StandingPause:
    """What a person paused: an account, a type or a workspace, whose name may be empty."""

    number: int
    scope: str
    name: str
    account_id: int | None
    until: datetime

    def holds(self, intent: Intent) -> bool:
        """Tell whether such an intent waits for it, when it is due."""
        if self.scope == "account":
            return self.account_id == intent.account_id
        return self.name == (intent.type if self.scope == "type" else intent.workspace)


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
    pauses: tuple[StandingPause, ...] = ()
    # Where a live stream goes on from, so that nothing falls between the page and its stream.
    mark: str = ""

    @property
    def key(self) -> str:
        """What of the header a page should hear of: whether workers live, how many accounts stand, how many pauses."""
        return key(self.workers_alive, len(self.circuits), len(self.pauses))

    @property
    def is_recovering(self) -> bool:
        """Whether the provider must be asked first what was sent since a restore; the door bars what would send."""
        return self.trouble in ("copied", "restored", "recovering")


def key(workers: int, circuits: int, pauses: int) -> str:
    """Give the header's key. One worker more or less is no news: they are renewed every minute."""
    return f"{min(workers, 1)}.{circuits}.{pauses}"


def read_standing() -> Standing:
    """Read the header's facts, and bound the statements of the caller's open transaction."""
    with connection.cursor() as cursor:
        cursor.execute(_SQL, [f"{PAGE_TIMEOUT_MS}ms", BEAT_S, settings.NOTIFYOPS_SITE])
        now, alive, last, circuits, pauses, trouble = cursor.fetchone()
    return Standing(
        now=now,
        workers_alive=alive,
        last_beat_at=last,
        circuits=tuple(OpenCircuit(number, name, code, _time(until, now)) for number, name, code, until in circuits),
        site=settings.NOTIFYOPS_SITE,
        mode=settings.NOTIFYOPS_SITE_MODE,
        trouble=trouble,
        pauses=tuple(
            StandingPause(number, scope, name, account_id, datetime.fromtimestamp(until, tz=now.tzinfo))
            for number, scope, name, account_id, until in pauses
        ),
    )


def _time(epoch: float | None, now: datetime) -> datetime | None:
    return datetime.fromtimestamp(epoch, tz=now.tzinfo) if epoch is not None else None

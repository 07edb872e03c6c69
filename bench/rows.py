"""Rows in bulk, written by the owner straight into the tables: a backlog to deliver, and kept rows of old deliveries.

Intake is measured on its own; here it would only take time. The triggers of these tables guard changes, not inserts,
and each row is what intake would have written, its chain's first link included.
"""

from __future__ import annotations

from typing import Any, Final

import psycopg

Owner = psycopg.Connection[Any]

# About what a report mail carries: the request's body becomes 600 to 700 bytes.
_TITLE: Final = "Quarterly figures of the northern region, second edition " * 2
_BACKLOG: Final = """
WITH named AS MATERIALIZED (
    SELECT nextval('notifyops_private.notifications_intent_id_seq') AS id, %(run)s || '-' || g AS report_id,
        a.id AS account, t.now
    FROM generate_series(%(first)s::bigint, %(last)s::bigint) AS g,
        (SELECT id FROM notifyops_private.notifications_provideraccount WHERE name = 'resend') AS a,
        (SELECT clock_timestamp() AS now) AS t
), made AS (
    INSERT INTO notifyops_private.notifications_intent (id, notification_id, report_id, type, channel, workspace,
        account_id, lane, next_attempt_at, failure_limit, head, month, created_at, created_by)
    SELECT id, 'report-ready/' || report_id, report_id, 'report_ready', 'email', '', account, 16 + (hashtext('') & 15),
        now, 3, notifyops_private.genesis_v1(id, 'report-ready/' || report_id, '', report_id, 'report_ready', 'email',
        '', now), date_trunc('month', now AT TIME ZONE 'UTC')::date, now, session_user
    FROM named
)
INSERT INTO notifyops_private.notifications_content (intent_id, recipient, commitment, data)
SELECT id, 'user' || id || '@example.com', sha256(id::text::bytea), jsonb_build_object('title', %(title)s::text)
FROM named
"""
_KEPT: Final = """
INSERT INTO notifyops_private.notifications_intent (notification_id, report_id, type, channel, workspace, account_id,
    lane, state, next_attempt_at, attempt_count, fence, seq, failure_limit, provider_message_id, head, month,
    created_at, created_by)
SELECT 'report-ready/kept-' || g, 'kept-' || g, 'report_ready', 'email', '', a.id, 16 + (hashtext('') & 15), 'accepted',
    NULL, 1, 1, 2, 3, '00000000-0000-4000-9000-' || lpad(to_hex(g), 12, '0'), t.head, t.month,
    t.now - interval '30 days', 'kept'
FROM generate_series(%(first)s::bigint, %(last)s::bigint) AS g,
    (SELECT id FROM notifyops_private.notifications_provideraccount WHERE name = 'resend') AS a,
    (SELECT now(), sha256('kept') AS head, date_trunc('month', now() AT TIME ZONE 'UTC')::date AS month) AS t
"""
_HOLD: Final = """
INSERT INTO notifyops_private.notifications_circuit (account_id, wait_until, changed_at)
SELECT id, CASE WHEN %(held)s THEN clock_timestamp() + interval '1 day' END, clock_timestamp()
FROM notifyops_private.notifications_provideraccount WHERE name = %(account)s
ON CONFLICT (account_id) DO UPDATE SET wait_until = excluded.wait_until
"""

_CLEAR: Final = """
DO $$
DECLARE
    guard record;
BEGIN
    -- 32 is TRUNCATE in tgtype. The guards are off only inside this transaction, which holds the tables.
    CREATE TEMPORARY TABLE guards ON COMMIT DROP AS
    SELECT t.tgrelid::regclass AS place, t.tgname AS name FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
    WHERE NOT t.tgisinternal AND t.tgtype & 32 <> 0 AND c.relnamespace = 'notifyops_private'::regnamespace;
    FOR guard IN SELECT * FROM guards LOOP
        EXECUTE format('ALTER TABLE %s DISABLE TRIGGER %I', guard.place, guard.name);
    END LOOP;
    TRUNCATE notifyops_private.notifications_intent, notifyops_private.notifications_intentkey,
        notifyops_private.notifications_content, notifyops_private.notifications_prepared,
        notifyops_private.notifications_logentry, notifyops_private.notifications_providerevent CASCADE;
    FOR guard IN SELECT * FROM guards LOOP
        EXECUTE format('ALTER TABLE %s ENABLE ALWAYS TRIGGER %I', guard.place, guard.name);
    END LOOP;
END $$
"""


def clear(owner: Owner) -> None:
    """Empty the tables of all notifications, so that each run begins alike."""
    owner.execute(_CLEAR)


def add_backlog(owner: Owner, run: str, count: int, *, first: int = 1) -> None:
    """Add due intents with their content; `run` makes their keys unlike those of other runs."""
    owner.execute(_BACKLOG, {"run": run, "first": first, "last": first + count - 1, "title": _TITLE.strip()})


def add_kept(owner: Owner, first: int, count: int) -> None:
    """Add intents that were accepted long ago."""
    owner.execute(_KEPT, {"first": first, "last": first + count - 1})


def hold(owner: Owner, account: str = "resend") -> None:
    """Let the account wait, as after a 429: a backlog can be loaded beside a running cluster."""
    owner.execute(_HOLD, {"held": True, "account": account})


def release(owner: Owner, account: str = "resend") -> None:
    """Let the account go on, and wake the loops."""
    owner.execute(_HOLD, {"held": False, "account": account})
    owner.execute("NOTIFY notifyops_due")


def settle(owner: Owner) -> None:
    """Vacuum and analyze what was loaded, so that no measurement pays for it.

    Not the tables that are still empty: what is known to be empty is planned for as if it stayed so.
    """
    for table in ("intent", "content"):
        owner.execute(f"VACUUM (ANALYZE) notifyops_private.notifications_{table}".encode())

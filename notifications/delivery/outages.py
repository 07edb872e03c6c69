"""The statements that open and close accounts' circuits, by the database's clock and in the order of its log."""

from __future__ import annotations

from typing import Final

WAIT: Final = """
INSERT INTO notifyops_private.notifications_circuit AS c (account_id, wait_until, changed_at)
VALUES (%(account)s, notifyops_private.clock_v1() + make_interval(secs => %(wait_s)s), notifyops_private.clock_v1())
ON CONFLICT (account_id) DO UPDATE SET wait_until = greatest(c.wait_until, excluded.wait_until),
    changed_at = excluded.changed_at
"""
RAMP: Final = "SELECT notifyops_private.ramp_v1(%s)"
REOPEN: Final = (
    "UPDATE notifyops_private.notifications_circuit SET open_until = notifyops_private.clock_v1() "
    "WHERE account_id = ANY (%s::bigint[]) AND open_until < 'infinity'"
)
# The pick keeps a minute for the probe. Where a lease is longer, so is the call, and no second probe comes beside it.
PROBED: Final = """
UPDATE notifyops_private.notifications_circuit c
SET open_until = greatest(c.open_until, notifyops_private.clock_v1() + make_interval(secs => %(lease_s)s))
WHERE c.account_id = ANY (%(accounts)s::bigint[]) AND c.open_until < 'infinity'
"""
PICK_KEEPS_S: Final = 60.0
# A probe that was not made lets the next one come, but not where its own time is over: then that one is under way.
PROBE_UNUSED: Final = """
UPDATE notifyops_private.notifications_circuit c SET open_until = notifyops_private.clock_v1()
WHERE c.account_id = %(account)s AND c.open_until < 'infinity' AND c.open_until <= (
    SELECT l.at + make_interval(secs => %(kept_s)s)
    FROM notifyops_private.notifications_intent i JOIN notifyops_private.notifications_logentry l
      ON l.intent_id = i.id AND l.month = i.month AND l.kind = 'claimed' AND l.attempt = %(attempt)s
    WHERE i.id = %(intent)s)
"""
IS_OPEN: Final = "SELECT open_until IS NOT NULL FROM notifyops_private.notifications_circuit WHERE account_id = %s"
# Counted under the row's lock: of all loops together only the first few refusals go to a person.
REFUSALS: Final = """
INSERT INTO notifyops_private.notifications_circuit AS c (account_id) VALUES (%s)
ON CONFLICT (account_id) DO UPDATE SET config_failures = c.config_failures
RETURNING CASE WHEN c.open_until IS NULL THEN c.config_failures ELSE 1000 END
"""
# Each of the next three gives: is it open, has it opened just now, and why.
# A day's quota starts afresh at 00:00 UTC; a month's waits for a person, whatever else is said of a day meanwhile. In a
# day's first minutes it may be the day before of which this speaks: an answer that was recorded late, a probe at the
# stroke of our clock at a provider whose clock is behind. The day that has begun must not be lost by it.
QUOTA: Final = """
WITH old AS MATERIALIZED (
    SELECT reason FROM notifyops_private.notifications_circuit WHERE account_id = %(account)s FOR UPDATE
)
INSERT INTO notifyops_private.notifications_circuit AS c (account_id, open_until, reason, code, changed_at)
SELECT %(account)s, CASE WHEN %(reason)s <> 'daily_quota' THEN 'infinity'
    WHEN t.now < t.day + interval '5 minutes' THEN t.day + interval '5 minutes'
    ELSE t.day + interval '1 day' END, %(reason)s, %(code)s, t.now
-- Named here, so that it is read before the row is changed.
FROM (SELECT now, date_trunc('day', now, 'UTC') AS day FROM notifyops_private.clock_v1() AS now) AS t
LEFT JOIN old ON true
ON CONFLICT (account_id) DO UPDATE SET open_until = greatest(c.open_until, excluded.open_until),
    reason = CASE WHEN c.reason = 'monthly_quota' THEN c.reason ELSE excluded.reason END,
    code = CASE WHEN c.reason = 'monthly_quota' THEN c.code ELSE excluded.code END, changed_at = excluded.changed_at
RETURNING true, (SELECT reason FROM old) IS DISTINCT FROM %(reason)s, %(reason)s
"""
# Repeated refusals of the account itself open the circuit, each further one twice as long.
CONFIG: Final = """
WITH old AS MATERIALIZED (
    SELECT open_until FROM notifyops_private.notifications_circuit WHERE account_id = %(account)s FOR UPDATE
)
INSERT INTO notifyops_private.notifications_circuit AS c (account_id, config_failures, code, changed_at)
SELECT %(account)s, 1, %(code)s, notifyops_private.clock_v1() FROM (VALUES (1)) AS v LEFT JOIN old ON true
ON CONFLICT (account_id) DO UPDATE SET
    -- Calls that were under way when it opened say nothing new; only a refused probe makes it wait twice as long.
    config_failures = CASE WHEN c.open_until IS NULL OR %(probe)s THEN least(c.config_failures + 1, 1000)
        ELSE c.config_failures END,
    open_until = CASE WHEN c.config_failures + 1 < %(threshold)s OR c.reason LIKE '%%quota'
            OR (c.open_until IS NOT NULL AND NOT %(probe)s) THEN c.open_until
        ELSE notifyops_private.clock_v1() + make_interval(secs => least(%(longest_s)s,
            %(cooldown_s)s * power(2, least(c.config_failures + 1 - %(threshold)s, 20)))) END,
    reason = CASE WHEN c.config_failures + 1 >= %(threshold)s THEN
            CASE WHEN c.reason = 'outage' THEN 'config' ELSE coalesce(c.reason, 'config') END ELSE c.reason END,
    code = CASE WHEN c.reason LIKE '%%quota' THEN c.code ELSE excluded.code END, changed_at = excluded.changed_at
RETURNING c.open_until IS NOT NULL, c.open_until IS NOT NULL AND (SELECT open_until FROM old) IS NULL, 'config'
"""
# The account's last results, in the order of the log and whoever recorded them, are all failures to reach it: open.
# Those of calls that were under way change nothing more; a probe that fails doubles the wait. The spread keeps the
# probes of several accounts behind one outage from coming all at once.
OPEN_OUTAGE: Final = """
WITH newest AS MATERIALIZED (
    SELECT max(id) AS id FROM notifyops_private.notifications_logentry
), last AS MATERIALIZED (
    SELECT l.outcome = 'unknown' OR (l.outcome = 'not_sent' AND l.http_status IS NULL) AS failed
    FROM notifyops_private.notifications_logentry l
    -- By its generation's bytes: the notification itself may have gone over to another account since.
    JOIN notifyops_private.notifications_prepared p ON p.intent_id = l.intent_id AND p.generation = l.generation
    WHERE l.id > (SELECT id FROM newest) - 20000 AND l.kind = 'result' AND p.account_id = %(account)s
      AND l.code <> ALL ('{not_sent.given_back,not_sent.lease_over}')
    ORDER BY l.id DESC LIMIT %(threshold)s
)
INSERT INTO notifyops_private.notifications_circuit AS c
    (account_id, open_until, reason, code, openings, changed_at)
SELECT %(account)s, t.now + make_interval(secs => %(cooldown_s)s * (0.8 + 0.4 * random())), 'outage', %(code)s, 1, t.now
FROM (SELECT notifyops_private.clock_v1() AS now) t
WHERE %(probe)s OR (SELECT count(*) = %(threshold)s AND bool_and(failed) FROM last)
ON CONFLICT (account_id) DO UPDATE SET reason = 'outage', code = excluded.code, changed_at = excluded.changed_at,
    openings = least(c.openings + 1, 1000),
    open_until = excluded.changed_at + make_interval(secs => (0.8 + 0.4 * random())
        * least(%(longest_s)s, %(cooldown_s)s * power(2, least(c.openings, 20))))
    WHERE c.open_until IS NULL OR (%(probe)s AND c.reason NOT LIKE '%%quota')
RETURNING true, NOT %(probe)s, 'outage'
"""
# A success that began before a quota was used up, or before an outage, says nothing of what came after it; the probe
# does. One that was refused for its own sake was answered all the same, and the outage is over.
CLEAR: Final = """
WITH old AS MATERIALIZED (
    SELECT open_until IS NOT NULL AS was_open FROM notifyops_private.notifications_circuit
    WHERE account_id = %(account)s AND (open_until IS NOT NULL OR config_failures > 0)
      AND CASE WHEN %(probe)s THEN %(succeeded)s OR reason = 'outage' ELSE coalesce(reason, 'config') = 'config' END
    FOR UPDATE
)
UPDATE notifyops_private.notifications_circuit
SET open_until = NULL, reason = NULL, code = NULL, config_failures = 0, openings = 0,
    recovered_at = CASE WHEN old.was_open THEN notifyops_private.clock_v1() ELSE recovered_at END,
    changed_at = notifyops_private.clock_v1()
FROM old WHERE account_id = %(account)s
RETURNING old.was_open
"""

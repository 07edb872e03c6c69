"""A million cases in review and as many settled ones, with what the console's pages read of them: keys, log, decisions.

Written past the guards, as `bench/rows.py` writes: here intake and door would only take hours. What a page reads of one
case alone (content, claims) stands for one in 97, which the measurement opens.
"""

from __future__ import annotations

from typing import Final

from bench.rows import Owner, add_kept, clear

# One in so many has all that its own page shows; a prime, so that these are of every kind.
WHOLE: Final = 97
# A week of cases: 1,000,000 came within seven days, the oldest of them first in the order of waiting.
_CASES: Final = """
INSERT INTO notifyops_private.notifications_intent (notification_id, report_id, type, channel, workspace, account_id,
    lane, state, next_attempt_at, attempt_count, failure_count, fence, seq, failure_limit, known, error_code,
    next_action, review_since, first_ambiguous_at, safe_until, head, month, created_at, created_by)
SELECT 'report-ready/case-' || g, 'case-' || g, CASE WHEN g %% 9 = 0 THEN 'report_once' ELSE 'report_ready' END,
    'email', 'w' || g %% 7, a.id, 16, 'needs_review', NULL, 3, 3, 3, 6, 3,
    CASE WHEN k.n < 4 THEN 'unknown' WHEN k.n < 6 THEN 'invalid' ELSE 'not_sent' END,
    (ARRAY['unknown.deadline', 'unknown.reset', 'resend.500.application_error', 'worker_lost',
        'resend.403.invalid_from_address', 'invalid_data', 'not_sent.dns', 'not_sent.refused', 'not_sent.tls',
        'not_sent.refused'])[1 + k.n],
    CASE WHEN k.n < 4 THEN 'query_provider' WHEN k.n < 6 THEN 'fix_config' ELSE 'retry_same_key' END,
    k.since, CASE WHEN k.n < 4 THEN k.since END, CASE WHEN k.n < 4 THEN k.since + interval '84600 seconds' END,
    sha256('case'), date_trunc('month', t.now AT TIME ZONE 'UTC')::date, k.since, 'bench'
FROM generate_series(1, %(count)s::bigint) AS g,
    (SELECT id FROM notifyops_private.notifications_provideraccount WHERE name = 'resend') AS a,
    (SELECT now()) AS t,
    LATERAL (SELECT (g * 7919 %% 10)::int AS n, t.now - g * (interval '7 days' / %(count)s) AS since) AS k
"""
_KEYS: Final = """
INSERT INTO notifyops_private.notifications_intentkey
    (key, workspace, report_id, type, singular, fingerprint, intent_id)
SELECT i.notification_id, i.workspace, i.report_id, i.type, true, sha256('key'), i.id
FROM notifyops_private.notifications_intent i
"""
_WHOLE: Final = """
INSERT INTO notifyops_private.notifications_content (intent_id, recipient, commitment, data)
SELECT i.id, 'user' || i.id || '@example.com', sha256(i.id::text::bytea), '{"title": "Q3"}'
FROM notifyops_private.notifications_intent i WHERE i.state = 'needs_review' AND i.id %% %(whole)s = 0
"""
# That it came into review is on record for every case; the attempts before that, for those with a page.
_LOG: Final = """
INSERT INTO notifyops_private.notifications_logentry (month, intent_id, seq, at, kind, from_state, to_state, attempt,
    generation, trigger, fence, worker, outcome, code, phase, duration_ms, prev, hash)
SELECT i.month, i.id, s.seq, i.review_since - (6 - s.seq) * interval '1 minute',
    CASE WHEN s.seq %% 2 = 1 THEN 'claimed' ELSE 'result' END,
    CASE WHEN s.seq = 1 THEN 'pending' WHEN s.seq %% 2 = 1 THEN 'retry' ELSE 'sending' END,
    CASE WHEN s.seq %% 2 = 1 THEN 'sending' WHEN s.seq = 6 THEN 'needs_review' ELSE 'retry' END,
    (s.seq + 1) / 2, 1, 'auto', (s.seq + 1) / 2, 'bench', CASE WHEN s.seq %% 2 = 0 THEN 'not_sent' END,
    CASE WHEN s.seq %% 2 = 0 THEN i.error_code END, CASE WHEN s.seq %% 2 = 0 THEN 'not_connected' END,
    CASE WHEN s.seq %% 2 = 0 THEN 143 END, sha256('a'), sha256('b')
FROM notifyops_private.notifications_intent i, generate_series(1, 6) AS s(seq)
WHERE i.state = 'needs_review' AND (s.seq = 6 OR i.id %% %(whole)s = 0)
"""
# Decisions of the last week: about cases that left, and in each hour some.
_DEEDS: Final = """
INSERT INTO notifyops_private.reviews_review (intent_id, action, actor, at, outcome, action_token, seq_after,
    reason_code, reason)
SELECT i.id, (ARRAY['close', 'retry', 'query', 'adopt'])[1 + i.id %% 4], 'user:p' || i.id %% 50,
    t.now - random() * interval '7 days', 'done', gen_random_uuid(), 2,
    'duplicate', '' FROM notifyops_private.notifications_intent i, (SELECT now()) AS t
WHERE i.state = 'accepted' AND i.id %% 10 = 0
"""
_TABLES: Final = ("notifications_intent", "notifications_intentkey", "notifications_content", "notifications_logentry")


def fill(owner: Owner, count: int) -> None:
    """Put `count` cases into review beside as many accepted ones. Vacuums and analyses what was loaded."""
    clear(owner)
    values = {"count": count, "whole": WHOLE}
    owner.execute(_CASES, values)
    add_kept(owner, 1, count)
    for statement in (_KEYS, _WHOLE, _LOG, _DEEDS):
        owner.execute(statement, values)
    for table in (*_TABLES, "reviews_review"):
        owner.execute(f"VACUUM (ANALYZE) notifyops_private.{table}".encode())

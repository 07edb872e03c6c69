"""Where the log of human actions is read from: decisions, notes, pauses and their ends, in one order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

# Each table gives its newest by an index of its own, pauses from their few rows; only these few are then put in order.
_SQL: Final = """
SELECT d.at, d.source, d.id, d.intent_id, i.notification_id, d.actor, d.action, d.outcome, d.refusal, d.reason_code,
    d.reason, d.before_state, d.after_state, d.bulk_id, d.before_known, coalesce(i.workspace, d.workspace), d.scope,
    d.name
FROM (
    (SELECT r.at, 'r' AS source, r.id, r.intent_id, r.actor, r.action, r.outcome, r.refusal, r.reason_code, r.reason,
        r.before ->> 'state' AS before_state, r.after ->> 'state' AS after_state, r.bulk_id,
        r.before ->> 'known' AS before_known, NULL AS workspace, NULL AS scope, NULL AS name
     FROM notifyops_private.reviews_review r WHERE {r} ORDER BY r.at DESC, r.id DESC LIMIT %(limit)s)
    UNION ALL
    (SELECT n.at, 'n', n.id, n.intent_id, n.actor, 'note', 'done', '', '', n.text, NULL, NULL, NULL, NULL, NULL, NULL,
        NULL
     FROM notifyops_private.reviews_note n WHERE {n} ORDER BY n.at DESC, n.id DESC LIMIT %(limit)s)
    UNION ALL
    (SELECT p.began_at, 'p', p.id, NULL, p.actor, 'pause', 'done', '', p.reason_code, p.reason, NULL, NULL, NULL, NULL,
        CASE p.scope WHEN 'workspace' THEN p.name END, p.scope, p.name
     FROM notifyops_private.notifications_pause p WHERE {p} ORDER BY p.began_at DESC, p.id DESC LIMIT %(limit)s)
    UNION ALL
    (SELECT p.resumed_at, 'e', p.id, NULL, p.resumed_by, 'pause_end', 'done', '', '', p.resume_reason, NULL, NULL, NULL,
        NULL, CASE p.scope WHEN 'workspace' THEN p.name END, p.scope, p.name
     FROM notifyops_private.notifications_pause p WHERE p.resumed_at IS NOT NULL AND {e}
     ORDER BY p.resumed_at DESC, p.id DESC LIMIT %(limit)s)
) d LEFT JOIN notifyops_private.notifications_intent i ON i.id = d.intent_id
ORDER BY d.at DESC, d.source DESC, d.id DESC LIMIT %(limit)s
"""
# What a filter asks of each table: decisions, notes, pauses, ends of pauses.
_COLUMNS: Final[dict[str, dict[str, str]]] = {
    "r": {"at": "r.at", "id": "r.id", "case": "r.intent_id", "who": "r.actor", "verb": "r.action",
          "outcome": "r.outcome", "reason": "r.reason_code"},
    "n": {"at": "n.at", "id": "n.id", "case": "n.intent_id", "who": "n.actor", "verb": "'note'", "outcome": "'done'",
          "reason": "''"},
    "p": {"at": "p.began_at", "id": "p.id", "case": "NULL::bigint", "who": "p.actor", "verb": "'pause'",
          "outcome": "'done'", "reason": "p.reason_code"},
    "e": {"at": "p.resumed_at", "id": "p.id", "case": "NULL::bigint", "who": "p.resumed_by", "verb": "'pause_end'",
          "outcome": "'done'", "reason": "''"},
}  # fmt: skip


def query(conditions: Sequence[str]) -> str:
    """Give the query of one page. The conditions name columns in braces, as `{who} = %(who)s`; the values are apart."""
    return _SQL.format(**{source: _where(conditions, source) for source in _COLUMNS})


def _where(conditions: Sequence[str], source: str) -> str:
    return " AND ".join(["true", *(one.format(source=source, **_COLUMNS[source]) for one in conditions)])

"""Who may execute which function, as a table: a new grant is a decision that is made here."""

from __future__ import annotations

from typing import Any, Final

import psycopg

Owner = psycopg.Connection[Any]

EVERY, LOOPS, WEB, CALLERS, READERS = (
    {"worker", "web"}, {"worker"}, {"web"}, {"worker", "web", "writer"}, {"worker", "web", "reader"},
)  # fmt: skip
MAY_EXECUTE: Final[dict[str, set[str]]] = {
    # The contract with applications.
    "api_version": {"worker", "web", "writer", "reader"},
    "enqueue": CALLERS,
    "enqueue_many": CALLERS,
    "cancel": CALLERS,
    "status": READERS,
    "explain": READERS,
    "outcomes": READERS,
    # Reading, and the door, which asks itself who may write what.
    "clock_v1": EVERY,
    "rate_v1": EVERY,
    "site_here_v1": EVERY,
    "site_trouble_v1": EVERY,
    "append_v1": EVERY,
    "receive_v1": EVERY,
    "verify_v1": EVERY,
    "doctor_v1": EVERY,
    "forgotten_v1": EVERY,
    "earlier_v1": EVERY,
    "barred_many_v1": EVERY,
    "outcomes_v1": EVERY,
    # The loops and the chores.
    "pick_v1": LOOPS,
    "next_due_v1": LOOPS,
    "ensure_partitions_v1": LOOPS,
    "excused_v1": LOOPS,
    "forced_v1": LOOPS,
    "again_v1": LOOPS,
    "block_v1": LOOPS,
    "spend_v1": LOOPS,
    "learn_v1": LOOPS,
    "ramp_v1": LOOPS,
    "advance_horizon_v1": LOOPS,
    "finish_recovery_v1": LOOPS,
    "forget_plans_v1": LOOPS,
    "keep_fetched_v1": LOOPS,
    "fail_over_v1": LOOPS,
    "reach_v1": LOOPS,
    # Persons, and the HTTP API, which answers to a token's workspaces.
    "correct_v1": WEB,
    "erase_v1": WEB,
    "close_circuit_v1": WEB,
    "unblock_v1": WEB,
    "recover_v1": WEB,
    "waive_recovery_v1": WEB,
    "feed_window_v1": WEB,
    "draw_v1": WEB,
    "cancel_by_token_v1": WEB,
    "override_type_v1": WEB,
}
_FUNCTIONS: Final = """
SELECT p.proname, r.role FROM pg_proc p CROSS JOIN unnest(ARRAY['worker', 'web', 'writer', 'reader']) AS r(role)
WHERE p.pronamespace IN ('notifyops'::regnamespace, 'notifyops_private'::regnamespace)
  AND p.proname !~ '_for_tests' AND has_function_privilege('notifyops_test_' || r.role, p.oid, 'EXECUTE')
"""


def test_each_role_may_execute_what_it_needs_and_nothing_else(admin: Owner) -> None:
    found: dict[str, set[str]] = {}
    for name, role in admin.execute(_FUNCTIONS).fetchall():
        found.setdefault(name, set()).add(role)
    assert found == MAY_EXECUTE

"""A real cluster answers a person's question, and a kill in the middle of asking loses nothing."""

from __future__ import annotations

import pytest

from tests.cluster.machine import Field, eventually

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
KEY = "report-once/demo-001"
WANT = (
    "INSERT INTO notifyops_private.notifications_question "
    "(intent_id, account_id, about, since, due_at, wanted_by, wanted_at) "
    "SELECT id, account_id, 'person', created_at, now(), 'user:olga', now() "
    "FROM notifyops_private.notifications_intent WHERE notification_id = %s "
    "ON CONFLICT (intent_id) DO UPDATE SET due_at = now(), wanted_by = 'user:olga', wanted_at = now()"
)


def test_a_question_is_answered_by_the_cluster_and_settles_what_was_lost(field: Field) -> None:
    field.sandbox.fault(stage="after_accept", kind="close", times=1)
    field.owe("demo-001", kind="report_once")
    field.start(NOTIFYOPS_RESEND_LOOKUP_KEY=field.sandbox.full_key)
    eventually(lambda: field.intent(KEY)["status"] == "needs_review", 30)
    field.web.execute(WANT, [KEY])
    eventually(lambda: field.intent(KEY)["status"] == "accepted", 60)
    assert [entry["kind"] for entry in field.log(KEY)] == ["claimed", "result", "evidence", "settled"]
    field.nothing_lost_nothing_doubled([KEY])


def test_whoever_is_killed_while_asking_leaves_the_question_to_the_next(field: Field) -> None:
    field.sandbox.fault(stage="after_accept", kind="close", times=1)
    field.owe("demo-001", kind="report_once")
    first = field.start(NOTIFYOPS_RESEND_LOOKUP_KEY=field.sandbox.full_key)
    eventually(lambda: field.intent(KEY)["status"] == "needs_review", 30)
    field.sandbox.fault(match="^GET /emails ", kind="delay", seconds=60, times=1)
    field.web.execute(WANT, [KEY])
    eventually(lambda: any(seen["method"] == "GET" for seen in field.sandbox.requests()), 30)
    first.kill()
    assert [entry["kind"] for entry in field.log(KEY)] == ["claimed", "result"]
    field.start(NOTIFYOPS_RESEND_LOOKUP_KEY=field.sandbox.full_key)
    eventually(lambda: field.intent(KEY)["status"] == "accepted", 60)
    field.nothing_lost_nothing_doubled([KEY])

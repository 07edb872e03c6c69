"""Reviews and notes are written once, whoever asks: web role, owner, superuser in replica mode, and the admin."""

from __future__ import annotations

import psycopg
import pytest

from tests.reviews.cases import login, make_case, post

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("table", ["reviews_review", "reviews_note"])
@pytest.mark.parametrize("role", ["web", "owner", "postgres"])
def test_no_role_changes_a_decision_or_a_note(as_role, role, table) -> None:
    intent = make_case()
    client = login("olga")
    post(client, intent, "note", reason="Something that was said.")
    post(client, intent, "close", reason_code="duplicate")
    connection = as_role(role)
    connection.execute("SET search_path = notifyops_private")
    if role == "postgres":
        connection.execute("SET session_replication_role = replica")
    for attack in (f"UPDATE {table} SET actor = 'user:nobody'", f"DELETE FROM {table}", f"TRUNCATE {table}"):
        with pytest.raises(psycopg.Error) as refused:
            connection.execute(attack)
        assert refused.value.sqlstate in ("NO403", "42501")
    assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (1,)


def test_the_worker_writes_no_decision(as_role) -> None:
    make_case()
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        as_role("worker").execute(
            "INSERT INTO notifyops_private.reviews_note (intent_id, actor, text, action_token) "
            "VALUES (1, 'user:olga', 'never', gen_random_uuid())"
        )

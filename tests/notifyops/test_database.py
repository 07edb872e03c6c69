"""The test database as every other test finds it, and the flush that keeps it clean."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connection, connections

Connect = Callable[..., psycopg.Connection[Any]]


@pytest.mark.django_db(databases=["default", "owner"])
def test_tables_live_in_the_private_schema_and_not_in_public() -> None:
    with connections["owner"].cursor() as cursor:
        cursor.execute("SELECT DISTINCT schemaname FROM pg_tables WHERE tablename LIKE 'django%'")
        assert cursor.fetchall() == [("notifyops_private",)]


@pytest.mark.django_db
def test_the_default_connection_is_the_web_role() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_user, current_database() LIKE 'test\\_%'")
        assert cursor.fetchone() == ("notifyops_test_web", True)


@pytest.mark.django_db
@pytest.mark.role("worker")
def test_a_marked_test_gets_the_worker_role() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_user")
        assert cursor.fetchone() == ("notifyops_test_worker",)


@pytest.mark.parametrize(
    ("role", "path"), [("worker", "notifyops_private, pg_temp"), ("writer", "public, notifyops, pg_temp")]
)
@pytest.mark.django_db(transaction=True)
def test_each_role_finds_its_own_schema(as_role: Connect, role: str, path: str) -> None:
    assert as_role(role).execute("SHOW search_path").fetchone() == (path,)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("turn", [1, 2])
def test_a_transactional_test_leaves_nothing_behind(turn: int) -> None:
    assert User.objects.count() == 0
    User.objects.create_user("olga")


@pytest.mark.django_db(transaction=True)
def test_flushing_keeps_the_guards_and_the_reference_rows(as_role: Connect) -> None:
    owner = as_role("owner")
    guards = "SELECT tgrelid, tgname, tgenabled FROM pg_trigger WHERE NOT tgisinternal ORDER BY 1, 2"
    kept = "SELECT (SELECT count(*) FROM auth_permission), (SELECT count(*) FROM django_content_type)"
    before = owner.execute(guards).fetchall(), owner.execute(kept).fetchone()
    User.objects.create_user("olga")
    call_command("flush", database="owner", interactive=False, verbosity=0)
    assert (owner.execute(guards).fetchall(), owner.execute(kept).fetchone()) == before
    assert before[0]
    assert not User.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_without_the_test_doors_a_flush_is_refused_by_the_guards(as_role: Connect) -> None:
    owner = as_role("owner")
    owner.execute("ALTER FUNCTION notifyops_test.truncate_all(text[]) RENAME TO hidden")
    try:
        with pytest.raises(CommandError, match="couldn't be flushed"):
            call_command("flush", database="owner", interactive=False, verbosity=0)
    finally:
        owner.execute("ALTER FUNCTION notifyops_test.hidden(text[]) RENAME TO truncate_all")


@pytest.mark.django_db(transaction=True)
def test_a_session_can_look_at_tomorrow_through_the_test_clock(as_role: Connect) -> None:
    owner = as_role("owner")
    ahead = "SELECT extract(hour FROM notifyops_private.clock_v1() - clock_timestamp() + interval '1 second')"
    assert owner.execute(ahead).fetchone() == (0,)
    owner.execute("SET notifyops_test.shift = '5 hours'")
    assert owner.execute(ahead).fetchone() == (5,)


@pytest.mark.django_db(databases=["default", "owner"])
def test_only_the_owner_may_migrate() -> None:
    call_command("migrate", verbosity=0)
    with connection.cursor() as cursor, pytest.raises(Exception, match="permission denied"):
        cursor.execute("CREATE TABLE notifyops_private.mine ()")

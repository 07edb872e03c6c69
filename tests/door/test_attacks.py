"""The append-only tables and the roles' limits, attacked as each role, as owner, and as superuser in replica mode."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from tests.door.conftest import Owner
from tests.door.logins import acting_as
from tests.door.story import Story

pytestmark = pytest.mark.django_db(databases=["default", "owner"])
SQL = Path(__file__).parents[2] / "notifications" / "sql"
RUNTIME = ("worker", "web", "writer", "reader")
LOG, INTENT = "notifyops_private.notifications_logentry", "notifyops_private.notifications_intent"

CHANGES = [
    f"UPDATE {LOG} SET actor = 'user:sam'",
    f"DELETE FROM {LOG}",
    f"TRUNCATE {LOG}",
    f"TRUNCATE {LOG}_default",
    "TRUNCATE {partition}",
    "UPDATE {partition} SET code = 'other'",
    "DELETE FROM {partition}",
    f"UPDATE {INTENT} SET state = 'accepted', provider_message_id = 'x', next_attempt_at = NULL",
    f"UPDATE {INTENT} SET attempt_count = 0",
    f"UPDATE {INTENT} SET report_id = 'other'",
    f"UPDATE {INTENT} SET id = id + 100000",
    f"UPDATE {INTENT} SET seq = seq + 1, head = sha256('x')",
    f"DELETE FROM {INTENT}",
    f"TRUNCATE {INTENT} CASCADE",
    "UPDATE notifyops_private.notifications_content SET recipient = 'sam@example.com'",
    "DELETE FROM notifyops_private.notifications_content",
    "TRUNCATE notifyops_private.notifications_content",
    "UPDATE notifyops_private.notifications_prepared SET body = 'other'",
    "DELETE FROM notifyops_private.notifications_prepared",
    "TRUNCATE notifyops_private.notifications_prepared",
    "UPDATE notifyops_private.notifications_intentkey SET fingerprint = ''",
    "DELETE FROM notifyops_private.notifications_intentkey",
    "TRUNCATE notifyops_private.notifications_intentkey",
    "TRUNCATE notifyops_private.notifications_configrevision",
]


@pytest.fixture
def story(admin: Owner) -> Story:
    with acting_as(admin, "owner"):
        return Story(admin).enqueue().unknown()


def partition_of(admin: Owner, story: Story) -> str:
    row = admin.execute(
        f"SELECT tableoid::regclass::text FROM {LOG} WHERE intent_id = %s".encode(), (story.id,)
    ).fetchone()
    assert row is not None
    return f"notifyops_private.{row[0].removeprefix('notifyops_private.')}"


def refused(admin: Owner, statement: str) -> str:
    """Give the SQLSTATE with which the statement fails; it must fail."""
    with pytest.raises(psycopg.Error) as caught, admin.transaction(force_rollback=True):
        admin.execute(statement.encode())
    return caught.value.sqlstate or ""


@pytest.mark.parametrize("statement", CHANGES)
def test_no_one_changes_what_only_grows(admin: Owner, story: Story, statement: str) -> None:
    attack = statement.format(partition=partition_of(admin, story))
    for role in RUNTIME:
        with acting_as(admin, role):
            assert refused(admin, attack) == "42501"
    with acting_as(admin, "owner"):
        assert refused(admin, attack) == "NO403"
    admin.execute("SET session_replication_role = replica")
    assert refused(admin, attack) == "NO403"


FORGERIES = [
    f"INSERT INTO {LOG} SELECT * FROM {LOG}",
    f"INSERT INTO {INTENT} SELECT * FROM {INTENT}",
    "INSERT INTO notifyops_private.notifications_doorrole VALUES (current_user, 'person')",
    "INSERT INTO notifyops_private.notifications_workspacegrant VALUES (current_user, '*')",
    "UPDATE notifyops_private.notifications_notificationtype SET failure_limit = 99",
    "DELETE FROM notifyops_private.move",
    "INSERT INTO notifyops_private.move VALUES ('closed', 'sending', 'closed', 'worker')",
    "SELECT * FROM notifyops_private.notifications_sitesecret",
    "SELECT notifyops_private.hmac_v1('guess')",
    "SELECT notifyops_private.enqueue_v1('report_ready', 'r', 'ana@example.com', '{}', '{}')",
    f"ALTER TABLE {LOG} DISABLE TRIGGER ALL",
    f"DROP TRIGGER only_grows ON {LOG}",
    f"ALTER TABLE {INTENT} DROP CONSTRAINT intent_counts",
    "CREATE OR REPLACE FUNCTION notifyops_private.clock_v1() RETURNS timestamptz LANGUAGE sql RETURN now()",
    "CREATE FUNCTION notifyops.f() RETURNS int LANGUAGE sql RETURN 1",
    "CREATE TABLE notifyops_private.t (x int)",
    "SET ROLE notifyops_test_owner",
    "SET SESSION AUTHORIZATION notifyops_test_owner",
    "SET session_replication_role = replica",
    "ALTER ROLE notifyops_test_web SUPERUSER",
]


@pytest.mark.parametrize("role", RUNTIME)
def test_no_runtime_role_forges_or_widens_its_rights(as_role: Callable[..., Owner], role: str) -> None:
    with as_role(role) as connection:
        for attack in FORGERIES:
            with pytest.raises(psycopg.Error) as caught:
                connection.execute(attack.encode())
            assert caught.value.sqlstate == "42501", attack


@pytest.mark.parametrize("role", ["worker", "web"])
def test_only_the_cluster_writes_django_qs_queue(as_role: Callable[..., Owner], role: str) -> None:
    insert = b"INSERT INTO notifyops_private.django_q_ormq (key, payload, lock) VALUES ('k', 'p', now())"
    with as_role(role, autocommit=False) as connection:
        if role == "worker":
            connection.execute(insert)
            with pytest.raises(psycopg.errors.CheckViolation):
                connection.execute(
                    "INSERT INTO notifyops_private.django_q_schedule (func, schedule_type, repeats) "
                    "VALUES ('os.system', 'O', 1)"
                )
        else:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(insert)
        connection.rollback()


def test_a_temporary_table_cannot_stand_in_for_one_of_ours(admin: Owner) -> None:
    with acting_as(admin, "writer"):
        admin.execute("CREATE TEMPORARY TABLE notifications_workspacegrant (role text, workspace text)")
        admin.execute("INSERT INTO notifications_workspacegrant VALUES (session_user, '*')")
        admin.execute("SET search_path = pg_temp, notifyops")
        call = "SELECT * FROM notifyops.enqueue('report_ready', 'r', 'ana@example.com', '{\"title\": \"Q\"}')"
        assert refused(admin, call) == "NO403"


FUNCTIONS = """
    SELECT p.proname, p.prosecdef, p.proconfig, n.nspname
    FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname IN ('notifyops', 'notifyops_private')
"""


def test_every_function_that_runs_as_the_owner_has_a_fixed_search_path(admin: Owner) -> None:
    rows = admin.execute(FUNCTIONS).fetchall()
    definers = {row[0]: row[2] for row in rows if row[1]}
    assert {"append_v1", "pick_v1", "enqueue", "cancel"} <= set(definers)
    for name, settings in definers.items():
        paths = [setting for setting in settings or () if setting.startswith("search_path=")]
        assert paths, name
        assert paths[0].endswith("pg_temp"), name


def test_no_shipped_function_takes_the_time_from_a_setting() -> None:
    shipped = "".join(path.read_text("utf-8") for path in SQL.glob("*.sql"))
    assert "current_setting" not in shipped
    assert shipped.count("clock_timestamp()") == (SQL / "clock.sql").read_text("utf-8").count("clock_timestamp()")


@pytest.mark.parametrize("role", ["reader", "writer"])
def test_the_reader_reads_views_without_addresses_and_the_writer_reads_nothing(
    as_role: Callable[..., Owner], role: str
) -> None:
    with as_role(role) as connection:
        for view in ("intents", "attempts", "log"):
            if role == "reader":
                cursor = connection.execute(f"SELECT * FROM notifyops.{view}".encode())
                columns = {column.name for column in cursor.description or ()}
                assert not columns & {"recipient", "to", "data", "subject", "body", "commitment", "salt"}
            else:
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    connection.execute(f"SELECT * FROM notifyops.{view}".encode())
        for table in ("intent", "content", "prepared", "logentry", "intentkey"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(f"SELECT * FROM notifyops_private.notifications_{table}".encode())


def test_personal_data_may_be_emptied_by_the_owner_and_only_emptied(admin: Owner, story: Story) -> None:
    with acting_as(admin, "owner"):
        content, prepared = "notifyops_private.notifications_content", "notifyops_private.notifications_prepared"
        assert refused(admin, f"UPDATE {content} SET recipient = NULL") == "NO403"
        admin.execute(f"UPDATE {content} SET recipient = NULL, data = NULL, erased_at = now()".encode())
        admin.execute(f"UPDATE {prepared} SET body = NULL, subject = NULL".encode())
        assert refused(admin, f"UPDATE {content} SET recipient = 'sam@example.com', erased_at = NULL") == "NO403"
        assert admin.execute("SELECT * FROM notifyops_private.verify_v1(0, 9999999)").fetchall() == []

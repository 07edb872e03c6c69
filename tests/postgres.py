"""The tests' own PostgreSQL: one server per run, thrown away after it; and the doors that only tests have."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg

from notifyops import children, dsn, embedded, postmaster, provision

SITE = "test"
DATABASE = "notifyops"
PASSWORD = "test-password"
# Nothing here outlives the run, so nothing needs to reach the disk.
FAST = (
    "fsync=off",
    "full_page_writes=off",
    "synchronous_commit=off",
    "max_connections=200",
    "max_prepared_transactions=4",
)

# Filled from the code by migrations and post_migrate. Copied once and put back where a test changed them: to run all
# of post_migrate, and to state every grant, after each test took a tenth of a second.
REFERENCE = (
    *("notifications_notificationtype", "notifications_provideraccount", "notifications_sitesecret"),
    *("notifications_siteadoption", "notifications_doorrole", "notifications_workspacegrant"),
    *("auth_group", "auth_group_permissions"),
)
TRUNCATE_ALL = """
CREATE SCHEMA IF NOT EXISTS notifyops_test;
CREATE OR REPLACE FUNCTION notifyops_test.truncate_all(wanted text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    guard record;
    filled text[] := '{}';
    changed text[] := '{}';
    has_row boolean;
    found regclass;
    guards text[] := '{}';
    named text;
BEGIN
    FOREACH named IN ARRAY wanted LOOP
        found := to_regclass(quote_ident(named));
        CONTINUE WHEN found IS NULL OR (SELECT relkind NOT IN ('r', 'p') FROM pg_class WHERE oid = found);
        IF to_regclass('notifyops_test.' || quote_ident(named)) IS NULL THEN
            EXECUTE format('SELECT EXISTS (SELECT 1 FROM %s)', found) INTO has_row;
        ELSE
            EXECUTE format('SELECT EXISTS ((TABLE %1$s EXCEPT TABLE notifyops_test.%2$I) UNION ALL
                            (TABLE notifyops_test.%2$I EXCEPT TABLE %1$s))', found, named) INTO has_row;
            IF has_row THEN changed := changed || named; END IF;
        END IF;
        IF has_row THEN filled := filled || found::text; END IF;
    END LOOP;
    IF filled = '{}' THEN RETURN; END IF;
    -- 32 is TRUNCATE in tgtype. Row triggers do not hear it.
    FOR guard IN
        SELECT t.tgrelid::regclass AS place, t.tgname AS name, t.tgenabled AS mode
        FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
        WHERE NOT t.tgisinternal AND t.tgtype & 32 <> 0 AND t.tgenabled <> 'D'
          AND c.relnamespace::regnamespace::text IN ('notifyops_private', 'notifyops')
          AND (t.tgrelid = ANY (filled::regclass[]) OR EXISTS (
              SELECT FROM pg_inherits h WHERE h.inhrelid = t.tgrelid AND h.inhparent = ANY (filled::regclass[]))
          -- CASCADE reaches what refers to them.
          OR EXISTS (SELECT FROM pg_constraint k WHERE k.conrelid = t.tgrelid AND k.contype = 'f'))
    LOOP
        EXECUTE format('ALTER TABLE %s DISABLE TRIGGER %I', guard.place, guard.name);
        guards := guards || format('ALTER TABLE %s ENABLE %s TRIGGER %I', guard.place,
            CASE guard.mode WHEN 'A' THEN 'ALWAYS' WHEN 'R' THEN 'REPLICA' ELSE '' END, guard.name);
    END LOOP;
    EXECUTE format('TRUNCATE %s CASCADE', array_to_string(filled, ', '));
    FOREACH named IN ARRAY guards LOOP EXECUTE named; END LOOP;
    FOREACH named IN ARRAY changed LOOP
        EXECUTE format('INSERT INTO notifyops_private.%1$I OVERRIDING SYSTEM VALUE TABLE notifyops_test.%1$I', named);
    END LOOP;
END $$;
"""
KEEP = """
DO $do$ BEGIN
    IF to_regclass('notifyops_private.{name}') IS NOT NULL AND to_regclass('notifyops_test.{name}') IS NULL THEN
        CREATE TABLE notifyops_test.{name} AS TABLE notifyops_private.{name};
    END IF;
END $do$;
"""

# The shipped function reads the server's clock and nothing else. This one adds what a session asks for, and so lets a
# test look at tomorrow.
VIRTUAL_CLOCK = """
DO $do$ BEGIN
    IF to_regprocedure('notifyops_private.clock_v1()') IS NOT NULL THEN
        CREATE OR REPLACE FUNCTION notifyops_private.clock_v1() RETURNS timestamptz LANGUAGE sql VOLATILE AS $$
            SELECT coalesce(nullif(current_setting('notifyops_test.now', true), '')::timestamptz, clock_timestamp())
                + coalesce(nullif(current_setting('notifyops_test.shift', true), ''), '0')::interval
        $$;
    END IF;
END $do$;
"""


@contextlib.contextmanager
def running_server() -> Iterator[str]:
    """Run a fresh server; give its administrator's address. It ends with us, even when we are killed."""
    given = os.environ.get("NOTIFYOPS_TEST_ADMIN_URL", "")
    if given:
        yield given
        return
    home = Path(tempfile.mkdtemp(prefix="notifyops-test-"))
    # The database's own user must pass through, and mkdtemp lets nobody in.
    home.chmod(0o711)
    port = free_port()
    server = embedded.prepare(home, password=PASSWORD, port=port)
    url = f"postgresql://postgres:{PASSWORD}@127.0.0.1:{port}/postgres"
    child = postmaster.start(server.command(log=home / "log", settings=FAST), admin_url=url, data=server.data)
    try:
        yield url
    finally:
        children.stop([child])
        postmaster.remove_sockets(server.sockets)
        shutil.rmtree(home, ignore_errors=True)


def free_port() -> int:
    """Give a port of loopback that nothing listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def provision_site(admin_url: str, *, site: str = SITE, database: str = DATABASE) -> dict[str, str]:
    """Make the site's roles and database; give each role's address."""
    names = dsn.role_names(site)
    with psycopg.connect(admin_url, autocommit=True) as admin:
        provision.make_roles(admin, names, dict.fromkeys(names, PASSWORD))
        provision.make_database(admin, database, names)
    return {role: role_url(admin_url, role, site=site, database=database) for role in names}


def role_url(admin_url: str, role: str, *, site: str = SITE, database: str = DATABASE) -> str:
    """Give the address of one role of the site in the named database."""
    return dsn.with_login(admin_url, user=dsn.role_names(site)[role], password=PASSWORD, database=database)


def install_test_doors(owner: psycopg.Connection[tuple[object, ...]]) -> None:
    """Install, as the owner, what no migration ships: the way to empty guarded tables, and the virtual clock."""
    owner.execute(TRUNCATE_ALL)
    for name in REFERENCE:
        owner.execute(KEEP.replace("{name}", name).encode())
    owner.execute(VIRTUAL_CLOCK)

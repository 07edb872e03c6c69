"""Roles on a server: made once, stated again, refused with a sentence."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from notifyops import dsn, hosting, provision
from notifyops.env import BadValue

SITE = "provision_test"
NAMES = dsn.role_names(SITE)


@pytest.fixture
def admin(admin_url: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(admin_url, autocommit=True) as connection:
        yield connection
        for name in ("limited", *NAMES.values()):
            if connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [name]).fetchone():
                connection.execute(f"DROP OWNED BY {name}; DROP ROLE {name}")


def test_roles_made_twice_are_the_same_and_can_log_in(
    admin: psycopg.Connection[Any], admin_url: str, tmp_path: Path
) -> None:
    first = hosting.use_server(tmp_path, site=SITE, url=admin_url, owner_url="")
    assert hosting.use_server(tmp_path, site=SITE, url=admin_url, owner_url="") == first
    assert set(first) == set(dsn.ROLES)
    for role, url in first.items():
        with psycopg.connect(url) as own:
            assert own.execute("SELECT current_user").fetchone() == (NAMES[role],)


def test_only_the_owner_makes_databases_and_nobody_makes_roles(
    admin: psycopg.Connection[Any], admin_url: str, tmp_path: Path
) -> None:
    hosting.use_server(tmp_path, site=SITE, url=admin_url, owner_url="")
    rows = admin.execute(
        "SELECT rolname, rolcreatedb, rolcreaterole, rolsuper, rolbypassrls, rolreplication FROM pg_roles "
        "WHERE rolname = ANY(%s)",
        [list(NAMES.values())],
    ).fetchall()
    assert len(rows) == 5
    for name, makes_databases, *powers in rows:
        assert makes_databases == (name == NAMES["owner"])
        assert not any(powers)


def test_a_role_that_may_not_make_roles_is_told_what_to_do(
    admin: psycopg.Connection[Any], admin_url: str, tmp_path: Path
) -> None:
    admin.execute("CREATE ROLE limited LOGIN PASSWORD 'limited'")
    url = dsn.with_login(admin_url, user="limited", password="limited")
    with pytest.raises(BadValue, match="The role limited .* may not make roles: use one that has CREATEROLE"):
        hosting.use_server(tmp_path, site=SITE, url=url, owner_url="")


def test_an_administrator_without_superpowers_is_enough(
    admin: psycopg.Connection[Any], admin_url: str, tmp_path: Path
) -> None:
    admin.execute("CREATE ROLE limited LOGIN CREATEROLE CREATEDB PASSWORD 'limited'")
    url = dsn.with_login(admin_url, user="limited", password="limited")
    admin.execute("CREATE DATABASE provision_test OWNER limited")
    try:
        mine = dsn.with_login(url, user="limited", password="limited", database="provision_test")
        urls = hosting.use_server(tmp_path, site=SITE, url=mine, owner_url="")
        with psycopg.connect(urls["owner"], autocommit=True) as owner:
            owner.execute("CREATE SCHEMA notifyops_private")
        assert hosting.use_server(tmp_path, site=SITE, url=mine, owner_url="") == urls
    finally:
        admin.execute("DROP DATABASE provision_test WITH (FORCE)")


def test_roles_of_another_home_are_not_taken_over(
    admin: psycopg.Connection[Any], admin_url: str, tmp_path: Path
) -> None:
    hosting.use_server(tmp_path / "one", site=SITE, url=admin_url, owner_url="")
    with pytest.raises(BadValue, match="has the role .* already, .*set NOTIFYOPS_SITE to another name"):
        hosting.use_server(tmp_path / "two", site=SITE, url=admin_url, owner_url="")


def test_an_owner_address_needs_roles_that_were_made_before(admin_url: str, tmp_path: Path) -> None:
    with pytest.raises(BadValue, match="run `python -m notifyops.hosting`"):
        hosting.use_server(tmp_path, site=SITE, url=admin_url, owner_url=admin_url)


def test_an_owner_address_is_used_as_it_is(admin: psycopg.Connection[Any], admin_url: str, tmp_path: Path) -> None:
    made = hosting.use_server(tmp_path, site=SITE, url=admin_url, owner_url="")
    given = hosting.use_server(tmp_path, site=SITE, url=made["web"], owner_url="postgresql://o@127.0.0.1/x")
    assert given == made | {"owner": "postgresql://o@127.0.0.1/x"}


def test_no_answer_is_a_sentence_without_the_password() -> None:
    with pytest.raises(BadValue, match="No database answers at 127.0.0.1:1/x: .*refused") as refusal:
        hosting.connect("postgresql://u:hunter2@127.0.0.1:1/x")
    assert "hunter2" not in str(refusal.value)


def test_every_role_looks_into_temporary_tables_last() -> None:
    assert {path[-1] for path in provision.SEARCH_PATH.values()} == {"pg_temp"}

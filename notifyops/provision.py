"""Make a site's roles and database on a server. Safe to run again: it states, it does not toggle."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import psycopg
from psycopg import sql

from notifyops.dsn import ROLES
from notifyops.env import BadValue

LEAST_VERSION: Final = 150000
# The private schema first for those who own or run it; callers see only the public one. pg_temp stands last, or a
# temporary table could take the place of one of ours.
PRIVATE_PATH: Final = ("notifyops_private", "pg_temp")
PUBLIC_PATH: Final = ("notifyops", "pg_temp")
# The writer stands for an application, whose own tables are where it looks first.
WRITER_PATH: Final = ("public", *PUBLIC_PATH)
SEARCH_PATH: Final = {role: {"writer": WRITER_PATH, "reader": PUBLIC_PATH}.get(role, PRIVATE_PATH) for role in ROLES}

Admin = psycopg.Connection[Any]


def check_server(admin: Admin) -> None:
    """Refuse a server that is too old, or a login that may not make roles."""
    version = admin.info.server_version
    if version < LEAST_VERSION:
        raise BadValue(
            f"The server of NOTIFYOPS_DATABASE_URL is PostgreSQL {version // 10000}: it must be 15 or newer."
        )
    row = admin.execute("SELECT rolsuper OR rolcreaterole FROM pg_roles WHERE rolname = current_user").fetchone()
    if not (row and row[0]):
        raise BadValue(
            f"The role {admin.info.user} of NOTIFYOPS_DATABASE_URL may not make roles: use one that has CREATEROLE, or "
            f"have an administrator run `python -m notifyops.hosting` with this NOTIFYOPS_HOME and set what it prints."
        )


def existing_roles(admin: Admin, names: Mapping[str, str]) -> list[str]:
    """Give those of the site's roles that the server has already."""
    rows = admin.execute(
        "SELECT rolname FROM pg_roles WHERE rolname = ANY(%s) ORDER BY rolname", [list(names.values())]
    )
    return [row[0] for row in rows]


def make_roles(admin: Admin, names: Mapping[str, str], passwords: Mapping[str, str]) -> None:
    """Create or correct the roles. Passwords are hashed here, so that no statement log ever shows one."""
    present = set(existing_roles(admin, names))
    for role, name in names.items():
        if name not in present:
            _run(admin, "CREATE ROLE {role}", role=sql.Identifier(name))
        verifier = admin.pgconn.encrypt_password(passwords[role].encode(), name.encode(), b"scram-sha-256").decode()
        # CREATEDB makes test databases; it opens no door into an existing one.
        rights = sql.SQL("CREATEDB" if role == "owner" else "NOCREATEDB")
        _run(
            admin,
            "ALTER ROLE {role} LOGIN {rights} PASSWORD {verifier}",
            role=sql.Identifier(name),
            rights=rights,
            verifier=sql.Literal(verifier),
        )
        path = sql.SQL(", ").join(sql.Identifier(part) for part in SEARCH_PATH[role])
        _run(admin, "ALTER ROLE {role} SET search_path = {path}", role=sql.Identifier(name), path=path)


def make_database(admin: Admin, database: str, names: Mapping[str, str]) -> None:
    """Create the site's own database, which only its roles may enter."""
    if not admin.execute("SELECT 1 FROM pg_database WHERE datname = %s", [database]).fetchone():
        _run(admin, "CREATE DATABASE {database} TEMPLATE template0 ENCODING 'UTF8'", database=sql.Identifier(database))
    _run(admin, "REVOKE CONNECT ON DATABASE {database} FROM PUBLIC", database=sql.Identifier(database))
    open_database(admin, database, names)


def welcome_application(admin: Admin, writer: str) -> None:
    """Let the writer role keep tables of its own in `public` of our own server's database, beside ours."""
    _run(admin, "GRANT USAGE, CREATE ON SCHEMA public TO {writer}", writer=sql.Identifier(writer))


def open_database(admin: Admin, database: str, names: Mapping[str, str]) -> None:
    """Let the roles into the database, and the owner make our schemas there."""
    everyone = sql.SQL(", ").join(sql.Identifier(name) for name in names.values())
    target = sql.Identifier(database)
    _run(admin, "GRANT CONNECT ON DATABASE {database} TO {everyone}", database=target, everyone=everyone)
    owner = sql.Identifier(names["owner"])
    _run(admin, "GRANT CREATE, TEMPORARY ON DATABASE {database} TO {owner}", database=target, owner=owner)


def _run(admin: Admin, text: str, **parts: sql.Composable) -> None:
    # Every text above is a literal of this file; names and values are quoted by psycopg.
    admin.execute(sql.SQL(text).format(**parts))

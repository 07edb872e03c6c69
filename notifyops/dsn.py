"""Read and write database addresses (libpq URIs), and name the roles of a site."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import quote, urlencode

import psycopg
from psycopg.conninfo import conninfo_to_dict

from notifyops.env import BadValue

ROLES: Final = ("owner", "worker", "web", "writer", "reader")
# Parts of an address that Django's settings name themselves; all others go to OPTIONS as they are.
NAMED: Final = {"host": "HOST", "port": "PORT", "dbname": "NAME", "user": "USER", "password": "PASSWORD"}


def role_names(site: str) -> dict[str, str]:
    """Give the database role of each part of a site; roles belong to the whole server, hence the site in the name."""
    return {role: f"notifyops_{site}_{role}" for role in ROLES}


def read(url: str, *, name: str) -> dict[str, str]:
    """Split an address into libpq's parameters; `name` is the variable it came from. Never repeats the address."""
    found: dict[str, str] = {}
    with contextlib.suppress(psycopg.Error, UnicodeError):
        found = {key: str(value) for key, value in conninfo_to_dict(url).items() if value is not None}
    if not found or not re.fullmatch(r"[0-9,]*", found.get("port", "")):
        # Without its cause: libpq quotes the whole address.
        raise BadValue(
            f"{name} cannot be used: it must be a PostgreSQL address such as "
            f"postgresql://user:password@127.0.0.1:5432/notifyops."
        )
    return found


def write(parts: Mapping[str, str]) -> str:
    """Join libpq's parameters into an address that psql, psycopg and every other client understand."""
    rest = {key: value for key, value in parts.items() if key not in NAMED}
    host = parts.get("host", "")
    # A socket's folder, or a list of hosts, has no place before the slash.
    if host.startswith("/") or "," in host or "," in parts.get("port", ""):
        rest |= {key: parts[key] for key in ("host", "port") if key in parts}
        place = ""
    else:
        place = (f"[{host}]" if ":" in host else host) + (f":{parts['port']}" if "port" in parts else "")
    login = quote(parts.get("user", ""), safe="")
    if parts.get("password"):
        login += ":" + quote(parts["password"], safe="")
    query = f"?{urlencode(rest, quote_via=quote)}" if rest else ""
    return f"postgresql://{login + '@' if login else ''}{place}/{quote(parts.get('dbname', ''), safe='')}{query}"


def with_login(url: str, *, user: str, password: str, database: str | None = None) -> str:
    """Give the same server's address for another role, and another database where one is named."""
    parts = read(url, name="the database's address") | {"user": user, "password": password}
    return write(parts | {"dbname": database} if database else parts)


def place(url: str) -> str:
    """Say where an address points without its password."""
    parts = read(url, name="the database's address")
    host = parts.get("host") or parts.get("hostaddr") or "the local socket"
    return f"{host}:{parts.get('port', '5432')}/{parts.get('dbname', parts.get('user', ''))}"

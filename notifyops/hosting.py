"""Get a database for the site: our own server, or the roles on somebody's PostgreSQL.

`python -m notifyops.hosting` does the latter alone, for servers: it makes the roles with the administrator's address
in NOTIFYOPS_DATABASE_URL, keeps their passwords in NOTIFYOPS_HOME and prints what to set where.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import psycopg

from notifyops import children, dsn, embedded, env, keep, postmaster, provision
from notifyops.env import BadValue
from notifyops.terminal import say

DATABASE: Final = "notifyops"
PASSWORDS: Final = "role-passwords"


def start_embedded(home: Path, *, site: str, log: Path) -> tuple[children.Child, embedded.Server, dict[str, str]]:
    """Start our own server and make the site there; give the running child and each role's address."""
    password = keep.token(home / "postgres-password")
    server = embedded.prepare(home, password=password, port=kept_port(home / "postgres-port"))
    admin_url = f"postgresql://postgres:{password}@127.0.0.1:{server.port}/postgres"
    child = postmaster.start(server.command(log=log), admin_url=admin_url, data=server.data)
    try:
        names, passwords = dsn.role_names(site), kept_passwords(home, site)
        with connect(admin_url) as admin:
            provision.make_roles(admin, names, passwords)
            provision.make_database(admin, DATABASE, names)
        with connect(admin_url.removesuffix("/postgres") + f"/{DATABASE}") as admin:
            provision.welcome_application(admin, names["writer"])
    except BaseException:
        children.stop([child])
        raise
    return child, server, role_urls(admin_url, names, passwords, database=DATABASE)


def use_server(home: Path, *, site: str, url: str, owner_url: str) -> dict[str, str]:
    """Give each role's address on somebody's server; `url` is an administrator's unless the roles are there."""
    names = dsn.role_names(site)
    parts = dsn.read(url, name="NOTIFYOPS_DATABASE_URL")
    database = parts.get("dbname") or parts.get("user", "")
    known = (home / PASSWORDS / site).exists()
    if owner_url:
        if not known:
            raise BadValue(
                "NOTIFYOPS_OWNER_DATABASE_URL is set, but the passwords of the other roles are not in NOTIFYOPS_HOME: "
                "run `python -m notifyops.hosting` with an administrator's address in NOTIFYOPS_DATABASE_URL first, "
                "or set only that address and let `make up` make the roles."
            )
        return {**role_urls(url, names, kept_passwords(home, site), database=database), "owner": owner_url}
    with connect(url) as admin:
        provision.check_server(admin)
        present = provision.existing_roles(admin, names)
        if present and not known:
            raise BadValue(
                f"The server has the role {present[0]} already, and its password is not in {home}: use the home that "
                f"made it, or set NOTIFYOPS_SITE to another name."
            )
        passwords = kept_passwords(home, site)
        provision.make_roles(admin, names, passwords)
        provision.open_database(admin, database, names)
    return role_urls(url, names, passwords, database=database)


def connect(url: str) -> psycopg.Connection[Any]:
    """Connect as the administrator; no answer is a sentence."""
    try:
        return psycopg.connect(url, autocommit=True, connect_timeout=10)
    except psycopg.OperationalError as error:
        # The first line says what went wrong; the next ones ask whether the server runs.
        said = str(error).strip().partition("\n")[0]
        raise BadValue(f"No database answers at {dsn.place(url)}: {said}") from error


def role_urls(url: str, names: Mapping[str, str], passwords: Mapping[str, str], *, database: str) -> dict[str, str]:
    """Give the address of each role on the same server."""
    return {
        role: dsn.with_login(url, user=name, password=passwords[role], database=database)
        for role, name in names.items()
    }


def kept_passwords(home: Path, site: str) -> dict[str, str]:
    """Give the roles' passwords, made on first use and kept in the home."""
    folder = home / PASSWORDS / site
    keep.folder(home)
    for each in (folder.parent, folder):
        each.mkdir(mode=0o700, exist_ok=True)
    return {role: keep.token(folder / role) for role in dsn.ROLES}


def kept_port(path: Path) -> int:
    """Give the port kept at `path` while it is free, else another free one, kept from now on."""
    try:
        port = int(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        port = 0
    if not 0 < port < 65536 or not is_free(port):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = int(probe.getsockname()[1])
        keep.folder(path.parent)
        keep.write(path, str(port))
    return port


def is_free(port: int) -> bool:
    """Tell whether we could listen on this port of loopback; a connection that is only fading away does not count."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def main() -> None:
    """Make the site's roles on the server of NOTIFYOPS_DATABASE_URL and print the variables of each kind of process."""
    variables = env.Environment(os.environ)
    site = variables.text("NOTIFYOPS_SITE", "local", pattern=env.SITE, allowed=env.SITE_SAYS)
    home = keep.folder(env.home(variables, checkout=Path(__file__).resolve().parent.parent))
    url = variables.secret("NOTIFYOPS_DATABASE_URL")
    if not url:
        raise BadValue("Set NOTIFYOPS_DATABASE_URL to the address of a role that may make roles.")
    urls = use_server(home, site=site, url=url, owner_url="")
    say("# for `manage.py migrate`\n" + f"NOTIFYOPS_OWNER_DATABASE_URL={urls['owner']}")
    say("# for `manage.py qcluster`\n" + f"NOTIFYOPS_DATABASE_URL={urls['worker']}")
    say("# for the web processes and all other commands\n" + f"NOTIFYOPS_DATABASE_URL={urls['web']}")
    say("# for applications that enqueue, and for those that only read\n" + f"{urls['writer']}\n{urls['reader']}")


if __name__ == "__main__":
    try:
        main()
    except BadValue as bad:
        sys.exit(str(bad))

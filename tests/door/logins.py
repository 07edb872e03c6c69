"""Take the part of each login inside one transaction, so that thousands of tries cost no commit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import sql

from tests.door.story import DOOR_ROLES


@dataclass(frozen=True, slots=True)
class Login:
    """A database role, and whether it names a person."""

    role: str
    actor: str | None = None

    @property
    def may_be(self) -> frozenset[str]:
        """Give whom the door takes it for."""
        return frozenset(who for who in DOOR_ROLES[self.role] if (who == "person") == bool(self.actor))


LOGINS = (
    Login("worker"),
    Login("worker", "user:olga"),
    Login("web"),
    Login("web", "user:olga"),
    Login("owner"),
    Login("owner", "user:lena"),
)


@contextmanager
def acting_as(admin: psycopg.Connection[Any], role: str) -> Iterator[None]:
    """Be that login until the block ends; only a superuser can, and session_user follows."""
    admin.execute(sql.SQL("SET SESSION AUTHORIZATION {}").format(sql.Identifier(f"notifyops_test_{role}")))
    try:
        yield
    finally:
        admin.execute("RESET SESSION AUTHORIZATION")

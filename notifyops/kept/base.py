"""Django's PostgreSQL backend with a pool of ours in the place of psycopg's."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db.backends.base.base import NO_DB_ALIAS
from django.db.backends.postgresql import base

from notifyops.kept.pool import Kept


class DatabaseWrapper(base.DatabaseWrapper):
    """Takes its connections from the process's pool where `OPTIONS["pool"]` names its size, and gives them back."""

    _connection_pools: ClassVar[dict[str, Any]] = {}

    @property
    def pool(self) -> Kept | None:
        """Give the process's pool; None where none is wanted.

        As Django's own: two threads may make one at first, and the first that is set wins, as none is open yet.
        """
        size = self.settings_dict["OPTIONS"].get("pool")
        if not size or self.alias == NO_DB_ALIAS:
            return None
        if self.alias not in self._connection_pools:
            wanted = self.get_connection_params() | {"autocommit": True}
            configure = self._configure_connection  # type: ignore[attr-defined]
            self._connection_pools.setdefault(self.alias, Kept(wanted, configure, size=size))
        kept: Kept = self._connection_pools[self.alias]
        return kept

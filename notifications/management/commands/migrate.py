"""`migrate`, as the tables' owner, between making the schemas and stating the grants."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.core.management.commands import migrate
from django.db import connections

from notifications import grants


class Command(migrate.Command):
    """Migrate as the owner; the runtime roles can make no table and may not even try."""

    def handle(self, *args: Any, **options: Any) -> None:
        """Run Django's command on the alias `owner`; a run that changes nothing states no grant either."""
        if options["database"] == "default":
            if "owner" not in settings.DATABASES:
                raise CommandError(
                    "Migrations run as the tables' owner, which is not known here: set NOTIFYOPS_OWNER_DATABASE_URL, "
                    "or run this where `make up` runs."
                )
            options["database"] = "owner"
        connection = connections[options["database"]]
        only_looks = options["plan"] or options["check_unapplied"]
        if not only_looks:
            grants.make_schemas(connection)
        super().handle(*args, **options)
        if not only_looks:
            grants.apply(connection)

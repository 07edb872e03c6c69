"""Run a management command on the installation that NOTIFYOPS_HOME names."""

from __future__ import annotations

import os
import sys
from typing import Final

# Who each command is in the database. All others act as the console does.
ROLE_OF_COMMAND: Final = {"qcluster": "worker"}


def main(argv: list[str]) -> None:
    """Run the command of `argv`; a setting or a database that is missing ends it with one sentence."""
    command = argv[1] if len(argv) > 1 else ""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "notifyops.settings")
    os.environ.setdefault("NOTIFYOPS_ROLE", ROLE_OF_COMMAND.get(command, "web"))
    if command not in ROLE_OF_COMMAND:
        os.environ.setdefault("NOTIFYOPS_PROCESS", "command")
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line
    from django.db.utils import OperationalError

    from notifyops.env import BadValue

    try:
        # Django hides a failure of the settings until later and then reports another; so read them first.
        from django.conf import settings

        places = settings.NOTIFYOPS_DATABASE_PLACE
        execute_from_command_line(argv)
    except (BadValue, ImproperlyConfigured) as bad:
        sys.exit(str(bad))
    except OperationalError as error:
        if getattr(error.__cause__, "sqlstate", None) is not None:
            raise
        sys.exit(f"No database answers at {places}: start it with `make up`, or set NOTIFYOPS_DATABASE_URL. ({error})")


if __name__ == "__main__":
    main(sys.argv)

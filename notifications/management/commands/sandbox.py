"""`manage.py sandbox`: the local stand-in for the Resend API, in the foreground until it is told to end."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from notifications.command_line import refusals_as_sentences
from notifications.sandbox.options import HELP, add_options, run
from notifications.sandbox.refusals import Misused


class Command(BaseCommand):
    help = HELP
    # It is the outside world: it must start where the database does not.
    requires_system_checks = ()
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_options(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        with refusals_as_sentences(self, traceback=options.get("traceback", False)):
            try:
                run(options, self._say)
            except Misused as misuse:
                raise CommandError(str(misuse)) from None

    def _say(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()

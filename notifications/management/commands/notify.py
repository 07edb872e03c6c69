"""`manage.py notify VERB …`: a thin dispatcher; each verb lives in notifications/cli/ and is imported when used."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from importlib import import_module
from types import ModuleType
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandParser

from notifications.cli.terminal import Refused, Terminal
from notifications.command_line import refuse

# Verb → what `notify --help` says. The module is cli/<verb>.py, with `_file` where the verb is a word of Python.
VERBS: Final[dict[str, str]] = {
    "enqueue": "owe one notification",
    "import": "owe many, from JSON Lines or CSV",
    "show": "one notification with its log",
    "explain": "the story of one notification in plain words",
    "tail": "the newest log entries of all notifications",
    "types": "the notification types of this installation",
    "preview": "render a type with data; sends and writes nothing",
    "status": "counts, ages, rates, workers, circuits",
    "info": "where the running installation is",
    "grant": "let a database role enqueue in a workspace",
    "pause": "keep a type, an account or a workspace from being sent for a while",
    "resume": "end a pause before its time",
    "pauses": "what is paused, until when and why",
    "close-circuit": "let an account be called again that waits for a person",
    "adopt-site": "let another site's database send for this one",
    "recover": "after a restore: ask about what may have been sent, then send again",
    "runs": "long work: what runs, where it stands, pause or cancel it",
    "token": "make, list and revoke tokens of the HTTP API",
    "outcomes": "what became of notifications, in order, from a position on",
    "endpoint": "who gets the outcomes as signed webhooks",
    "webhook-secret": "the secret by which one endpoint verifies what an account sends it",
    "vapid-key": "the key that pages subscribe to web push with; makes and rotates it",
    "receipts": "read back from the provider what never reached us",
    "verify": "recompute the chains of the log",
    "doctor": "check every invariant",
    "demo": "an answer is lost after acceptance: one message all the same",
}


class VerbParser(CommandParser):
    """The parser of one verb; it learns its arguments when the verb is chosen, so only that module is imported."""

    verb = ""
    is_filled = False

    def parse_known_args(  # type: ignore[override]
        self, args: list[str] | None = None, namespace: Namespace | None = None
    ) -> tuple[Namespace, list[str]]:
        """Fill the parser, then parse."""
        if not self.is_filled:
            self.is_filled = True
            module_of(self.verb).add_arguments(self)
        return super().parse_known_args(args, namespace)


def module_of(verb: str) -> ModuleType:
    """Import the module of a verb."""
    return import_module(f"notifications.cli.{'import_file' if verb == 'import' else verb.replace('-', '_')}")


class Command(BaseCommand):
    """Runs one verb. A refusal is a sentence on stderr and exit code 1."""

    help = "Notifications from the command line."
    # A person who asks what is wrong must get an answer where a check fails, too.
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        """Offer the verbs."""
        verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB", parser_class=VerbParser)
        for verb, sentence in VERBS.items():
            chosen = verbs.add_parser(verb, help=sentence, description=f"{sentence[0].upper()}{sentence[1:]}.")
            chosen.verb = verb

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the verb, and end with its exit code where that is not 0."""
        self.stdout.ending = self.stderr.ending = ""
        terminal = Terminal(self.stdout, self.stderr, sys.stdin)
        try:
            code = module_of(options["verb"]).run(options, terminal)
        except Refused as refusal:
            refuse(self.stderr, str(refusal))
        except KeyboardInterrupt:
            code = 130
        except BrokenPipeError:
            # The reader of a pipe had enough (`notify tail | head`): no fault, and nothing can be written any more.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = 0
        if code:
            sys.exit(code)

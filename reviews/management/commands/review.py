"""`manage.py review VERB …`: the console's decisions from a terminal, under the same rules and on the same record."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any, Final
from uuid import uuid4

from django.core.management.base import BaseCommand, CommandError, CommandParser

from notifications.command_line import LARGEST, refusals_as_sentences
from reviews import actions, filter_options, terminal, terminal_team
from reviews.bulk import command
from reviews.models import VERBS
from reviews.person import from_host
from reviews.reasons import CODES
from reviews.record import Order
from reviews.refusals import Refused

_HELP = {
    "retry": "order one more attempt",
    "undo": "take back a retry that no worker has taken yet",
    "query": "ask the provider whether it has the message",
    "adopt": "take the provider's word that it has the message",
    "approve": "release what waits for approval",
    "decline": "say no to what waits for approval, or to a resend that was asked for",
    "correct": "owe it to another address; reads the address from stdin unless --to gives it",
    "resend": "ask for a second message where nobody can tell; a second lead approves it",
    "resume": "take up again what was set aside",
    "wait": "set a case aside for some minutes; then the provider is asked, where it may have the message",
    "withdraw": "take it back, and with --erase its content too",
    "close": "settle the case without another attempt",
    "reopen": "bring a closed case back into review",
    "note": "write a remark that stays for ever",
    "unblock": "lift the block of its address, after a bounce or where an endpoint was gone",
    "take": "take a case for 15 minutes; others are refused meanwhile",
    "release": "give an own case back",
    "take_over": "take over a case that somebody else has taken, with a reason",
}
_OF_THE_TEAM: Final[dict[str, Callable[[dict[str, Any]], tuple[Any, str]]]] = {
    "next": terminal_team.take_next,
    "log": terminal_team.logged,
    "stats": lambda _options: terminal_team.figures(),
    "views": terminal_team.views,
}


# Which option mends a field that a refusal names.
_OPTIONS = {"reason_code": " (--reason-code)", "reason": " (--reason)"}


class Command(BaseCommand):
    """Whoever may run it on the host decides with a lead's permissions, recorded as cli:<user>@<host>."""

    help = "Lists, shows and decides the cases that need review."

    def add_arguments(self, parser: CommandParser) -> None:
        """Give each verb its own arguments."""
        verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
        listing = verbs.add_parser("list", help="the queue, what stops being safe first")
        filter_options.add(listing)
        listing.add_argument("--limit", type=int, default=50, help="how many at most (1 to 1000; default 50)")
        listing.add_argument("--json", action="store_true", help="print one JSON array")
        _with_key(verbs.add_parser("show", help="one case, and what may be done with it"))
        command.add_arguments(verbs)
        for verb in VERBS:
            one = _with_key(verbs.add_parser(verb, help=_HELP[verb]))
            codes = f"one of: {', '.join(CODES[verb])}" if CODES[verb] else "not used"
            one.add_argument("--reason-code", default="", help=codes)
            one.add_argument("--reason", default="", help="10 to 500 characters; people by ID, no addresses")
            _with_details(one, verb)
            one.add_argument("--seq", type=int, help="refuse if the case has moved beyond this version")
        terminal_team.add_parsers(verbs)

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the verb; a refusal is a sentence on stderr and exit code 1."""
        with refusals_as_sentences(self, traceback=options.get("traceback", False)):
            try:
                answer, text = self._run(options)
            except Refused as refused:
                raise CommandError(str(refused) + _OPTIONS.get(refused.field, "")) from refused
        if options["json"] and answer is not None:
            self.stdout.write(json.dumps(answer, ensure_ascii=False, indent=2, default=terminal.as_json))
        else:
            self.stdout.write(text)

    def _run(self, options: dict[str, Any]) -> tuple[Any, str]:
        if options["verb"] == "list":
            rows, count = terminal.listed(options)
            if count != str(len(rows)):
                self.stderr.write(f"{len(rows)} of {count} cases; --limit shows more.")
            for said in (terminal.warning(), "" if rows else terminal.doubt(options)):
                if said:
                    self.stderr.write(said)
            return rows, terminal.table(rows)
        if options["verb"] in ("bulk", "groups"):
            return command.run(options)
        if options["verb"] in _OF_THE_TEAM:
            return _OF_THE_TEAM[options["verb"]](options)
        intent = terminal.find(options["key"], options["workspace"])
        if options["verb"] == "show":
            shown = terminal.shown(intent)
            return shown, terminal.lines(shown)
        return self._decide(intent.pk, intent.seq, options)

    def _decide(self, intent_id: int, seq: int, options: dict[str, Any]) -> tuple[Any, str]:
        terminal.check_number("--seq", options["seq"], 0, LARGEST)
        order = Order(
            token=uuid4(),
            seq=seq if options["seq"] is None else options["seq"],
            reason_code=options["reason_code"],
            reason=options["reason"],
            confirmed=options.get("confirm", False),
            address=self._address(options),
            typed=options.get("report_id", ""),
            minutes=options.get("minutes"),
            erase=options.get("erase", False),
        )
        done = actions.perform(options["verb"], intent_id, order, from_host())
        answer = terminal.done(done)
        return answer, f"{answer['notification_id']}: {answer['sentence']} State: {answer['state']}."

    def _address(self, options: dict[str, Any]) -> str:
        """Give the corrected address: from stdin, so that no list of processes and no history of a shell shows it."""
        if options["verb"] != "correct":
            return ""
        return str(options["to"]) if options["to"] != "-" else sys.stdin.readline().strip()


def _with_details(parser: CommandParser, verb: str) -> None:
    """Add what only one verb asks for."""
    if verb in ("retry", "resend", "approve"):
        parser.add_argument("--confirm", action="store_true", help="you have read what it may cost: a second message")
    if verb == "correct":
        parser.add_argument("--to", default="-", help="the address; “-”, the default, reads one line from stdin")
    if verb == "resend":
        parser.add_argument("--report-id", default="", help="the report ID once more, to be sure of the case")
    if verb == "wait":
        parser.add_argument("--minutes", type=int, help="for how long: 5 to 10080, which is seven days")
    if verb == "withdraw":
        parser.add_argument("--erase", action="store_true", help="erase address, data and prepared bytes for good")


def _with_key(parser: CommandParser) -> CommandParser:
    parser.add_argument("key", metavar="KEY", help="notification ID, or the number in the case's address")
    parser.add_argument("--workspace", default="", help="the workspace of the ID (default: the empty one)")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    return parser

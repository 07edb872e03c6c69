"""`notify demo`: the answer to the first attempt is lost after the provider took the message; what happens then?

Played on the running installation: its tables, its loop, its sandbox. Each line is printed for an ended attempt: what
became of it, how many attempts there were, and how many messages the provider has taken by then.
"""

from __future__ import annotations

import json
import re
import secrets
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from typing import Any, Final

from django.conf import settings
from django.core.management.base import CommandParser
from django.db import DatabaseError, transaction

from notifications import outbox
from notifications.cli.terminal import Refused, Terminal, check_number, rows
from notifications.states import State

TYPE: Final = "demo_report_ready"
RECIPIENT: Final = "olga@example.com"
LONGEST_S: Final = 60
LOOK_EVERY_S: Final = 0.05

WHY_WRONG: Final = (
    "The second attempt came under a new key, so the provider could not know that it had taken the message already: "
    "its reader gets two. Retry under the same key with the same bytes, as the loop does by itself."
)
ENDED: Final = """
SELECT to_state, attempt FROM notifyops.log
WHERE intent_id = %s AND kind IN ('result', 'lease_lost') ORDER BY seq
"""
STANDS: Final = "SELECT status FROM notifyops.intents WHERE intent_id = %s"


def add_arguments(parser: CommandParser) -> None:
    """Take whether to play the mistake instead."""
    parser.add_argument(
        "--new-key-each-attempt",
        action="store_true",
        help="do what a caller does who does not trust the retry: send again under a new key",
    )
    parser.add_argument("--give-up-after", type=int, default=LONGEST_S, metavar="SECONDS", help=f"default: {LONGEST_S}")


def run(options: dict[str, Any], terminal: Terminal) -> int:
    """Play the story; exit code 0 where it ended as it must."""
    check_number("--give-up-after", options["give_up_after"], 1, 3600)
    running = _running()
    sandbox = Sandbox(running.sandbox_control_url)
    stamp = f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{secrets.token_hex(3)}"
    story = Story(f"demo-{stamp}", sandbox, terminal, options["give_up_after"], running.logs)
    try:
        (story.play_naively if options["new_key_each_attempt"] else story.play)()
    except outbox.EnqueueError as refusal:
        raise Refused(str(refusal)) from None
    except DatabaseError as error:
        raise Refused(f"The installation's database failed: {str(error).strip().splitlines()[0]}") from None
    return 0


def _running() -> Any:
    running = settings.NOTIFYOPS_INSTALLATION
    if running is None:
        raise Refused(
            f"No installation runs in {settings.NOTIFYOPS_HOME}, and the demo plays on a running one. "
            f"Start it with `make up`, or set NOTIFYOPS_HOME."
        )
    if settings.NOTIFYOPS_SITE_MODE != "sandbox":
        raise Refused(
            f"NOTIFYOPS_SITE_MODE is {settings.NOTIFYOPS_SITE_MODE}: the demo plays only in mode sandbox, "
            f"where no real person can be mailed."
        )
    return running


@dataclass(frozen=True, slots=True)
class Sandbox:
    """The installation's sandbox, by its control plane."""

    control_url: str

    def lose_first_answer(self, key: str) -> None:
        """Have the next answer to this key lost after the message was taken."""
        self._ask("faults", {"stage": "after_accept", "kind": "close", "match": re.escape(key) + "$", "times": 1})

    def seen(self, key: str) -> dict[str, Any]:
        """Give what was really taken under a key."""
        return self._ask("ledger", {"key": key}, method="GET")

    def _ask(self, name: str, order: dict[str, Any], *, method: str = "POST") -> dict[str, Any]:
        request = urllib.request.Request(  # noqa: S310 - the installation's own address
            f"{self.control_url}/{name}",
            data=json.dumps(order).encode(),
            headers={"Content-Type": "application/json"},
            method=method,
        )
        # Never through a proxy of the environment: the sandbox is on loopback.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=5) as answer:
                found: dict[str, Any] = json.load(answer)
        except (OSError, ValueError) as error:
            detail = error.read().decode("utf-8", "replace") if isinstance(error, urllib.error.HTTPError) else error
            raise Refused(f"The sandbox at {self.control_url} does not do what the demo needs: {detail}") from None
        return found


@dataclass(slots=True)
class Story:
    """One run of the demo. `keys` are those that were sent under, by intent."""

    report_id: str
    sandbox: Sandbox
    terminal: Terminal
    longest_s: int
    logs: str
    keys: dict[int, str] = field(default_factory=dict)
    began: float = field(default_factory=time.monotonic)

    def play(self) -> None:
        """Owe one notification, watch it to its end, and owe it once more: the third time nothing is to be done."""
        key = f"report-ready/{self.report_id}"
        self.sandbox.lose_first_answer(key)
        owed = self._owe(self.report_id, key)
        self._watch(owed.id, until=State.ACCEPTED)
        again = self._owe(self.report_id, key)
        if again.created or again.state != State.ACCEPTED:
            raise Refused(f"{key} was accepted, yet it was taken for a new one: state {again.state}.")
        self._count()

    def play_naively(self) -> None:
        """Owe it anew under another key as soon as the first attempt seems to have failed."""
        key = f"report-ready/{self.report_id}"
        self.sandbox.lose_first_answer(key)
        owed = self._owe(self.report_id, key)
        self._watch(owed.id, until=State.RETRY)
        # Another report id as well: the intake knows one report and gives its notification back, whatever the key.
        with transaction.atomic():
            outbox.cancel(key, "the caller thinks that it failed")
            second = self._owe(f"{self.report_id}/2", f"{key}/2")
        self._watch(second.id, until=State.ACCEPTED, before=1)
        self._line(WHY_WRONG)
        self._count()

    def _owe(self, report_id: str, key: str) -> outbox.Enqueued:
        with transaction.atomic():
            owed = outbox.enqueue(TYPE, report_id, RECIPIENT, {"title": "Demo report"}, notification_id=key)
        self.keys[owed.id] = key
        return owed

    def _watch(self, intent_id: int, *, until: State, before: int = 0) -> None:
        """Print a line for each attempt as it ends, until one ends as wished; `before` attempts were other keys'."""
        printed = 0
        while True:
            for ended in rows(ENDED, [intent_id])[printed:]:
                printed += 1
                self._line(f"{ended['to_state']} {ended['attempt'] + before} {self._taken()}")
                self._check_called(intent_id)
                if ended["to_state"] == until:
                    return
            stands = rows(STANDS, [intent_id])[0]["status"]
            if stands in (State.NEEDS_REVIEW, State.CLOSED, State.CANCELLED):
                raise Refused(f"{self.keys[intent_id]} ended as {stands}: see manage.py notify show.")
            if time.monotonic() > self.began + self.longest_s:
                raise Refused(
                    f"{self.keys[intent_id]} is still {stands} after {self.longest_s} s. Is the cluster running? "
                    f"See manage.py notify status, and qcluster's log in {self.logs}."
                )
            time.sleep(LOOK_EVERY_S)

    def _check_called(self, intent_id: int) -> None:
        if not self.sandbox.seen(self.keys[intent_id])["http_requests"]:
            raise Refused(
                f"The cluster does not deliver to this installation's sandbox ({self.sandbox.control_url}): "
                f"leave NOTIFYOPS_RESEND_BASE_URL unset, and start again."
            )

    def _taken(self) -> int:
        return sum(int(self.sandbox.seen(key)["accepted"]) for key in self.keys.values())

    def _count(self) -> None:
        self._line(f"provider messages: {self._taken()}")

    def _line(self, text: str) -> None:
        self.terminal.line(text)
        self.terminal.out.flush()

"""`notify receipts catch-up`: read back from the provider what never reached us."""

from __future__ import annotations

from dataclasses import asdict
from datetime import timedelta
from typing import Any, Final

from django.conf import settings
from django.core.management.base import CommandParser
from django.utils import timezone

from notifications import wiring
from notifications.cli.terminal import Refused, Terminal, check_number, counted
from notifications.models import ProviderAccount
from notifications.providers.resend_events import EventsUnavailable
from notifications.receipts.catch_up import MOST, CaughtUp, NoWebhook, catch_up

HOURS: Final = 48
# Resend keeps events for 30 days (docs: account quotas and limits).
LONGEST_HOURS: Final = 30 * 24


def add_arguments(parser: CommandParser) -> None:
    """Take which account, how far back, and how many at most."""
    parser.add_argument("what", choices=["catch-up"], help="fetch the events that are missing here")
    parser.add_argument("--account", default="resend", help="the account's name (resend)")
    parser.add_argument("--hours", type=float, default=HOURS, help=f"how far back to look ({HOURS})")
    parser.add_argument("--most", type=int, default=MOST, help=f"how many missing events to fetch at most ({MOST})")
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def run(options: dict[str, Any], terminal: Terminal) -> int:
    """Fetch and keep them; the cluster's chores apply them within seconds."""
    account, hours, most = _asked(options)
    since = timezone.now() - timedelta(hours=hours)
    try:
        api = wiring.events_api(account)
        found = catch_up(api, account, since=since, most=most, site=settings.NOTIFYOPS_SITE)
    except wiring.Unusable as refusal:
        raise Refused(str(refusal)) from None
    except NoWebhook as refusal:
        raise Refused(
            f"The provider has no webhook whose address ends with {refusal}. Add one there: see docs/receipts.md."
        ) from None
    except EventsUnavailable as refusal:
        raise Refused(f"{refusal} What was fetched before is kept; run it again to go on.") from None
    _print(found, options, terminal)
    return 0


def _asked(options: dict[str, Any]) -> tuple[ProviderAccount, float, int]:
    hours, most = options["hours"], options["most"]
    if not 0 < hours <= LONGEST_HOURS:
        raise Refused(
            f"--hours is {hours:g}: it must be above 0 and at most {LONGEST_HOURS}, as far as events are kept."
        )
    check_number("--most", most, 1, 100_000)
    account = ProviderAccount.objects.filter(name=options["account"]).first()
    if account is None:
        names = ", ".join(ProviderAccount.objects.order_by("name").values_list("name", flat=True))
        raise Refused(f"No account {options['account']!r}. There are: {names}.")
    return account, hours, most


def _print(found: CaughtUp, options: dict[str, Any], terminal: Terminal) -> None:
    if options["json"]:
        terminal.json(asdict(found))
        return
    terminal.line(
        f"{counted(found.listed, 'event', 'events')} listed, {counted(found.known, 'was', 'were')} here, "
        f"{counted(found.new, 'is', 'are')} new"
    )
    if found.cut:
        terminal.line(f"{options['most']} is the most of one run: run it again to go on.")

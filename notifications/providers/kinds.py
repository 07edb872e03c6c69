"""Which adapters there are: the one place where a kind of account gets its adapter.

A kind of this release is an entry of `BUILT_IN`. One of another package is an entry point of the group
`notifyops.providers` whose object is a Kind (docs/add-a-provider.md); it can replace none of ours.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Final

from notifications.providers.base import Lookup, Provider
from notifications.providers.console import ConsoleProvider
from notifications.providers.esps import ESPS, Esp
from notifications.providers.fence import Network
from notifications.providers.resend import ResendProvider
from notifications.providers.resend_lookup import ResendLookup
from notifications.providers.smtp import SmtpProvider
from notifications.providers.telegram import TelegramProvider
from notifications.providers.twilio import Reports, TwilioProvider
from notifications.providers.twilio_lookup import TwilioLookup
from notifications.providers.webhook import Pool, WebhookProvider
from notifications.providers.webpush import LONGEST_TTL_S, Reach, WebPushProvider

logger = logging.getLogger(__name__)

GROUP: Final = "notifyops.providers"


@dataclass(frozen=True, slots=True)
class Setup:
    """What one account gives its adapter. `secret` is the secret itself, empty where the account names none.

    `networks`: those of our own that an adapter may call where others choose the host. `reports_to`: our address for
    what the provider says later of this account's messages, or empty; `most_parts`: of one text message. `ttl_s`: how
    long a push service keeps what cannot be shown yet.
    """

    base_url: str
    secret: str
    connections: int = 32
    networks: tuple[Network, ...] = ()
    reports_to: str = ""
    most_parts: int = 3
    ttl_s: int = LONGEST_TTL_S


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of account: how its adapter is made. Whatever makes one raises ValueError with a sentence.

    `lookup` makes what asks about messages, with the key for reading as its secret; None where nothing can be asked.
    `has_sandbox`: the settings know its real address from its stand-in's; any other kind may call only this machine
    where a site must reach nobody. `development`: it reaches nobody, so it is refused where people wait for messages.
    `calls_recipients`: recipients are addresses to call; a base URL is called in their place, and in mode live none is
    needed.
    """

    name: str
    provider: Callable[[Setup], Provider]
    lookup: Callable[[Setup], Lookup] | None = None
    needs_secret: bool = True
    needs_url: bool = True
    has_sandbox: bool = False
    development: bool = False
    calls_recipients: bool = False


def _resend(setup: Setup) -> Provider:
    return ResendProvider(base_url=setup.base_url, api_key=setup.secret, connections=setup.connections)


def _resend_lookup(setup: Setup) -> Lookup:
    return ResendLookup(base_url=setup.base_url, api_key=setup.secret)


def _smtp(setup: Setup) -> Provider:
    return SmtpProvider(base_url=setup.base_url, password=setup.secret, connections=setup.connections)


def _webhook(setup: Setup) -> Provider:
    pool = Pool(setup.connections, setup.networks)
    return WebhookProvider(secrets=setup.secret, stand_in=setup.base_url, pool=pool)


def _twilio(setup: Setup) -> Provider:
    reports = Reports(setup.reports_to, setup.most_parts)
    return TwilioProvider(base_url=setup.base_url, secret=setup.secret, reports=reports, connections=setup.connections)


def _twilio_lookup(setup: Setup) -> Lookup:
    return TwilioLookup(base_url=setup.base_url, secret=setup.secret)


def _telegram(setup: Setup) -> Provider:
    return TelegramProvider(base_url=setup.base_url, token=setup.secret, connections=setup.connections)


def _webpush(setup: Setup) -> Provider:
    reach = Reach(setup.connections, setup.networks, setup.ttl_s)
    return WebPushProvider(secret=setup.secret, stand_in=setup.base_url, reach=reach)


def _console(setup: Setup) -> Provider:
    return ConsoleProvider()


def anymail_kind(esp: Esp) -> Kind:
    """Give the kind of account of one mail service; a package can make one of a backend of its own."""

    def provider(setup: Setup) -> Provider:
        # Imported where an account is of such a kind: anymail and requests are no small matter to others.
        from notifications.providers.anymail import AnymailProvider

        return AnymailProvider(esp, base_url=setup.base_url, secret=setup.secret, connections=setup.connections)

    return Kind(esp.name, provider, _postmark_lookup(esp) if esp.name == "postmark" else None)


def _postmark_lookup(esp: Esp) -> Callable[[Setup], Lookup]:
    def lookup(setup: Setup) -> Lookup:
        from notifications.providers.anymail import base_and_options, parts_of
        from notifications.providers.postmark_lookup import PostmarkLookup

        base, options = base_and_options(esp, setup.base_url)
        (token,) = parts_of(esp, setup.secret)
        return PostmarkLookup(esp, base, token, options.get("message_stream"))

    return lookup


BUILT_IN: Final = (
    Kind("resend", _resend, _resend_lookup, has_sandbox=True),
    Kind("smtp", _smtp, needs_secret=False),
    Kind("webhook", _webhook, calls_recipients=True),
    Kind("twilio", _twilio, _twilio_lookup),
    Kind("telegram", _telegram),
    Kind("webpush", _webpush, calls_recipients=True),
    Kind("console", _console, needs_secret=False, needs_url=False, development=True),
    *map(anymail_kind, ESPS),
)


@functools.cache
def kinds() -> Mapping[str, Kind]:
    """Give every kind by its name: ours, and those that installed packages bring.

    A package that cannot be loaded is left out and named in the log: it must not stop the accounts of other kinds.
    """
    found = {}
    for entry in entry_points(group=GROUP):
        try:
            kind = entry.load()
        except Exception as error:  # foreign code may raise anything while it is imported
            logger.error(
                "%s cannot be loaded: %s", entry.value, type(error).__name__, extra={"action": "kind_unusable"}
            )
            continue
        if isinstance(kind, Kind):
            found[kind.name] = kind
        else:
            logger.error("%s is no Kind", entry.value, extra={"action": "kind_unusable"})
    return found | {kind.name: kind for kind in BUILT_IN}

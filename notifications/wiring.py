"""The one reader of settings: builds from them what the layers below work with."""

from __future__ import annotations

import ipaddress
import logging
import os
import re
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.db import connection
from psycopg.conninfo import make_conninfo

from notifications.delivery.reconcile import Desk
from notifications.delivery.shop import Account, Rules, Shop
from notifications.models import ProviderAccount
from notifications.providers.base import Lookup, LookupBudget, Provider
from notifications.providers.fence import EVERYTHING, Network
from notifications.providers.kinds import Kind, Setup, kinds
from notifications.providers.resend_events import EventsApi
from notifications.providers.standard_webhooks import endpoint_key, key_of, keys_of, secret_of

logger = logging.getLogger(__name__)


def rules() -> Rules:
    """Give the installation's numbers."""
    return Rules(
        site=settings.NOTIFYOPS_SITE,
        lease_s=settings.NOTIFYOPS_LEASE_S,
        timeout_s=settings.NOTIFYOPS_PROVIDER_TIMEOUT_S,
        retry_delays_s=tuple(settings.NOTIFYOPS_RETRY_DELAYS_S),
        retry_after_cap_s=settings.NOTIFYOPS_RETRY_AFTER_CAP_S,
        window_s=settings.NOTIFYOPS_KEY_WINDOW_S,
        margin_s=settings.NOTIFYOPS_KEY_MARGIN_S,
        concurrency=settings.NOTIFYOPS_CONCURRENCY,
        poll_s=settings.NOTIFYOPS_POLL_MAX_MS / 1000,
        config_failures=settings.NOTIFYOPS_BREAKER_FAILURES,
        outage_failures=settings.NOTIFYOPS_BREAKER_FAILURES,
        cooldown_s=settings.NOTIFYOPS_BREAKER_COOLDOWN_S,
        sends=settings.NOTIFYOPS_SITE_MODE != "off",
        site_mode=settings.NOTIFYOPS_SITE_MODE,
        redirect_to=settings.NOTIFYOPS_REDIRECT_TO,
        redirect_phone=settings.NOTIFYOPS_REDIRECT_PHONE,
        redirect_chat=settings.NOTIFYOPS_REDIRECT_CHAT,
    )


def direct_dsn(name: str) -> str:
    """Give a libpq string for a connection of a loop's own: never pooled, with the session's search path."""
    parameters: dict[str, Any] = connection.get_connection_params()
    plain: dict[str, Any] = {
        key: value for key, value in parameters.items() if isinstance(value, str | int) and key not in _NOT_LIBPQ
    }
    return make_conninfo("", **{**plain, "application_name": f"notifyops {name}", "connect_timeout": 10})


# Parameters of psycopg's own that Django passes beside libpq's.
_NOT_LIBPQ = frozenset(
    {"client_encoding", "prepare_threshold", "server_side_binding", "assume_role", "isolation_level"}
)


# The site modes in which a call may reach a real person.
_REACHING = frozenset({"live", "redirect"})


class Unusable(Exception):
    """This host cannot use an account; the text says why and how to mend it."""


def networks() -> tuple[Network, ...]:
    """Give the networks that recipients' addresses may lead to beside the open internet."""
    return EVERYTHING if settings.NOTIFYOPS_WEBHOOK_PRIVATE == "yes" else settings.NOTIFYOPS_WEBHOOK_NETWORKS


def provider(row: ProviderAccount, numbers: Rules) -> Provider:
    """Give the adapter for one account. Raises Unusable."""
    kind = _kind(row)
    if kind.development and settings.NOTIFYOPS_SITE_MODE in _REACHING:
        raise Unusable(
            f"Account {row.name}: kind {kind.name} reaches nobody, and people wait for the messages of a site in mode "
            f"{settings.NOTIFYOPS_SITE_MODE}; give it another kind, or disable it."
        )
    secret = _secret(row, row.api_key_ref) if row.api_key_ref or kind.needs_secret else ""
    # Recipients are called themselves in live alone; in any other mode all of it goes to one address.
    is_direct = kind.calls_recipients and settings.NOTIFYOPS_SITE_MODE == "live"
    base_url = row.base_url if is_direct else _base_url(row) if kind.needs_url else ""
    connections = numbers.concurrency + numbers.reserve
    parts, ttl_s = settings.NOTIFYOPS_SMS_PARTS, settings.NOTIFYOPS_PUSH_TTL_S
    try:
        return kind.provider(Setup(base_url, secret, connections, networks(), _reports_to(row), parts, ttl_s))
    except ValueError as error:
        raise Unusable(f"Account {row.name}: {error}") from error


def _reports_to(row: ProviderAccount) -> str:
    """Give our address for the account's events, where we can be reached and a secret verifies them."""
    public_url = settings.NOTIFYOPS_PUBLIC_URL
    return f"{public_url}/api/v1/providers/{row.name}/events" if public_url and row.webhook_secret_refs else ""


def _kind(row: ProviderAccount) -> Kind:
    known = kinds()
    if row.kind not in known:
        names = ", ".join(sorted(known))
        raise Unusable(f"Account {row.name}: there is no adapter of kind {row.kind!r} on this host; use {names}.")
    return known[row.kind]


def desk() -> Desk:
    """Give the chores what they ask providers with; reads the database through Django's connection.

    An account without a look-up key on this host is left out: questions about it are answered with "unavailable".
    """
    lookups: dict[int, Lookup] = {}
    for row in ProviderAccount.objects.exclude(lookup_key_ref=""):
        try:
            make = _kind(row).lookup
            if make is not None:
                lookups[row.pk] = make(Setup(_base_url(row), _secret(row, row.lookup_key_ref)))
        except (Unusable, ValueError) as refusal:
            # No fault: asking is an offer, and each question is told why it gets no answer.
            logger.info("%s", refusal, extra={"action": "lookup_unusable", "account": row.name})
    known = kinds()
    mute = [row.pk for row in ProviderAccount.objects.all() if row.kind in known and known[row.kind].lookup is None]
    budget = LookupBudget(per_s=settings.NOTIFYOPS_LOOKUP_PER_S)
    return Desk(
        lookups,
        dict.fromkeys(lookups, budget),
        mode=settings.NOTIFYOPS_SITE_MODE,
        site=settings.NOTIFYOPS_SITE,
        redirect_to=settings.NOTIFYOPS_REDIRECT_TO if settings.NOTIFYOPS_SITE_MODE == "redirect" else "",
        mute=frozenset(mute),
    )


def _base_url(row: ProviderAccount) -> str:
    # Out of the modes that may reach real people an account's own address does not count: it may be a copy's.
    own_url = row.base_url if settings.NOTIFYOPS_SITE_MODE in _REACHING else ""
    name = f"NOTIFYOPS_{row.kind.upper().replace('-', '_')}_BASE_URL"
    given = getattr(settings, name, None) or os.environ.get(name, "")
    base_url = own_url or given
    if not base_url:
        raise Unusable(f"Account {row.name}: no base URL; set {name} or the account's own.")
    if settings.NOTIFYOPS_SITE_MODE not in _REACHING and not _kind(row).has_sandbox and not _is_here(base_url):
        # Of a kind without a stand-in nobody knows which addresses are the real ones.
        raise Unusable(
            f"Account {row.name}: {name} is not an address of this machine, and a site in mode "
            f"{settings.NOTIFYOPS_SITE_MODE} may reach nobody; name 127.0.0.1, or set NOTIFYOPS_SITE_MODE."
        )
    return str(base_url)


def _is_here(base_url: str) -> bool:
    try:
        host = urlsplit(base_url).hostname or ""
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _secret(row: ProviderAccount, reference: str) -> str:
    name = reference.removeprefix("env:")
    value = getattr(settings, name, None) or os.environ.get(name, "")
    if not value:
        raise Unusable(f"Account {row.name}: {name} is not set on this host.")
    return str(value)


def endpoint_secrets(row: ProviderAccount, url: str) -> list[str]:
    """Give the secrets by which an endpoint verifies the account's calls, the newest first. Raises Unusable."""
    try:
        keys = keys_of(_secret(row, row.api_key_ref))
    except ValueError as error:
        raise Unusable(f"Account {row.name}: {error}.") from None
    return [secret_of(endpoint_key(key, url)) for key in keys]


def vapid_secret(row: ProviderAccount) -> str:
    """Give the private key of an account that pushes; empty where this host does not have it."""
    try:
        return _secret(row, row.api_key_ref).strip()
    except Unusable:
        return ""


def webhook_keys(references: str, read: Callable[[str], bytes] = key_of) -> list[bytes]:
    """Give the keys that may have signed an account's event: those of every reference that is set on this host.

    `read` gives the key of one secret, or raises ValueError. What cannot sign is left out, and said so in the log by
    its variable's name.
    """
    keys = []
    for name, secret in _webhook_secrets(references):
        try:
            keys.append(read(secret))
        except ValueError as error:
            logger.error("%s: %s", name, error, extra={"action": "secret_unusable"})
    return keys


def _webhook_secrets(references: str) -> Iterator[tuple[str, str]]:
    """Give each secret that is set on this host, with the name of its variable."""
    for reference in filter(None, references.split(",")):
        name = reference.removeprefix("env:")
        given = getattr(settings, name, None) or os.environ.get(name, "")
        secrets = re.split(r"[,\s]+", given.strip()) if isinstance(given, str) else given
        yield from ((name, secret) for secret in secrets if secret)


def events_api(row: ProviderAccount) -> EventsApi:
    """Give what reads an account's events back, with the key for reading. Raises Unusable."""
    if row.kind != "resend":
        raise Unusable(f"Account {row.name}: events can be read back only from accounts of kind resend.")
    if not row.lookup_key_ref:
        raise Unusable(f"Account {row.name}: give it a look-up key reference, to read its events.")
    return EventsApi(_base_url(row), _secret(row, row.lookup_key_ref))


def shop() -> Shop:
    """Give a loop its workplace; reads the database through Django's connection, before the event loop runs.

    Adapters belong to one event loop, so each run makes its own. An account that this host cannot use is left to
    other hosts, and said so in the log.
    """
    numbers = rules()
    accounts = {}
    for row in ProviderAccount.objects.filter(enabled=True):
        try:
            accounts[row.pk] = account(row, numbers)
        except Unusable as refusal:
            logger.error("%s", refusal, extra={"action": "account_unusable", "account": row.name})
    return Shop(numbers, accounts)


def account(row: ProviderAccount, numbers: Rules) -> Account:
    timeout_s = row.timeout_s or numbers.timeout_s
    if numbers.lease_s < timeout_s + 2:
        raise Unusable(
            f"Account {row.name}: its deadline of {timeout_s:g} s does not fit into the lease of "
            f"{numbers.lease_s:g} s; shorten it, or raise NOTIFYOPS_LEASE_S."
        )
    adapter = provider(row, numbers)
    # Where nothing ever confirms a message, a missing receipt says nothing.
    receipts = row.declares_receipts and bool(adapter.capabilities.receipts)
    return Account(row.pk, row.name, row.sender, adapter, timeout_s, receipts, row.fallback_id)

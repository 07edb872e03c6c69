"""The rows that code declares and the database needs: types, the default account, the site's secret keys.

Run after every migrate (and so after every flush of a test database); adds what is missing and changes nothing that a
person may have changed.
"""

from __future__ import annotations

import secrets
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.db import connections, router, transaction

from notifications.delivery import site
from notifications.models import NotificationTypeRow, ProviderAccount, SiteSecret
from notifications.types import NotificationType, registry

# RFC 2104: the key is padded to the block of SHA-256 and mixed with these two bytes.
_INNER, _OUTER, _BLOCK = 0x36, 0x5C, 64


def refill(sender: AppConfig, using: str, **told: Any) -> None:
    """Bring the reference rows of database `using` up to date with this release."""
    if not router.allow_migrate_model(using, NotificationTypeRow):
        return
    if any(is_backwards for _migration, is_backwards in told.get("plan") or ()):
        return  # the tables are an older release's, whose rows are its own to fill
    tables = connections[using].introspection.table_names()
    if NotificationTypeRow._meta.db_table not in tables:
        return  # migrated back to zero
    sync_types(using)
    ProviderAccount.objects.using(using).get_or_create(
        name="resend",
        defaults={
            "kind": "resend",
            "channel": "email",
            "sender": "Notifications <notifications@example.com>",
            "api_key_ref": "env:NOTIFYOPS_RESEND_API_KEY",
            "webhook_secret_refs": "env:NOTIFYOPS_RESEND_WEBHOOK_SECRETS",
            "lookup_key_ref": "env:NOTIFYOPS_RESEND_LOOKUP_KEY",
        },
    )
    _ensure_secrets(using)
    site.adopt(settings.NOTIFYOPS_SITE, actor="installation", reason="installed", using=using, only_first=True)


def sync_types(using: str) -> None:
    """Copy the registry to the table that SQL callers are checked against; disable rows that left the code.

    What persons override stays over it, and nobody sees a moment without.
    """
    rows = NotificationTypeRow.objects.using(using)
    known = [kind.name for kind in registry]
    with transaction.atomic(using=using), connections[using].cursor() as cursor:
        for kind in registry:
            rows.update_or_create(name=kind.name, defaults=_row(kind))
        rows.exclude(name__in=known).update(enabled=False, declared={})
        cursor.execute(
            "SELECT notifyops_private.apply_override_v1(name) FROM notifyops_private.notifications_notificationtype"
        )


def _row(kind: NotificationType) -> dict[str, Any]:
    ladder = settings.NOTIFYOPS_RETRY_DELAYS_S if kind.retry_delays is None else kind.retry_delays
    return {
        "channel": kind.channel,
        "required": {key: json_type for key, (json_type, required) in kind.fields().items() if required},
        "approval": kind.approval,
        "expires_after": kind.expires_after,
        "loss_model": kind.loss_model,
        "failure_limit": len(ladder) + 1,
        "enabled": True,
        "declared": {
            "enabled": True,
            "approval": kind.approval.value,
            "expires_s": kind.expires_after.total_seconds() if kind.expires_after else None,
        },
    }


def _ensure_secrets(using: str) -> None:
    rows = SiteSecret.objects.using(using)
    if rows.filter(name="hmac_inner").exists():
        return
    key = secrets.token_bytes(32).ljust(_BLOCK, b"\0")
    rows.create(name="hmac_inner", value=bytes(byte ^ _INNER for byte in key))
    rows.create(name="hmac_outer", value=bytes(byte ^ _OUTER for byte in key))

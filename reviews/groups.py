"""Who may do what: the three groups, made after every migrate where they are missing.

A group that exists is left as it is: what an administrator changed stays changed.
"""

from __future__ import annotations

from typing import Any, Final

from django.apps import AppConfig
from django.contrib.auth.models import Group, Permission
from django.contrib.contenttypes.models import ContentType
from django.db import connections, router

from reviews.models import Review

VIEWERS: Final = ("view_case",)
OPERATORS: Final = (*VIEWERS, "retry_intent", "undo_intent", "close_intent", "note_intent")
LEADS: Final = (*OPERATORS, "reopen_intent", "approve_intent")
GROUPS: Final = {"Viewers": VIEWERS, "Operators": OPERATORS, "Leads": LEADS}


def refill(sender: AppConfig, using: str, **_kwargs: Any) -> None:
    """Make the groups that are missing in database `using`."""
    if not router.allow_migrate_model(using, Group):
        return
    tables = connections[using].introspection.table_names()
    if Review._meta.db_table not in tables or Group._meta.db_table not in tables:
        return  # migrated back to zero
    permissions = _permissions(using)
    for name, codenames in GROUPS.items():
        group, is_new = Group.objects.using(using).get_or_create(name=name)
        if is_new:
            group.permissions.set([permissions[codename] for codename in codenames])


def _permissions(using: str) -> dict[str, Permission]:
    """Give our permissions by codename. Django makes them later, in its own turn after the migrate."""
    ContentType.objects.clear_cache()  # a flush has emptied the table under it
    holder = ContentType.objects.db_manager(using).get_for_model(Review)
    return {
        codename: Permission.objects.using(using).get_or_create(
            codename=codename, content_type=holder, defaults={"name": name}
        )[0]
        for codename, name in Review._meta.permissions
    }

"""Who may do what: the three groups, made after every migrate where they are missing.

A group that exists is left as it is: what an administrator changed stays changed. Only a right that a new release
brings comes to it, once: nobody can have decided about that yet.
"""

from __future__ import annotations

from typing import Any, Final

from django.apps import AppConfig, apps
from django.contrib.auth.management import create_permissions
from django.contrib.auth.models import Group, Permission
from django.contrib.contenttypes.models import ContentType
from django.db import connections, router
from django.db.models import QuerySet

from reviews.models import OPERATOR_VERBS, Review

# Whose permissions the groups hold; no codename is in both.
APPS: Final = ("notifications", "reviews")
VIEWERS: Final = ("view_case",)
OPERATORS: Final = (*VIEWERS, *(f"{verb}_intent" for verb in OPERATOR_VERBS), "bulk_cases", "share_view")
# What a lead looks at in Django's admin, and the accounts, which a lead adds and changes there with a reason.
ADMIN: Final = (
    *("view_intent", "view_logentry", "view_configrevision", "view_review", "view_note", "view_approvalrequest"),
    "view_bulkrun",
    *("view_run", "view_runitem", "steer_run"),
    *("view_provideraccount", "add_provideraccount", "change_provideraccount", "view_pause"),
    *("view_notificationtyperow", "change_notificationtyperow", "view_typerevision"),
)
LEADS: Final = (
    *OPERATORS,
    *("reopen_intent", "approve_intent", "decline_intent", "adopt_intent", "correct_intent", "resend_intent"),
    *("withdraw_intent", "unblock_intent", "take_over_intent", "pause_sending", "export_log", "drop_view", "bulk_many"),
    *ADMIN,
)
GROUPS: Final = {"Viewers": VIEWERS, "Operators": OPERATORS, "Leads": LEADS}


def refill(sender: AppConfig, using: str, **_kwargs: Any) -> None:
    """Make the groups that are missing in database `using`, and give the others the rights that are new there."""
    if not router.allow_migrate_model(using, Group):
        return
    tables = connections[using].introspection.table_names()
    if Review._meta.db_table not in tables or Group._meta.db_table not in tables:
        return  # migrated back to zero
    before = set(_ours(using).values_list("codename", flat=True))
    permissions = _permissions(using)
    for name, codenames in GROUPS.items():
        group, is_new = Group.objects.using(using).get_or_create(name=name)
        wanted = codenames if is_new else [codename for codename in codenames if codename not in before]
        group.permissions.add(*(permissions[codename] for codename in wanted))


def _permissions(using: str) -> dict[str, Permission]:
    """Give our permissions by codename, made now: Django's own turn after the migrate comes later."""
    ContentType.objects.clear_cache()  # a flush has emptied the table under it
    for label in APPS:
        create_permissions(apps.get_app_config(label), verbosity=0, using=using)
    return {permission.codename: permission for permission in _ours(using)}


def _ours(using: str) -> QuerySet[Permission]:
    return Permission.objects.using(using).filter(content_type__app_label__in=APPS)

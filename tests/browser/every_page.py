"""A site with something on every page, and the address of each: the console's, the login's and the admin's."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from axes.models import AccessAttempt
from django.contrib import admin
from django.contrib.auth.models import User
from django.db.models import Model
from django.test import RequestFactory, override_settings
from django.urls import reverse
from django.utils import timezone

from notifications.api import tokens
from notifications.models import ConfigRevision, ProviderAccount, TypeRevision, WorkerBeat
from reviews.bulk.models import BulkItem
from reviews.signin.models import AccessRecord
from tests.browser.test_console_looks import screens
from tests.browser.test_team_pages import make_team
from tests.reviews import cases
from tests.reviews.bulk_cases import Provider, carried, make_cases, planned, started
from tests.reviews.cases import login, make_case

WHY = "The provider moved us to a new sending domain."
LONG_ID = "a-report-of-the-second-quarter-with-a-rather-long-name/for-the-finance-department-2026-11"


def make_site() -> dict[str, str]:
    """Fill every page; give the console's addresses by a name of each. Lena may see everything there is."""
    pages = make_team()
    User.objects.filter(username="lena").update(is_superuser=True)
    pages |= {f"looks-{place:02}": url for place, url in enumerate(screens())}
    now = timezone.now()
    WorkerBeat.objects.using("owner").create(worker="w", host="h", role="loop", slot=1, started_at=now, beat_at=now)
    long = make_case(cases.UNKNOWN, LONG_ID[:80])
    pages |= {"long-id": f"/reviews/{long.pk}/", "code": f"/reviews/?code={long.error_code}"}
    return pages | _bulk() | {
        "groups": "/reviews/groups/",
        "offer": "/reviews/bulk/new?known=unknown",
        "offer-bad": "/reviews/bulk/new?cod=1",
        "second-factor": "/second-factor/",
        "second-factor-enrol": "/second-factor/enrol/",
        "missing": "/no-such-page/",
        "api-docs": "/api/v1/docs",
    }  # fmt: skip


@override_settings(NOTIFYOPS_UNDO_S=0)  # what is ordered is due at once
def _bulk() -> dict[str, str]:
    """Make a plan, a run that has ended and one that is under way."""
    plan, ended, under_way = planned(make_cases(3)), started(planned(make_cases(8)), rate=200), started(
        planned(make_cases(4, cases.UNKNOWN))
    )  # fmt: skip
    carried(ended, Provider(ended, fails=2))
    carried(under_way, lambda: BulkItem.objects.filter(bulk=under_way, outcome="released").exists())
    closing = planned(make_cases(2), verb="close")
    made = {"plan": plan, "plan-close": closing, "ended": ended, "under-way": under_way}
    return {f"bulk-{name}": f"/reviews/bulk/{bulk.pk}/" for name, bulk in made.items()}


def make_admin_rows() -> None:
    """Leave a row of each kind that the admin shows."""
    lena, account, now = User.objects.get(username="lena"), ProviderAccount.objects.get(), timezone.now()
    login("bob_lead")
    ConfigRevision.objects.create(account=account, revision=2, actor="user:lena", reason=WHY, before={}, after={"a": 1})
    row = {"actor": "user:lena", "reason": WHY, "before": {}, "after": {"approval": "required"}}
    TypeRevision.objects.using("owner").create(type_id="report_ready", revision=1, **row)
    AccessRecord.objects.create(user=lena, deed="reset", actor="cli:ana@host", reason=WHY)
    AccessAttempt.objects.create(username="lena", ip_address="192.0.2.1", failures_since_start=5, attempt_time=now)
    wish = tokens.Wish(
        name="billing", scopes=("enqueue",), workspaces=("default",), reason=WHY, per_minute=60,
        expires_at=now + timedelta(days=30),
    )  # fmt: skip
    tokens.make(wish, by="user:lena")


def admin_pages() -> dict[str, str]:
    """Give each admin page that there is: index, and of every kind the list, a new one, one row, its history, its end.

    Where nobody may add or delete, those pages are one and the same refusal.
    """
    asks = RequestFactory().get("/admin/")
    asks.user = User.objects.get(username="lena")
    pages = {"index": reverse("admin:index"), "password": reverse("admin:password_change")}
    pages |= {f"app-{app}": reverse("admin:app_list", args=[app]) for app in sorted(_apps())}
    for model, its in admin.site._registry.items():
        name = f"{model._meta.app_label}_{model._meta.model_name}"
        pages[f"{name}-list"] = reverse(f"admin:{name}_changelist")
        if its.has_add_permission(asks):
            pages[f"{name}-add"] = reverse(f"admin:{name}_add")
        row = _row(model)
        verbs = ("change", "history", *(("delete",) if its.has_delete_permission(asks) else ()))
        pages |= {f"{name}-{verb}": _of_row(name, verb, row) for verb in verbs if row is not None}
    return pages | _more()


def _apps() -> set[str]:
    return {model._meta.app_label for model in admin.site._registry}


def _row(model: type[Model]) -> Model | None:
    return model._default_manager.order_by("-pk").first()


def _of_row(name: str, verb: str, row: Model) -> str:
    return reverse(f"admin:{name}_{verb}", args=[row.pk])


def _more() -> dict[str, str]:
    """Give what hangs on a row and is none of Django's own pages, and lists in other states."""
    lena = User.objects.get(username="lena")
    more: dict[str, Any] = {
        "preview": reverse("admin:notifications_notificationtyperow_preview", args=["report_ready"]),
        "user-password": reverse("admin:auth_user_password_change", args=[lena.pk]),
        "user-list-none": reverse("admin:auth_user_changelist") + "?q=nobody-of-this-name",
        "user-list-filtered": reverse("admin:auth_user_changelist") + "?is_staff__exact=1&o=-1",
    }
    return more

"""Django's admin: intents, log and decisions are looked at, accounts are changed with a recorded reason."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth.models import User
from django.db import IntegrityError, connections, transaction
from django.test import Client

from notifications.models import Circuit, ConfigRevision, ProviderAccount
from tests.reviews import cases
from tests.reviews.cases import login, make_case, post

pytestmark = [pytest.mark.django_db(databases=["default", "owner"]), pytest.mark.role("owner")]
EDIT = "/admin/notifications/provideraccount/{}/change/"
WHY = "The provider moved us to a new sending domain."


def boss() -> Client:
    client = login("lena")
    User.objects.filter(username="lena").update(is_superuser=True)
    return client


def fields(account: ProviderAccount, **changes: Any) -> dict[str, Any]:
    names = ("name", "kind", "channel", "base_url", "sender", "api_key_ref", "webhook_secret_refs")
    kept = {name: getattr(account, name) for name in names}
    flags = {"declares_receipts": "on", "enabled": "on"}
    return kept | flags | {"timeout_s": "", "seen": account.revision, "reason": WHY} | changes


def test_intents_log_and_decisions_are_shown_with_links_to_the_console() -> None:
    intent = make_case(cases.UNKNOWN)
    client = boss()
    post(client, intent, "close", reason_code="duplicate")
    for model in ("notifications/intent", "notifications/logentry", "reviews/review", "notifications/configrevision"):
        assert client.get(f"/admin/{model}/").status_code == 200
    assert f"/reviews/{intent.pk}/" in client.get("/admin/notifications/intent/").content.decode()
    assert client.get(f"/admin/notifications/intent/{intent.pk}/change/").status_code == 200


@pytest.mark.parametrize("model", ["notifications/intent", "notifications/logentry", "reviews/review", "reviews/note"])
def test_a_superuser_neither_adds_nor_changes_nor_deletes_what_happened(model) -> None:
    intent = make_case()
    client = boss()
    post(client, intent, "note", reason="Something that was said.")
    post(client, intent, "close", reason_code="duplicate")
    app, name = model.split("/")
    row = admin.site.get_model_admin(apps_model(app, name)).model._default_manager.order_by("-pk").first()
    for verb in ("add/", f"{row.pk}/delete/"):
        assert client.post(f"/admin/{model}/{verb}", {"post": "yes"}).status_code == 403
    assert client.post(f"/admin/{model}/{row.pk}/change/", {"state": "accepted", "actor": "x"}).status_code == 403


def apps_model(app: str, name: str) -> Any:
    from django.apps import apps

    return apps.get_model(app, name)


def test_the_queue_of_background_tasks_is_not_in_the_admin() -> None:
    assert not [model for model in admin.site._registry if model._meta.app_label == "django_q"]
    assert boss().get("/admin/django_q/schedule/").status_code == 404


def test_a_changed_account_leaves_a_revision_with_before_after_who_and_why() -> None:
    account = ProviderAccount.objects.get(name="resend")
    response = boss().post(EDIT.format(account.pk), fields(account, base_url="https://api.example.com"))
    assert response.status_code == 302
    revision = ConfigRevision.objects.get(account=account)
    assert (revision.revision, revision.actor, revision.reason) == (2, "user:lena", WHY)
    assert revision.before is not None
    assert (revision.before["base_url"], revision.after["base_url"]) == ("", "https://api.example.com")
    assert ProviderAccount.objects.get(pk=account.pk).revision == 2


def test_saving_an_account_closes_its_circuit_even_one_that_waits_for_a_person() -> None:
    account = ProviderAccount.objects.get(name="resend")
    with connections["default"].cursor() as cursor:
        cursor.execute(
            "INSERT INTO notifications_circuit (account_id, open_until, reason, code, config_failures)"
            " VALUES (%s, 'infinity', 'monthly_quota', 'resend.429.monthly_quota_exceeded', 3)",
            [account.pk],
        )
    assert boss().post(EDIT.format(account.pk), fields(account)).status_code == 302
    circuit = Circuit.objects.get(account=account)
    assert (circuit.open_until, circuit.reason, circuit.config_failures) == (None, None, 0)


@pytest.mark.parametrize(
    "changes",
    [
        {"reason": ""},
        {"reason": "short"},
        {"reason": "asked by ana@example.com today"},
        {"api_key_ref": "re_secret_key"},
        {"webhook_secret_refs": "whsec_c2VjcmV0"},
        {"webhook_secret_refs": "env:GOOD,whsec_c2VjcmV0"},
        {"seen": 7},
    ],
)
def test_a_change_without_a_good_reason_or_on_an_old_page_is_refused(changes) -> None:
    account = ProviderAccount.objects.get(name="resend")
    response = boss().post(EDIT.format(account.pk), fields(account, base_url="https://api.example.com", **changes))
    assert response.status_code == 200
    assert "errorlist" in response.content.decode()
    assert ProviderAccount.objects.get(pk=account.pk).base_url == ""
    assert not ConfigRevision.objects.exists()


def test_a_new_account_starts_with_its_first_revision_and_none_is_deleted() -> None:
    client = boss()
    account = ProviderAccount.objects.get(name="resend")
    added = client.post("/admin/notifications/provideraccount/add/", fields(account, name="second", seen=0))
    assert added.status_code == 302
    second = ProviderAccount.objects.get(name="second")
    assert ConfigRevision.objects.get(account=second).before is None
    assert client.post(f"/admin/notifications/provideraccount/{second.pk}/delete/", {"post": "yes"}).status_code == 403


def test_staff_without_permission_and_an_operator_stay_outside() -> None:
    account = ProviderAccount.objects.get(name="resend")
    login("vera")
    User.objects.filter(username="vera").update(is_staff=True)
    assert login("vera").get(EDIT.format(account.pk)).status_code == 403
    assert login("olga").get("/admin/").status_code == 403


def test_the_form_of_an_account_carries_the_revision_that_it_shows() -> None:
    account = ProviderAccount.objects.get(name="resend")
    html = boss().get(EDIT.format(account.pk)).content.decode()
    assert f'name="seen" value="{account.revision}"' in html
    assert "a name, then the address in angle brackets" in html


def test_a_rotation_is_a_change_of_the_account_with_its_revision() -> None:
    account = ProviderAccount.objects.get(name="resend")
    before = account.webhook_secret_refs
    given = f" env:NEXT_SECRET, {before} env:NEXT_SECRET\t"
    assert boss().post(EDIT.format(account.pk), fields(account, webhook_secret_refs=given)).status_code == 302
    revision = ConfigRevision.objects.get(account=account)
    assert revision.before is not None
    assert revision.before["webhook_secret_refs"] == before == "env:NOTIFYOPS_RESEND_WEBHOOK_SECRETS"
    assert revision.after["webhook_secret_refs"] == f"env:NEXT_SECRET,{before}"
    with pytest.raises(IntegrityError), transaction.atomic():
        ProviderAccount.objects.update(webhook_secret_refs="whsec_c2VjcmV0")


@pytest.mark.parametrize(
    ("given", "kept"), [("5", 5.0), ("", None), ("0.1", 0.1), ("0.01", None), ("1e9", None), ("nan", None), ("x", None)]
)
def test_an_accounts_own_rate_is_kept_where_it_is_one(given: str, kept: float | None) -> None:
    account = ProviderAccount.objects.get(name="resend")
    response = boss().post(EDIT.format(account.pk), fields(account, rate_per_s=given))
    assert response.status_code == (302 if kept is not None or not given else 200)
    assert ProviderAccount.objects.get(pk=account.pk).rate_per_s == kept

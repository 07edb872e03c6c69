"""Who may do what, over every address, as the web role of a real installation."""

from __future__ import annotations

from dataclasses import replace

import pytest
from django.contrib.auth.models import User
from django.test import Client

from notifications.models import Intent
from reviews import actions
from reviews.models import VERBS, Review
from reviews.person import from_host, from_user
from tests.reviews import cases
from tests.reviews.cases import login, make_case, order, post

pytestmark = pytest.mark.django_db(transaction=True)
EXPLAINED = "Looked at it together with the owner."
REASON = {
    "retry": "code_fixed",
    "close": "duplicate",
    "reopen": "new_information",
    "approve": "content_checked",
    "adopt": "evidence_found",
    "decline": "no_longer_needed",
    "withdraw": "sent_in_error",
}
# What a verb asks for beside reason and text.
MORE = {"correct": {"address": "bea@example.com"}, "wait": {"minutes": "15"}}
MAY = {
    "sam": set(),
    "vera": set(),
    "olga": {"retry", "undo", "query", "close", "note", "wait", "resume", "take", "release"},
    "lena": set(VERBS),
}
STEPS = {
    "query": cases.UNKNOWN,
    "adopt": cases.FOUND_TWICE,
    "correct": cases.BOUNCED,
    "resend": cases.UNDECIDED,
    "unblock": cases.BOUNCED,
}


def case_for(verb: str, name: str) -> Intent:
    """Make a case in which the verb is allowed, for whoever has its permission."""
    if verb in ("approve", "decline"):
        return make_case((), type="report_approved")
    if verb in STEPS:
        made = make_case(STEPS[verb])
        if verb == "unblock":
            cases.block(made)
        return made
    intent = make_case()
    if verb == "undo":
        post(login(name), intent, "retry", reason_code="code_fixed")
        if name in ("sam", "vera"):
            actions.perform("retry", intent.pk, order(intent, "code_fixed"), from_host())
    if verb in ("release", "take_over"):  # taken by oneself, or by another
        holder = from_user(User.objects.get(username=name)) if verb == "release" else from_host()
        actions.perform("take", intent.pk, order(intent), replace(holder, verbs=frozenset(VERBS)))
    before = {"resume": "wait", "reopen": "close"}.get(verb, "")
    if before:
        code = "duplicate" if before == "close" else ""
        actions.perform(before, intent.pk, replace(order(intent, code), minutes=15), from_host())
    return Intent.objects.get(pk=intent.pk)


@pytest.mark.parametrize("name", ["sam", "vera", "olga", "lena"])
def test_every_verb_is_done_or_refused_by_role_and_refusals_are_recorded(name) -> None:
    client = login(name)
    for verb in VERBS:
        intent = case_for(verb, name)
        refused_before = Review.objects.filter(outcome="refused", action=verb).count()
        more = {"typed": intent.report_id, "confirmed": "yes"} if verb == "resend" else MORE.get(verb, {})
        response = post(client, intent, verb, reason_code=REASON.get(verb, ""), reason=EXPLAINED, **more)
        after = Intent.objects.get(pk=intent.pk)
        refused = Review.objects.filter(outcome="refused", action=verb).count() - refused_before
        if verb in MAY[name]:
            assert (response.status_code, refused) == (303, 0), (name, verb)
        else:
            assert (response.status_code, refused, after.seq) == (403, 1, intent.seq), (name, verb)
        assert client.get(f"/reviews/{intent.pk}/{verb}").status_code == 405


@pytest.mark.parametrize(("name", "status"), [("sam", 403), ("vera", 200), ("olga", 200), ("lena", 200)])
def test_who_may_read_the_queue_and_its_cases(name, status) -> None:
    intent = make_case(cases.UNKNOWN)
    client = login(name)
    for url in ("/reviews/", f"/reviews/{intent.pk}/", "/reviews/?state=any"):
        assert client.get(url).status_code == status


def test_a_stranger_without_a_login_reaches_the_login_only() -> None:
    intent = make_case()
    client = Client()
    for url in ("/reviews/", f"/reviews/{intent.pk}/", "/admin/"):
        response = client.get(url)
        assert response.status_code == 302
        assert "login" in response["Location"]
    for verb in VERBS:
        assert post(client, intent, verb, reason_code=REASON.get(verb, ""), reason=EXPLAINED).status_code == 302
    assert Intent.objects.get(pk=intent.pk).seq == intent.seq
    assert not Review.objects.exists()


def test_a_lead_sees_the_record_in_the_admin_and_may_edit_accounts_only() -> None:
    from notifications.models import ProviderAccount

    make_case()
    client = login("lena")
    for model in ("intent", "logentry", "provideraccount", "configrevision"):
        assert client.get(f"/admin/notifications/{model}/").status_code == 200
    for model in ("review", "note", "approvalrequest"):
        assert client.get(f"/admin/reviews/{model}/").status_code == 200
    account = ProviderAccount.objects.get()
    edit = client.get(f"/admin/notifications/provideraccount/{account.pk}/change/")
    assert (edit.status_code, "_save" in edit.content.decode()) == (200, True)
    assert client.get("/admin/notifications/provideraccount/add/").status_code == 200
    assert client.get("/admin/auth/user/").status_code == 403


@pytest.mark.parametrize(("name", "shown"), [("vera", False), ("olga", False), ("lena", True)])
def test_the_link_to_the_admin_is_shown_to_whom_it_opens(name, shown) -> None:
    assert ('href="/admin/"' in login(name).get("/reviews/").content.decode()) is shown


def test_the_three_groups_are_made_again_after_a_flush_and_a_changed_one_stays(as_role) -> None:
    from django.apps import apps
    from django.contrib.auth.models import Group

    from reviews import groups

    viewers = Group.objects.get(name="Viewers")
    viewers.permissions.clear()
    Group.objects.get(name="Leads").delete()
    groups.refill(apps.get_app_config("reviews"), using="owner")
    assert viewers.permissions.count() == 0
    assert set(Group.objects.get(name="Leads").permissions.values_list("codename", flat=True)) == set(groups.LEADS)


@pytest.mark.django_db(databases=["default", "owner"])  # rolled back: permissions outlive a flush
def test_a_right_that_a_release_brings_comes_once_to_the_groups_that_are_there() -> None:
    from django.contrib.auth.models import Group, Permission
    from django.core.management.sql import emit_post_migrate_signal

    from reviews import groups

    # One of each app, as a database of the release before lacks them.
    new = ("unblock_intent", "change_notificationtyperow")
    leads = Group.objects.using("owner").get(name="Leads")
    leads.permissions.remove(leads.permissions.get(codename="export_log"))
    Permission.objects.using("owner").filter(codename__in=new).delete()
    emit_post_migrate_signal(0, False, "owner")
    assert set(leads.permissions.values_list("codename", flat=True)) == set(groups.LEADS) - {"export_log"}
    leads.permissions.remove(leads.permissions.get(codename="unblock_intent"))
    emit_post_migrate_signal(0, False, "owner")
    assert not leads.permissions.filter(codename="unblock_intent").exists()
    assert not Group.objects.using("owner").get(name="Operators").permissions.filter(codename__in=new).exists()

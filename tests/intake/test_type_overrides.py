"""What a person overrides of a type: in the admin, with a reason and a revision, in force for whoever enqueues."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from django.db import connection, connections
from django.test import Client

from notifications import outbox
from notifications.models import Intent, NotificationTypeRow, TypeRevision
from notifications.outbox_errors import UnknownType
from notifications.reference import sync_types
from tests.intake.notify_cli import notify
from tests.reviews.cases import login, make_person

pytestmark = pytest.mark.django_db(databases=["default", "owner"], transaction=True)
EDIT = "/admin/notifications/notificationtyperow/report_ready/change/"
WHY = "The report of this quarter was wrong; finance asked us to hold it."


def override(client: Client | None = None, seen: int = 0, reason: str = WHY, **said: str) -> Any:
    return (client or login("lena")).post(EDIT, {"seen": seen, "reason": reason, "expires_after": "", **said})


def enqueued(report: str = "r-1", **options: Any) -> outbox.Enqueued:
    from django.db import transaction

    with transaction.atomic():
        return outbox.enqueue("report_ready", report, "ana@example.com", {"title": "Q3"}, **options)


def row() -> NotificationTypeRow:
    return NotificationTypeRow.objects.get(pk="report_ready")


def test_a_lead_overrides_a_type_with_a_reason_and_a_revision() -> None:
    assert override(needs_approval="on").status_code == 302
    kept = TypeRevision.objects.get()
    assert (kept.type_id, kept.revision, kept.actor, kept.reason) == ("report_ready", 1, "user:lena", WHY)
    assert (kept.before, kept.after) == (None, {"approval": "required"})
    assert enqueued().state == "needs_review"
    assert override(seen=1, expires_after="2 00:00:00").status_code == 302
    newest = TypeRevision.objects.get(revision=2)
    assert (newest.before, newest.after) == ({"approval": "required"}, {"expires_s": 172800})
    assert enqueued("r-2").state == "pending"
    intent = Intent.objects.get(report_id="r-2")
    assert intent.expires_at is not None
    assert intent.expires_at - intent.created_at == timedelta(days=2)


def test_a_type_that_is_off_refuses_what_is_new_and_keeps_what_is_owed() -> None:
    owed = enqueued()
    override(is_off="on")
    with pytest.raises(UnknownType):
        enqueued("r-2")
    assert Intent.objects.get(pk=owed.id).state == "pending"
    assert "Overridden in the admin: report_ready (enabled)" in notify("types").err
    assert override(seen=1).status_code == 302
    assert enqueued("r-2").created


def test_an_override_outlives_a_migrate_and_what_the_code_declares_is_no_laxer_for_it() -> None:
    override(is_off="on", needs_approval="on", expires_after="01:00:00")
    sync_types("owner")
    found = row()
    assert (found.enabled, found.approval, found.expires_after) == (False, "required", timedelta(hours=1))
    override(seen=1)
    found = row()
    assert (found.enabled, found.approval, found.expires_after) == (True, "none", None)
    place = "/admin/notifications/notificationtyperow/report_approved/change/"
    login("lena").post(place, {"seen": 0, "reason": WHY, "expires_after": "1 00:00:00"})
    assert NotificationTypeRow.objects.get(pk="report_approved").approval == "required"


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ({"reason": ""}, "This field is required"),
        ({"reason": "short"}, "at least 10"),
        ({"reason": "ask ana@example.com about it"}, "refer by ID"),
        ({"expires_after": "00:00:10"}, "From one minute"),
        ({"expires_after": "400 00:00:00"}, "From one minute"),
        ({"expires_after": "soon"}, "Enter a valid duration"),
        ({"seen": 7}, "Somebody changed this type meanwhile (now revision 0)"),
    ],
)
def test_a_bad_override_changes_nothing_and_says_why(said: dict[str, Any], sentence: str) -> None:
    answer = override(**said)
    assert answer.status_code == 200
    assert sentence in answer.content.decode()
    assert not TypeRevision.objects.exists()


def test_of_two_overrides_of_one_revision_the_second_is_refused_by_the_database() -> None:
    call = "SELECT notifyops_private.override_type_v1('report_ready', 0, '{}', 'user:lena', %s)"
    with connection.cursor() as cursor:
        found = []
        for _ in range(2):
            cursor.execute(call, [WHY])
            found.append(cursor.fetchone()[0])
    assert found == [1, None]


@pytest.mark.parametrize(
    "wanted", [{"enabled": True}, {"approval": "none"}, {"expires_s": 1}, {"expires_s": 1e9}, {"loss_model": "x"}]
)
def test_the_database_takes_nothing_laxer_and_nothing_else(as_role: Any, wanted: dict[str, Any]) -> None:
    call = "SELECT notifyops_private.override_type_v1('report_ready', 0, %s, 'user:lena', %s)"
    with pytest.raises(psycopg.Error, match="no override of a type"):
        as_role("web").execute(call, [json.dumps(wanted), WHY])


def test_nobody_writes_it_by_another_way(as_role: Any) -> None:
    call = f"SELECT notifyops_private.override_type_v1('report_ready', 0, '{{}}', 'user:lena', '{WHY}')"
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        as_role("worker").execute(call.encode())
    override(is_off="on")
    for role in ("web", "worker"):
        for statement in ("UPDATE {}typerevision SET actor = 'x'", "DELETE FROM {}typerevision",
                          "INSERT INTO {}typerevision SELECT * FROM {}typerevision",
                          "UPDATE {}notificationtype SET enabled = true"):  # fmt: skip
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                as_role(role).execute(statement.replace("{}", "notifyops_private.notifications_").encode())
    with pytest.raises(psycopg.Error, match="only grows|never changed|insert-only"):
        as_role("owner").execute(b"DELETE FROM notifyops_private.notifications_typerevision")


@pytest.mark.parametrize(("name", "status"), [("vera", 403), ("olga", 403), ("sam", 403)])
def test_who_is_no_lead_overrides_nothing(name: str, status: int) -> None:
    assert override(login(name), is_off="on").status_code == status
    assert not TypeRevision.objects.exists()


def test_who_may_only_look_sees_the_facts_and_no_form() -> None:
    from django.contrib.auth.models import Permission

    person = make_person("vera")
    person.is_staff = True
    person.save()
    person.user_permissions.add(Permission.objects.get(codename="view_notificationtyperow"))
    html = login("vera").get(EDIT).content.decode()
    assert "report_ready" in html
    assert 'name="reason"' not in html
    assert override(login("vera"), is_off="on").status_code == 403


def test_a_type_that_left_the_code_is_not_overridden() -> None:
    NotificationTypeRow.objects.using("owner").create(name="old_type", channel="email", enabled=False)
    place = "/admin/notifications/notificationtyperow/old_type/change/"
    assert login("lena").post(place, {"seen": 0, "reason": WHY}).status_code == 403
    with connections["owner"].cursor() as cursor:
        cursor.execute("SELECT notifyops_private.override_type_v1('old_type', 0, '{}', 'user:lena', %s)", [WHY])
    assert not NotificationTypeRow.objects.get(pk="old_type").enabled

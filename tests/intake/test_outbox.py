"""`outbox.enqueue` and its kin: what they write, and what they refuse while the caller goes on."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.core.exceptions import SynchronousOnlyOperation
from django.db import connection, transaction

from notifications import outbox
from notifications.models import Content, Intent, IntentKey

pytestmark = pytest.mark.django_db(databases=["default", "owner"])
TITLE = {"title": "Q3"}


def owe(report_id: str = "demo-001", to: str = "ana@example.com", **options: Any) -> outbox.Enqueued:
    return outbox.enqueue("report_ready", report_id, to, options.pop("data", TITLE), **options)


def owe_and_fail(report_id: str = "demo-001") -> None:
    owe(report_id)
    raise ZeroDivisionError


def test_an_enqueue_owes_one_notification() -> None:
    owed = owe()
    assert (owed.notification_id, owed.created, owed.state) == ("report-ready/demo-001", True, "pending")
    intent = Intent.objects.get(pk=owed.id)
    assert (intent.report_id, intent.type, intent.channel, intent.workspace) == (
        "demo-001",
        "report_ready",
        "email",
        "",
    )
    assert (intent.attempt_count, intent.failure_limit, intent.lane) == (0, 3, 16 + intent.lane % 16)
    content = Content.objects.get(pk=owed.id)
    assert (content.recipient, content.data) == ("ana@example.com", TITLE)


def test_a_workspace_stands_in_the_default_key() -> None:
    assert owe(workspace="acme").notification_id == "acme/report-ready/demo-001"


def test_the_same_wish_again_gives_the_existing_notification() -> None:
    first = owe()
    again = owe(not_before=datetime.now(UTC) + timedelta(hours=1))
    assert (again.id, again.notification_id, again.created) == (first.id, first.notification_id, False)
    assert Intent.objects.count() == 1


def test_an_address_that_differs_in_its_domains_case_is_the_same_wish() -> None:
    assert owe(to="ana@example.com").created
    assert not owe(to=" ana@EXAMPLE.com ").created


@pytest.mark.parametrize(
    ("changed", "value"),
    [
        ("to", "bea@example.com"),
        ("data", {"title": "Q4"}),
        ("actor", "user:olga"),
        ("expires_at", datetime(2035, 1, 1, tzinfo=UTC)),
    ],
)
def test_the_same_key_with_other_content_is_refused_and_names_the_existing_one(changed: str, value: Any) -> None:
    owe()
    with pytest.raises(outbox.KeyReused) as caught:
        owe(**{changed: value})
    assert caught.value.existing == "report-ready/demo-001"
    assert "supersedes" in caught.value.hint
    assert Intent.objects.count() == 1


def test_another_key_does_not_make_the_same_report_owed_twice() -> None:
    first = owe(notification_id="first")
    assert owe(notification_id="second").id == first.id
    with pytest.raises(outbox.KeyReused) as caught:
        owe(to="bea@example.com", notification_id="second")
    assert caught.value.existing == "first"


def test_a_refusal_leaves_the_callers_transaction_usable() -> None:
    with transaction.atomic():
        owe("demo-001")
        with pytest.raises(outbox.InvalidRecipient):
            owe("demo-002", to="nobody")
        with pytest.raises(outbox.UnknownType):
            outbox.enqueue("no_such_type", "demo-003", "ana@example.com", {})
        with pytest.raises(outbox.KeyReused):
            owe("demo-001", to="bea@example.com")
        owe("demo-004")
    assert list(Intent.objects.order_by("id").values_list("report_id", flat=True)) == ["demo-001", "demo-004"]


def test_a_rolled_back_savepoint_takes_its_notification_with_it() -> None:
    with transaction.atomic():
        with pytest.raises(ZeroDivisionError), transaction.atomic():
            owe_and_fail()
        owe("demo-002")
    assert list(Intent.objects.values_list("report_id", flat=True)) == ["demo-002"]
    assert list(IntentKey.objects.values_list("report_id", flat=True)) == ["demo-002"]


def test_a_duplicate_in_one_transaction_spares_the_business_changes_around_it() -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("CREATE TEMPORARY TABLE report (id text, status text) ON COMMIT DROP")
        cursor.execute("INSERT INTO report VALUES ('demo-002', 'ready')")
        assert owe("demo-002").created
        assert not owe("demo-002").created
        cursor.execute("UPDATE report SET status = 'announced'")
        cursor.execute("SELECT status FROM report")
        assert cursor.fetchone() == ("announced",)
    assert Intent.objects.count() == 1


def test_many_are_owed_in_one_call_and_answered_in_their_order() -> None:
    items = [outbox.Item("report_ready", f"demo-{n}", "ana@example.com", TITLE) for n in (3, 1, 2, 1)]
    owed = outbox.enqueue_many(items)
    assert [one.notification_id.rpartition("-")[2] for one in owed] == ["3", "1", "2", "1"]
    assert [one.created for one in owed] == [True, True, True, False]
    assert outbox.enqueue_many([]) == []


def test_many_are_all_or_none_and_the_refusal_names_the_item() -> None:
    good = outbox.Item("report_ready", "demo-1", "ana@example.com", TITLE)
    with pytest.raises(outbox.InvalidRecipient, match="item 2"):
        outbox.enqueue_many([good, outbox.Item("report_ready", "demo-2", "a@b", TITLE)])
    with pytest.raises(outbox.UnknownType, match="item 2"):
        outbox.enqueue_many([good, outbox.Item("none_such", "demo-2", "ana@example.com", TITLE)])
    assert Intent.objects.count() == 0


def test_options_reach_the_row() -> None:
    at = datetime(2035, 3, 4, 5, 6, 7, 891011, tzinfo=UTC)
    expires_at = at + timedelta(days=1)
    owed = owe(
        notification_id="my/key:1",
        priority="urgent",
        not_before=at,
        expires_at=expires_at,
        locale="zh-hans",
        actor="user:olga",
    )
    intent = Intent.objects.get(pk=owed.id)
    assert (intent.notification_id, intent.next_attempt_at, intent.expires_at) == ("my/key:1", at, expires_at)
    assert (intent.lane < 16, intent.actor, intent.content.locale) == (True, "user:olga", "zh-hans")


def test_a_superseded_notification_is_cancelled_by_its_successor() -> None:
    first = owe(notification_id="first")
    second = owe(notification_id="second", supersedes="first", to="bea@example.com")
    assert Intent.objects.get(pk=first.id).state == "cancelled"
    assert Intent.objects.get(pk=second.id).supersedes_id == first.id
    with pytest.raises(outbox.SchemaError, match="supersedes"):
        owe(notification_id="third", supersedes="no-such")


def test_a_type_with_approval_waits_for_a_person() -> None:
    owed = outbox.enqueue("report_approved", "demo-001", "ana@example.com", TITLE)
    assert owed.state == "needs_review"
    intent = Intent.objects.get(pk=owed.id)
    assert (intent.known, intent.next_action, intent.next_attempt_at) == ("awaiting_approval", "approve", None)


def test_cancelling_takes_back_what_has_not_left_and_says_so_when_asked_again() -> None:
    owed = owe()
    assert outbox.cancel(owed.notification_id, "report withdrawn").outcome == "cancelled"
    again = outbox.cancel(owed.notification_id, "report withdrawn")
    assert (again.outcome, again.state) == ("already", "cancelled")
    assert outbox.explain(owed.notification_id)[-1] == "now: cancelled."


def test_cancelling_needs_a_known_key_and_a_reason_without_personal_data() -> None:
    owed = owe()
    with pytest.raises(outbox.UnknownNotification):
        outbox.cancel("report-ready/none", "report withdrawn")
    for reason in ("", "no", "ana@example.com asked", "call +4912345678", "x" * 501):
        with pytest.raises(outbox.SchemaError, match="reason"):
            outbox.cancel(owed.notification_id, reason)
    assert Intent.objects.get().state == "pending"


def test_the_story_of_an_unknown_key_is_a_refusal() -> None:
    owe(workspace="acme")
    assert outbox.explain("acme/report-ready/demo-001", workspace="acme")[0].endswith(
        "through email, written by notifyops_test_web."
    )
    with pytest.raises(outbox.UnknownNotification, match="default workspace"):
        outbox.explain("acme/report-ready/demo-001")


def test_a_box_holds_what_the_code_under_test_owes_and_not_what_it_took_back() -> None:
    owe("demo-001")
    with outbox.captured() as box:
        assert len(box) == 0
        owe("demo-002", to="bea@example.com")
        with pytest.raises(ZeroDivisionError), transaction.atomic():
            owe_and_fail("demo-003")
    assert [(one.report_id, one.to, one.data) for one in box] == [("demo-002", "bea@example.com", TITLE)]
    assert box[0].notification_type == "report_ready"
    assert repr(box) == f"Box([{box[0]!r}])"


def test_async_code_must_go_through_a_thread() -> None:
    async def careless() -> None:
        owe()

    with pytest.raises(SynchronousOnlyOperation):
        async_to_sync(careless)()

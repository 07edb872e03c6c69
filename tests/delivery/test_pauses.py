"""What a person paused is not claimed, costs nobody anything, and goes on when the pause is over or ended."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import DatabaseError, IntegrityError, connections, transaction

from notifications.delivery.link import PINNED
from notifications.door import next_due_s
from notifications.models import Intent, Pause, ProviderAccount
from notifications.pausing import PauseRefused, close_circuit, pause, resume, standing
from tests.delivery.test_circuits import calls
from tests.delivery.workplace import Workplace, connected

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
WHY = ("too_many", "")


def paused(scope: str, name: str, *, minutes: int = 60) -> Pause:
    return pause(scope, name, span=timedelta(minutes=minutes), reason=WHY, actor="user:lena")


def due_s(place: Workplace) -> float | None:
    async def scene() -> float | None:
        async with await connected(place.dsn()) as connection:
            await connection.execute(PINNED)
            return await next_due_s(connection, [place.account])

    found: float | None = place.play(scene())
    return found


def test_a_paused_type_waits_and_the_others_go_out(place: Workplace) -> None:
    for number in range(4):
        place.enqueue(f"once-{number}", kind="report_once")
        place.enqueue(f"ready-{number}")
    paused("type", "report_once")
    place.turn()
    assert {report: state for report, state in place.states().items() if state != "accepted"} == {
        f"once-{number}": "pending" for number in range(4)
    }
    assert place.turn() == []
    assert not Intent.objects.filter(state="pending").exclude(attempt_count=0).exists()


def test_a_paused_workspace_waits_also_where_it_shares_its_lane(place: Workplace) -> None:
    """Lanes are few and workspaces many: these two may stand in one, the paused one's backlog first."""
    place.enqueue_many(40, prefix="a", workspace="a")
    place.enqueue_many(3, prefix="b", workspace="b")
    place.sql("ALTER TABLE notifyops_private.notifications_intent DISABLE TRIGGER guarded")
    place.sql("UPDATE notifyops_private.notifications_intent SET lane = 17")
    place.sql("ALTER TABLE notifyops_private.notifications_intent ENABLE ALWAYS TRIGGER guarded")
    paused("workspace", "a")
    assert len(place.turn(room=8)) == 3
    assert set(Intent.objects.filter(workspace="b").values_list("state", flat=True)) == {"accepted"}
    assert set(Intent.objects.filter(workspace="a").values_list("state", flat=True)) == {"pending"}


def test_the_default_workspace_can_be_paused_by_its_empty_name(place: Workplace) -> None:
    place.enqueue("default")
    place.enqueue("other", workspace="other")
    paused("workspace", "")
    place.turn()
    assert place.states() == {"default": "pending", "other": "accepted"}


def test_a_paused_account_is_not_called_and_goes_on_by_itself_when_the_time_is_over(place: Workplace) -> None:
    place.enqueue_many(3)
    paused("account", "resend", minutes=30)
    assert place.turn() == []
    waits_s = due_s(place)
    assert waits_s is not None
    assert 1790 < waits_s <= 1800
    place.later(1801)
    assert len(place.turn()) == 3
    assert calls(place) == 3


def test_a_resumed_pause_ends_at_once_and_keeps_who_and_why(place: Workplace) -> None:
    place.enqueue()
    made = paused("type", "report_ready")
    assert place.turn() == []
    resume(made.pk, reason="The template is mended.", actor="user:lena")
    assert len(place.turn()) == 1
    row = Pause.objects.get()
    assert (row.actor, row.resumed_by, row.resume_reason) == ("user:lena", "user:lena", "The template is mended.")
    with pytest.raises(PauseRefused, match="over already"):
        resume(made.pk, reason="Once more, to be sure.", actor="user:olga")


def test_a_persons_retry_waits_as_well_and_loses_nothing(place: Workplace) -> None:
    intent = place.enqueue()
    (lease,) = place.claim()
    paused("type", "report_ready")
    place.later(61)  # its worker died: the lease is over, and nobody takes it up
    assert lease.id == intent
    assert place.turn() == []
    assert place.intent(intent).state == "sending"
    place.later(3600)
    place.turn()
    assert place.intent(intent).state == "accepted"


def test_nothing_is_busy_while_all_that_is_due_is_paused(place: Workplace) -> None:
    place.enqueue_many(5)
    paused("type", "report_ready", minutes=5)
    waits_s = due_s(place)
    assert waits_s is not None
    assert 290 < waits_s <= 300


def test_a_pause_of_a_type_does_not_hand_out_the_account_probe_for_nothing(place: Workplace) -> None:
    place.enqueue_many(3)
    place.sql(
        "INSERT INTO notifyops_private.notifications_circuit (account_id, open_until, reason, code) "
        "VALUES (%s, notifyops_private.clock_v1() - interval '1 s', 'outage', 'x')",
        place.account,
    )
    made = paused("type", "report_ready")
    assert place.turn() == []
    resume(made.pk, reason="It is mended, go on.", actor="user:lena")
    (probe,) = place.turn()
    assert probe.lease.probe


@pytest.mark.parametrize(
    ("scope", "name", "minutes", "reason", "told"),
    [
        ("type", "no_such_type", 5, WHY, "no notification type"),
        ("account", "nobody", 5, WHY, "no provider account"),
        ("workspace", "a b", 5, WHY, "up to 64"),
        ("team", "a", 5, WHY, "Choose what to pause"),
        ("type", "report_ready", 0, WHY, "one minute to 24 hours"),
        ("type", "report_ready", 24 * 60 + 1, WHY, "one minute to 24 hours"),
        ("type", "report_ready", 5, ("because", ""), "Choose a reason"),
        ("type", "report_ready", 5, ("other", ""), "Say why"),
        ("type", "report_ready", 5, ("other", "short"), "Say why"),
        ("type", "report_ready", 5, ("other", "ask ana@example.com about it"), "refer by ID"),
        ("type", "report_ready", 5, ("other", "a line\x00 that cannot be kept"), "Say why"),
    ],
)
def test_a_pause_that_makes_no_sense_is_refused_with_the_way_out(
    place: Workplace, scope: str, name: str, minutes: int, reason: tuple[str, str], told: str
) -> None:
    with pytest.raises(PauseRefused, match=told):
        pause(scope, name, span=timedelta(minutes=minutes), reason=reason, actor="user:lena")
    assert not Pause.objects.exists()


def test_the_same_thing_is_not_paused_twice_but_again_once_it_is_over(place: Workplace) -> None:
    first = paused("type", "report_ready")
    with pytest.raises(PauseRefused, match="paused already, by user:lena"):
        paused("type", "report_ready")
    paused("type", "report_once")
    resume(first.pk, reason="The template is mended.", actor="user:lena")
    paused("type", "report_ready")
    assert len(standing(Pause.objects.latest("pk").began_at)) == 2


@pytest.mark.parametrize(
    "wrong",
    [
        {"ends_at": "began_at + interval '25 hours'"},
        {"ends_at": "began_at"},
        {"scope": "'any'"},
        {"reason_code": "'because'"},
        {"scope": "'account'"},
        {"resumed_at": "began_at"},
    ],
)
def test_the_table_itself_holds_only_what_makes_sense(place: Workplace, wrong: dict[str, str]) -> None:
    said = {
        "scope": "'type'",
        "name": "'x'",
        "reason_code": "'other'",
        "actor": "'x'",
        "ends_at": "began_at + interval '1 h'",
    }
    columns = said | wrong
    insert = (
        f"INSERT INTO notifyops_private.notifications_pause (began_at, {', '.join(columns)}) "
        f"SELECT began_at, {', '.join(columns.values())} FROM (SELECT now() AS began_at) t"
    )
    with pytest.raises(IntegrityError), transaction.atomic(), connections["owner"].cursor() as cursor:
        cursor.execute(insert)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE notifyops_private.notifications_pause SET ends_at = ends_at + interval '1 h'",
        "UPDATE notifyops_private.notifications_pause SET actor = 'user:olga'",
        "DELETE FROM notifyops_private.notifications_pause",
    ],
)
def test_the_record_of_a_pause_cannot_be_changed_by_the_console(place: Workplace, statement: str) -> None:
    paused("type", "report_ready")
    with pytest.raises(DatabaseError, match="permission denied"), connections["default"].cursor() as cursor:
        cursor.execute(statement)


def test_workers_may_neither_pause_nor_fill_buckets(place: Workplace) -> None:
    paused("type", "report_ready")
    tries: list[Any] = [
        "DELETE FROM notifyops_private.notifications_pause",
        "UPDATE notifyops_private.notifications_pause SET resumed_at = now(), resumed_by = 'x', resume_reason = 'x'",
        "INSERT INTO notifyops_private.notifications_ratebucket (account_id, tokens, filled_at) VALUES (1, 1e9, now())",
    ]
    for statement in tries:
        with pytest.raises(Exception, match="permission denied"):
            place.sql(statement, role="worker")


def test_closing_a_circuit_is_recorded_and_ends_a_months_quota(place: Workplace) -> None:
    place.enqueue_many(9)
    place.sandbox.fault(kind="status", status=429, name="monthly_quota_exceeded", times=1)
    place.turn(room=1)
    assert place.turn() == []
    account = ProviderAccount.objects.get(name="resend")
    was = close_circuit(account, reason="The plan was upgraded.", actor="cli:lena@host")
    assert (was["reason"], was["open_until"]) == ("monthly_quota", "infinity")
    revision = account.revisions.get()
    assert (revision.actor, revision.reason, revision.revision) == ("cli:lena@host", "The plan was upgraded.", 2)
    assert len(place.turn()) < 8  # and no herd
    with pytest.raises(PauseRefused, match="closed already"):
        close_circuit(account, reason="The plan was upgraded.", actor="cli:lena@host")

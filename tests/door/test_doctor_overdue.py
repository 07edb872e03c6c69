"""What is due and never claimed is named although the loops are busy: one lane starved, one account without a host."""

from __future__ import annotations

import pytest

from tests.door.conftest import Owner, Tell
from tests.door.test_doctor import examined

pytestmark = pytest.mark.django_db(databases=["default", "owner"])
LATER_S = 600


def later(owner: Owner, seconds: int = LATER_S) -> None:
    owner.execute("SELECT set_config('notifyops_test.shift', %s, true)", (f"{seconds} s",))


def beat(owner: Owner, *, alive_s: int = 300, sends: bool = True) -> None:
    """Let a loop live, for so long, that claimed something a moment ago (or found nothing)."""
    owner.execute(
        "INSERT INTO notifyops_private.notifications_workerbeat (worker, host, role, slot, started_at, beat_at,"
        " claimed_at, sends) SELECT 'w9', 'h', 'loop', 1, n - make_interval(secs => %s), n, n, %s"
        " FROM notifyops_private.clock_v1() AS n",
        (alive_s, sends),
    )


def test_one_starved_lane_is_named_while_another_is_served(owner: Owner, tell: Tell) -> None:
    tell()
    later(owner)
    beat(owner)
    tell(priority="urgent").claim()
    assert "nothing_overdue" in examined(owner)


def test_an_account_that_no_host_can_use_is_named(owner: Owner, tell: Tell) -> None:
    waiting = tell()
    owner.execute(
        "INSERT INTO notifyops_private.notifications_provideraccount (name, kind, channel, base_url, sender,"
        " api_key_ref) SELECT 'other', kind, channel, base_url, sender, 'env:NOT_SET_ANYWHERE'"
        " FROM notifyops_private.notifications_provideraccount WHERE name = 'resend'"
    )
    owner.execute("ALTER TABLE notifyops_private.notifications_intent DISABLE TRIGGER USER")
    owner.execute(
        "UPDATE notifyops_private.notifications_intent SET account_id ="
        " (SELECT id FROM notifyops_private.notifications_provideraccount WHERE name = 'other') WHERE id = %s",
        (waiting.id,),
    )
    later(owner)
    beat(owner)
    tell().claim()  # of the account that every host can use, and of the same lane
    assert "nothing_overdue" in examined(owner)


def test_a_lane_that_is_served_may_have_a_backlog(owner: Owner, tell: Tell) -> None:
    tell()
    later(owner)
    beat(owner)
    tell().claim()
    assert "nothing_overdue" not in examined(owner)


def test_loops_that_have_just_come_back_are_given_time(owner: Owner, tell: Tell) -> None:
    tell()
    later(owner)
    beat(owner, alive_s=10)
    assert "nothing_overdue" not in examined(owner)


def test_a_site_that_sends_nothing_owes_no_claim(owner: Owner, tell: Tell) -> None:
    tell()
    later(owner)
    beat(owner, sends=False)
    assert "nothing_overdue" not in examined(owner)


def test_a_circuit_that_has_just_closed_may_have_a_backlog(owner: Owner, tell: Tell) -> None:
    waiting = tell()
    later(owner)
    beat(owner)
    tell(priority="urgent").claim()
    closed = (
        "INSERT INTO notifyops_private.notifications_circuit (account_id, recovered_at) SELECT account_id,"
        " notifyops_private.clock_v1() - %s * interval '1 s' FROM notifyops_private.notifications_intent WHERE id = %s"
        " ON CONFLICT (account_id) DO UPDATE SET recovered_at = excluded.recovered_at"
    )
    owner.execute(closed, (30, waiting.id))
    assert "nothing_overdue" not in examined(owner)
    owner.execute(closed, (130, waiting.id))
    assert "nothing_overdue" in examined(owner)


def test_with_a_slow_rate_a_lane_may_wait_as_long_as_its_account_is_served(owner: Owner, tell: Tell) -> None:
    waiting = tell()
    later(owner)
    beat(owner)
    tell(priority="urgent").claim()
    limited = "UPDATE notifyops_private.notifications_provideraccount SET rate_per_s = %s"
    owner.execute(limited, (1,))
    assert "nothing_overdue" not in examined(owner)
    owner.execute(limited, (1000,))
    assert "nothing_overdue" in examined(owner)
    owner.execute(limited, (1,))
    owner.execute("SELECT set_config('notifyops_test.shift', '900 s', true)")
    owner.execute(
        "UPDATE notifyops_private.notifications_workerbeat SET beat_at = n, claimed_at = n"
        " FROM (SELECT notifyops_private.clock_v1() AS n) t"
    )
    assert waiting.column("state") == "pending"
    assert "nothing_overdue" in examined(owner)  # nothing of the account was claimed for five minutes


@pytest.mark.parametrize(
    ("scope", "name", "is_late"),
    [
        ("type", "report_ready", False),
        ("type", "report_once", True),
        ("workspace", "", False),
        ("workspace", "other", True),
        ("account", "resend", False),
    ],
)
def test_what_is_paused_is_not_overdue(owner: Owner, tell: Tell, scope: str, name: str, is_late: bool) -> None:
    waiting = tell()
    later(owner)
    beat(owner)
    tell(priority="urgent").claim()
    owner.execute(
        "INSERT INTO notifyops_private.notifications_pause (scope, name, account_id, reason_code, actor, began_at,"
        " ends_at) SELECT %(scope)s::text, %(name)s, CASE WHEN %(scope)s::text = 'account' THEN i.account_id END,"
        " 'other', 'x', n, n + interval '1 h' FROM notifyops_private.clock_v1() AS n,"
        " notifyops_private.notifications_intent i WHERE i.id = %(id)s",
        {"scope": scope, "name": name, "id": waiting.id},
    )
    assert ("nothing_overdue" in examined(owner)) == is_late
    # Resumed a moment ago: it is given time to go out.
    owner.execute(
        "UPDATE notifyops_private.notifications_pause SET resumed_at = notifyops_private.clock_v1(),"
        " resumed_by = 'x', resume_reason = 'x'"
    )
    assert ("nothing_overdue" in examined(owner)) == is_late

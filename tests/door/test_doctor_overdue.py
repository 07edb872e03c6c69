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

"""What the outcomes feed does after a copy and a restore: nothing is pushed from there, and no position comes twice."""

from __future__ import annotations

from typing import Any

import pytest

from notifications.delivery import site
from notifications.models import FeedCursor
from tests.api.feed import advance, read
from tests.api.test_push import add, closed, receiver, rounds
from tests.delivery.recovering import REASON, opened, recovered
from tests.delivery.test_site import planted
from tests.delivery.workplace import Workplace
from tests.intake.notify_cli import notify
from tests.sandbox.receiver import Receiver

__all__ = ["receiver"]
pytestmark = [pytest.mark.django_db(transaction=True, databases=["default", "owner"]), pytest.mark.slow]
POSITION = "SELECT last_value FROM notifyops_private.notifications_logentry_id_seq"


@pytest.mark.parametrize("how", [{"system": 1}, {"timeline": 1}, {"site": "production"}], ids=str)
def test_a_copy_calls_none_of_the_originals_receivers(
    place: Workplace, receiver: Receiver, how: dict[str, Any]
) -> None:
    add("shop", receiver.url)
    closed(place, 1)
    planted(place, **how)
    rounds(place)
    assert (receiver.got, FeedCursor.objects.get().failure_count) == ([], 0)


def test_nothing_is_pushed_while_a_recovery_is_open(place: Workplace, receiver: Receiver) -> None:
    add("shop", receiver.url)
    closed(place, 1)
    opened(place)
    assert site.trouble("test") == "recovering"
    rounds(place)
    assert receiver.got == []
    told = notify("recover", "--waive", "--reason", REASON)
    assert told.code == 0, told.err
    rounds(place)
    assert len(receiver.got) == 1


def test_an_endpoint_gets_nothing_in_another_mode_until_it_is_enabled_there(
    place: Workplace, receiver: Receiver, settings: Any
) -> None:
    """A copy of the live database that was adopted in the sandbox: the live receivers hear nothing of it."""
    settings.NOTIFYOPS_SITE_MODE = "live"
    add("shop", receiver.url)
    closed(place, 1)
    rounds(place, mode="sandbox")
    assert receiver.got == []
    settings.NOTIFYOPS_SITE_MODE = "sandbox"
    assert notify("endpoint", "list", "--json").document[0]["site_mode"] == "live"
    assert notify("endpoint", "enable", "shop").code == 0
    rounds(place, mode="sandbox")
    assert len(receiver.got) == 1


def test_no_webhook_id_is_given_to_another_outcome(place: Workplace, receiver: Receiver) -> None:
    """The log's numbers go back with the restored database, and the recovery jumps past those of the lost time."""
    add("shop", receiver.url)
    closed(place, 1)
    rounds(place)
    ((used,),) = place.sql(POSITION)
    opened(place)
    ((after,),) = place.sql(POSITION)
    assert after > used + 100_000_000


def test_a_consumer_that_read_of_the_lost_time_hears_of_what_comes_after_the_restore(place: Workplace) -> None:
    closed(place, 1)
    ((restored,),) = place.sql(POSITION)
    read_up_to = restored + 4
    recovered(place)
    closed(place, 1, workspace="acme")
    advance(place)
    assert [row[1] for row in read(place, read_up_to)] == ["acme/report-ready/acme-0"]


def test_waiving_jumps_as_well(place: Workplace) -> None:
    closed(place, 1)
    ((before,),) = place.sql(POSITION)
    planted(place, timeline=1)
    assert notify("recover", "--waive", "--reason", REASON).code == 0
    ((after,),) = place.sql(POSITION)
    assert after > before + 100_000_000

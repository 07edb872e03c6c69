"""`notify recover` at the terminal: plans by default, begins only on a clear word with a reason, and can be watched."""

from __future__ import annotations

import pytest

from notifications.delivery import site
from notifications.models import Recovery, SiteAdoption
from tests.delivery.recovering import REASON, round_of_questions, tended, trouble
from tests.delivery.test_site import planted
from tests.delivery.workplace import Workplace
from tests.intake.notify_cli import notify

pytestmark = [pytest.mark.django_db(transaction=True, databases=["default", "owner"]), pytest.mark.slow]


def test_it_plans_and_changes_nothing_until_it_is_confirmed(place: Workplace) -> None:
    place.enqueue()
    told = notify("recover", "--since", "2h")
    assert (told.code, told.err) == (0, "")
    assert "1 pending, 0 retry" in told.out
    assert "--confirm" in told.out
    assert notify("recover", "--since", "2h", "--json").document["pending"] == 1
    assert not Recovery.objects.exists()
    assert trouble(place) is None


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "only you know the restored point"),
        (("--since", "yesterday"), "is no time"),
        (("--since", "2026-11-30T18:00:00"), "names no time zone"),
        (("--since", "2999-01-01T00:00:00Z"), "and past"),
        (("--since", "40d"), "last 29 days"),
        (("--since", "999999d"), "last 29 days"),
        (("--since", "2h", "--confirm"), "--reason"),
        (("--since", "2h", "--confirm", "--reason", "short"), "10 to 500 characters"),
        (("--waive",), "--reason"),
    ],
)
def test_bad_input_is_a_sentence_and_changes_nothing(
    place: Workplace, arguments: tuple[str, ...], sentence: str
) -> None:
    told = notify("recover", *arguments)
    assert (told.code, told.out) == (1, "")
    assert sentence in told.err
    assert not Recovery.objects.exists()


def test_a_recovery_by_hand_is_audited_watched_and_ends(place: Workplace) -> None:
    """A snapshot of the disk keeps server and timeline: nothing here shows that it was put back."""
    intent = place.enqueue()
    begun = notify("recover", "--since", "2h", "--confirm", "--reason", REASON)
    assert "waits for the cluster's chores" in begun.out
    row = Recovery.objects.get()
    assert row.actor.startswith("cli:")
    assert row.reason == REASON
    again = notify("recover", "--since", "3h", "--confirm", "--reason", REASON)
    assert (again.code, Recovery.objects.count()) == (0, 1)
    assert "is open already" in again.err
    refused = notify("adopt-site", "--reason", REASON)
    assert (refused.code, "notify recover" in refused.err) == (1, True)

    tended(place)
    assert "1 is held, 1 waits" in notify("recover").out
    assert place.log(intent)[-1]["detail"]["recovery"] == row.pk
    place.later(130)
    round_of_questions(place)
    tended(place)
    assert "Finished: 1 was held, 1 is left to a person" in notify("recover", "--wait").out
    assert notify("recover", "--json").document["unknown_here"] == []
    assert trouble(place) is None


def test_an_open_recovery_can_be_waived_and_what_is_held_stays_held(place: Workplace) -> None:
    intent = place.enqueue()
    notify("recover", "--since", "2h", "--confirm", "--reason", REASON)
    tended(place)
    told = notify("recover", "--waive", "--reason", "The provider is away, and time presses.")
    assert told.code == 0
    row = Recovery.objects.get()
    assert (row.waive_reason, row.finished_at is not None) == ("The provider is away, and time presses.", True)
    assert trouble(place) is None
    assert place.turn() == []
    assert place.intent(intent).error_code == "restored"
    nothing = notify("recover", "--waive", "--reason", "The provider is away, and time presses.")
    assert "nothing was changed" in nothing.out


@pytest.mark.parametrize("changes", [{"timeline": 1}, {"system": 1}])
def test_a_restored_database_needs_no_since_and_is_adopted_by_the_recovery(
    place: Workplace, changes: dict[str, object]
) -> None:
    place.enqueue("demo-000")
    place.turn()
    planted(place, **changes)
    assert site.trouble("test") in ("restored", "copied")
    assert "1 accepted without a receipt" in notify("recover").out
    assert notify("recover", "--confirm", "--reason", REASON).code == 0
    assert SiteAdoption.objects.latest("id").reason == REASON
    assert site.trouble("test") == "recovering"


def test_another_sites_database_is_not_recovered_but_adopted(place: Workplace) -> None:
    planted(place, site="other")
    told = notify("recover", "--since", "2h", "--confirm", "--reason", REASON)
    assert (told.code, "adopt-site" in told.err) == (1, True)
    assert not Recovery.objects.exists()

"""Another account takes over only what is proven not to have left, and only while its own is not called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from notifications.states import EntryKind, State
from tests.door.conftest import Owner, Tell
from tests.door.fallback import down, told
from tests.door.story import Story

pytestmark = pytest.mark.django_db(databases=["default", "owner"])
Told = Callable[[Owner, Story], Any]


def fails_over(story: Story, **changed: Any) -> str | None:
    return story.append(EntryKind.FAILED_OVER, delay_s=0, known="not_sent", detail={**told(story), **changed})


def unsent(story: Story, **columns: Any) -> Story:
    return story.claim().result("not_sent", State.RETRY, delay_s=0, failure=True, **columns)


def run(query: str) -> Told:
    return lambda owner, story: owner.execute(query.encode(), {"id": story.id, "account": story.column("account_id")})


def test_it_goes_over_as_a_new_generation_with_a_full_ladder(owner: Owner, tell: Tell) -> None:
    story = down(owner, unsent(tell()))
    before = told(story)
    assert fails_over(story) is None
    assert story.column("account_id") == before["to_id"]
    assert (story.column("state"), story.column("generation"), story.column("failure_count")) == ("retry", 2, 0)
    row = owner.execute("SELECT invariant FROM notifyops_private.doctor_v1(%s::bigint[])", ([story.id],)).fetchall()
    assert row == []


REFUSALS: dict[str, tuple[Told, str]] = {
    "ambiguous": (lambda _, story: story.unknown(), "ambiguous"),
    "a lost worker's attempt": (
        lambda _, story: story.claim(lease_s=-1).append(
            EntryKind.LEASE_LOST, State.RETRY, fence=1, outcome="unknown", delay_s=0
        ),
        "ambiguous",
    ),
    "a receipt that lies here": (
        run(
            "INSERT INTO notifyops_private.notifications_providerevent (account_id, event_id, type, tag_intent,"
            " tag_generation, source, raw_sha256, received_at)"
            " VALUES (%(account)s, 'e1', 'email.delivered', %(id)s, 1, 'webhook', '', now())"
        ),
        "ambiguous",
    ),
    "an answer that names a message": (lambda _, story: story.evidence("found", "pm-1"), "ambiguous"),
    "the circuit has closed": (
        run("UPDATE notifyops_private.notifications_circuit SET open_until = NULL"), "account_works",
    ),
    "the circuit wants its probe": (
        run("UPDATE notifyops_private.notifications_circuit SET open_until = now() - interval '1 s'"), "account_works",
    ),
    "not long enough": (
        run("UPDATE notifyops_private.notifications_provideraccount SET fallback_after_s = 60"), "account_works",
    ),
    "the fallback is disabled": (
        run("UPDATE notifyops_private.notifications_provideraccount SET enabled = false WHERE name = 'spare'"),
        "no_fallback",
    ),
    "the fallback is for another channel": (
        run("UPDATE notifyops_private.notifications_provideraccount SET channel = 'sms' WHERE name = 'spare'"),
        "no_fallback",
    ),
    "the fallback is not called either": (
        run(
            "INSERT INTO notifyops_private.notifications_circuit (account_id, open_until, reason)"
            " SELECT id, now() + interval '1 hour', 'outage' FROM notifyops_private.notifications_provideraccount"
            " WHERE name = 'spare'"
        ),
        "no_fallback",
    ),
    "somebody paused the account": (
        run(
            "INSERT INTO notifyops_private.notifications_pause (scope, name, account_id, reason_code, actor, ends_at)"
            " VALUES ('account', 'resend', %(account)s, 'maintenance', 'user:lena', now() + interval '1 hour')"
        ),
        "no_fallback",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSALS)
def test_it_stays_where_anything_speaks_against_it(owner: Owner, tell: Tell, name: str) -> None:
    change, word = REFUSALS[name]
    story = down(owner, tell())
    with owner.transaction(force_rollback=True):
        assert fails_over(story) is None
    change(owner, story)
    assert fails_over(story) == word


def test_an_entry_that_names_other_accounts_is_refused(owner: Owner, tell: Tell) -> None:
    story = down(owner, tell())
    assert fails_over(story, to_id=told(story)["from_id"]) == "no_fallback"
    assert fails_over(story, from_id=None) == "no_fallback"
    assert fails_over(story) is None


def test_it_never_comes_back(owner: Owner, tell: Tell) -> None:
    story = down(owner, tell())
    first = told(story)["from_id"]
    assert fails_over(story) is None
    # Then the fallback fails as well, and somebody has turned the two round.
    owner.execute("UPDATE notifyops_private.notifications_circuit SET account_id = %s", (story.column("account_id"),))
    owner.execute(
        "UPDATE notifyops_private.notifications_provideraccount SET fallback_after_s = 0,"
        " fallback_id = CASE name WHEN 'spare' THEN %s::bigint END",
        (first,),
    )
    assert fails_over(story) == "was_there"


def test_what_its_account_has_just_refused_goes_over_at_once(owner: Owner, tell: Tell) -> None:
    story = down(owner, tell(), after_s=600)
    unsent(story, detail={"of_account": True})
    other = unsent(tell())
    assert fails_over(story) is None
    assert fails_over(other) == "account_works"


def test_the_account_changes_by_no_other_entry(owner: Owner, tell: Tell) -> None:
    story = down(owner, tell())
    spare = told(story)["to_id"]
    with pytest.raises(psycopg.DatabaseError, match="state moves only"), owner.transaction():
        owner.execute(
            "UPDATE notifyops_private.notifications_intent SET account_id = %s WHERE id = %s", (spare, story.id)
        )


def test_since_when_a_circuit_is_open_is_kept_while_it_is_probed(owner: Owner, tell: Tell) -> None:
    story = down(owner, tell())

    def opened() -> Any:
        row = owner.execute("SELECT opened_at FROM notifyops_private.notifications_circuit").fetchone()
        return row[0] if row else None

    first = opened()
    owner.execute("SELECT set_config('notifyops_test.shift', '100s', true)")
    down(owner, story)
    assert opened() == first is not None
    owner.execute("UPDATE notifyops_private.notifications_circuit SET open_until = NULL")
    assert opened() is None
    down(owner, story)
    assert opened() > first

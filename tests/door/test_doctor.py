"""Every invariant has a violation planted past the guards, and the doctor names it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from psycopg import sql

from notifications.doctor import INVARIANTS, check_all, check_moved
from notifications.states import EntryKind, State
from tests.door.conftest import Owner, Tell
from tests.door.story import Story
from tests.intake.notify_cli import notify

pytestmark = pytest.mark.django_db(databases=["default", "owner"])
PRIVATE = "notifyops_private"
Plant = Callable[[Owner, Story, Story], None]


def examined(owner: Owner, *ids: int) -> set[str]:
    """Give the names of the violations that the database's doctor finds, of these intents and of the site."""
    rows = owner.execute("SELECT invariant FROM notifyops_private.doctor_v1(%s::bigint[])", (list(ids),)).fetchall()
    rows += owner.execute("SELECT invariant FROM notifyops_private.doctor_v1()").fetchall()
    return {row[0] for row in rows}


def without_guards(owner: Owner, *tables: str, drop: tuple[str, ...] = ()) -> None:
    """Switch off what makes the violation impossible, inside the test's transaction."""
    for table in tables:
        name = sql.Identifier(PRIVATE, f"notifications_{table}")
        owner.execute(sql.SQL("ALTER TABLE {} DISABLE TRIGGER USER").format(name))
    for constraint in drop:
        owner.execute(
            sql.SQL("ALTER TABLE notifyops_private.notifications_intent DROP CONSTRAINT {}").format(
                sql.Identifier(constraint)
            )
        )


def set_intent(text: str, *, drop: tuple[str, ...] = ()) -> Plant:
    def plant(owner: Owner, story: Story, other: Story) -> None:
        without_guards(owner, "intent", drop=drop)
        query = f"UPDATE notifyops_private.notifications_intent SET {text} WHERE id = %(id)s"
        owner.execute(query.encode(), {"id": story.id, "other": other.id})

    return plant


def set_entry(text: str, where: str = "true") -> Plant:
    def plant(owner: Owner, story: Story, other: Story) -> None:
        without_guards(owner, "logentry")
        query = f"UPDATE notifyops_private.notifications_logentry SET {text} WHERE intent_id = %(id)s AND {where}"
        assert owner.execute(query.encode(), {"id": story.id}).rowcount > 0

    return plant


def run(text: str, *tables: str) -> Plant:
    def plant(owner: Owner, story: Story, other: Story) -> None:
        without_guards(owner, *tables)
        owner.execute(text.encode(), {"id": story.id, "other": other.id})

    return plant


# The planted story: claimed, unknown, claimed again, not sent (in retry, two attempts). The other one is accepted.
PLANTS: dict[str, Plant] = {
    "lease_iff_sending": set_intent("leased_by = 'w1'", drop=("intent_leased_iff_sending",)),
    "one_open_attempt": set_entry("kind = 'evidence'", "kind = 'result' AND attempt = 2"),
    "attempts_counted": set_intent("attempt_count = 7"),
    "counts_capped": set_intent("failure_count = 4", drop=("intent_counts",)),
    "attempts_gapless": set_entry("attempt = 3", "attempt = 2"),
    "fences_rise": set_entry("fence = 1", "attempt = 2"),
    "seq_gapless": set_entry("seq = 9", "seq = 4"),
    "chain_linked": set_entry("prev = sha256('x')", "seq = 3"),
    "head_is_last": set_intent("head = sha256('x')"),
    "moves_legal": set_entry("to_state = 'closed'", "seq = 4"),
    "schedule_fits_state": set_intent("next_attempt_at = NULL", drop=("intent_scheduled_iff_moving",)),
    "review_says_why": set_intent(
        "state = 'needs_review', next_attempt_at = NULL, known = NULL", drop=("intent_review_says_why",)
    ),
    "result_by_fence": set_entry("fence = 1", "kind = 'result' AND attempt = 2"),
    "person_is_named": set_entry("kind = 'retried', actor = NULL", "seq = 4"),
    "approver_is_another": run(
        "WITH e AS (UPDATE notifyops_private.notifications_logentry SET kind = 'released', actor = 'user:lena'"
        " WHERE intent_id = %(id)s AND seq = 4)"
        " UPDATE notifyops_private.notifications_intent SET actor = 'user:lena' WHERE id = %(id)s",
        "intent", "logentry",
    ),
    "resend_by_two": set_entry("kind = 'retried', reason_code = 'forced_resend', actor = 'user:olga'", "seq = 4"),
    "new_key_is_earned": set_entry("kind = 're_prepared', generation = 2", "seq = 4"),
    "failover_is_proven": set_entry("kind = 'failed_over', generation = 2", "seq = 4"),
    "one_account_accepts": run(
        "WITH e AS (UPDATE notifyops_private.notifications_logentry SET outcome = 'accepted', generation = attempt"
        " WHERE intent_id = %(id)s AND kind = 'result')"
        " INSERT INTO notifyops_private.notifications_prepared"
        " (intent_id, generation, account_id, body, sha256, subject, template_version, site_mode)"
        " SELECT intent_id, 2, account_id + 1, body, sha256, subject, template_version, site_mode"
        " FROM notifyops_private.notifications_prepared WHERE intent_id = %(id)s", "logentry",
    ),
    "one_id_per_key": set_entry("provider_message_id = 'pm-' || seq", "kind = 'result'"),
    "one_intent_per_id": set_intent(
        "provider_message_id = (SELECT o.provider_message_id FROM notifyops_private.notifications_intent o"
        " WHERE o.id = %(other)s)"
    ),
    "provider_key_is_own": run(
        "INSERT INTO notifyops_private.notifications_intentkey"
        " (key, workspace, report_id, type, fingerprint, intent_id)"
        " SELECT notification_id, 'elsewhere', report_id, type, '', %(other)s"
        " FROM notifyops_private.notifications_intent WHERE id = %(id)s", "intentkey",
    ),
    "bytes_frozen": run(
        "UPDATE notifyops_private.notifications_prepared SET body = 'other' WHERE intent_id = %(id)s", "prepared"
    ),
    "sent_only_what_is_frozen": run(
        "DELETE FROM notifyops_private.notifications_prepared WHERE intent_id = %(id)s", "prepared"
    ),
    "no_send_past_window": set_intent("safe_until = now() - interval '1 day'"),
    "never_twice": run(
        "UPDATE notifyops_private.notifications_intent SET type = 'report_once' WHERE id = %(id)s", "intent"
    ),
    "no_address_in_log": set_entry("detail = '{\"to\": \"ana@example.com\"}'", "seq = 2"),
    "receipts_once_and_verified": set_entry("kind = 'receipt'", "seq = 4"),
    "content_kept": run("DELETE FROM notifyops_private.notifications_content WHERE intent_id = %(id)s", "content"),
    "key_kept": run("DELETE FROM notifyops_private.notifications_intentkey WHERE intent_id = %(id)s", "intentkey"),
    "nothing_overdue": run(
        "WITH b AS (INSERT INTO notifyops_private.notifications_workerbeat"
        " (worker, host, role, slot, started_at, beat_at) VALUES ('w9', 'h', 'loop', 1, now(), now()))"
        " UPDATE notifyops_private.notifications_intent SET next_attempt_at = now() - interval '5 min'"
        " WHERE id = %(id)s",
        "intent", "workerbeat",
    ),
    "triggers_always": run("ALTER TABLE notifyops_private.notifications_intentkey ENABLE TRIGGER only_grows"),
    "schedules_are_ours": run(
        "ALTER TABLE notifyops_private.django_q_schedule DROP CONSTRAINT schedule_ours_only;"
        " INSERT INTO notifyops_private.django_q_schedule (func, schedule_type, repeats) VALUES ('os.system', 'O', 1)"
    ),
    "partitions_ahead": run(
        "SELECT set_config('notifyops_test.shift', '3 years', true)"
    ),
    "default_partition_empty": run(
        "INSERT INTO notifyops_private.notifications_logentry SELECT id, '1999-01-01', intent_id, 900, at, kind,"
        " from_state, to_state, attempt, generation, trigger, fence, worker, outcome, code, phase, http_status,"
        " duration_ms, provider_message_id, actor, reason_code, detail, prev, hash"
        " FROM notifyops_private.notifications_logentry"
        " WHERE intent_id = %(id)s LIMIT 1"
    ),
    "owned_by_owner": run("SELECT 1"),  # planted by the superuser, below
    "roles_bounded": run("GRANT UPDATE ON notifyops_private.notifications_intent TO notifyops_test_web"),
}  # fmt: skip
# Judged outside the database's function, each with a test of its own below.
ELSEWHERE = {"moves_are_code", "log_has_its_intent"}


def planted_story(tell: Tell) -> Story:
    story = tell().unknown()
    story.claim()
    return story.result("not_sent", State.RETRY, delay_s=600, failure=True)


def test_every_invariant_has_its_planted_violation() -> None:
    assert set(PLANTS) | ELSEWHERE == set(INVARIANTS)


def test_honest_stories_break_nothing(owner: Owner, tell: Tell) -> None:
    stories = [tell(), planted_story(tell), tell().accepted(), tell().claim(), tell("report_approved")]
    stories.append(tell("report_once").unknown(State.NEEDS_REVIEW))
    stories[2].append(
        EntryKind.LATE, fence=1, attempt=1, outcome="accepted", provider_message_id=f"pm-{stories[2].name}"
    )
    assert (
        stories[4].append(EntryKind.RELEASED, State.PENDING, actor="user:lena", seq=1, reason_code="approved") is None
    )
    assert examined(owner, *(story.id for story in stories)) == set()


def test_an_attempt_before_the_clock_was_put_back_is_not_past_a_window_that_began_after_it(
    owner: Owner, tell: Tell
) -> None:
    story = tell().claim()
    story.result("not_sent", State.RETRY, delay_s=-3600)
    owner.execute("SELECT set_config('notifyops_test.shift', '-300s', true)")
    story.unknown(State.NEEDS_REVIEW, window_s=0)
    assert examined(owner, story.id) == set()


@pytest.mark.parametrize("invariant", [name for name in PLANTS if name != "owned_by_owner"])
def test_a_planted_violation_is_named(owner: Owner, tell: Tell, invariant: str) -> None:
    story, other = planted_story(tell), tell().accepted()
    assert examined(owner, story.id, other.id) == set()
    PLANTS[invariant](owner, story, other)
    assert invariant in examined(owner, story.id, other.id)


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE notifyops_private.notifications_deliveryblock OWNER TO notifyops_test_web",
        "ALTER FUNCTION notifyops_private.wake_v1() OWNER TO notifyops_test_worker",
    ],
)
def test_what_a_runtime_role_owns_is_named(as_role: Callable[..., Owner], statement: str) -> None:
    admin = as_role("postgres", autocommit=False)
    admin.execute(statement.encode())
    assert "owned_by_owner" in examined(admin)
    admin.rollback()


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER ROLE notifyops_test_web SUPERUSER",
        "ALTER ROLE notifyops_test_worker CREATEROLE",
        "GRANT notifyops_test_owner TO notifyops_test_web",
        "GRANT INSERT ON notifyops_private.notifications_logentry TO notifyops_test_worker",
        "GRANT TRUNCATE ON notifyops_private.notifications_content TO PUBLIC",
    ],
)
def test_a_role_that_could_pass_the_door_is_named(as_role: Callable[..., Owner], statement: str) -> None:
    admin = as_role("postgres", autocommit=False)
    admin.execute(
        "INSERT INTO notifyops_private.notifications_doorrole VALUES ('notifyops_test_web', 'person'), "
        "('notifyops_test_worker', 'worker') ON CONFLICT DO NOTHING"
    )
    assert "roles_bounded" not in examined(admin)
    admin.execute(statement.encode())
    assert "roles_bounded" in examined(admin)
    admin.rollback()


@pytest.mark.role("owner")
def test_a_move_that_only_the_database_knows_is_named(owner: Owner) -> None:
    from django.db import connection

    assert [one for one in check_all() if one.invariant == "moves_are_code"] == []
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM notifyops_private.move WHERE kind = 'held'")
        cursor.execute("INSERT INTO notifyops_private.move VALUES ('closed', 'sending', 'closed', 'person')")
    found = {one.detail for one in check_all() if one.invariant == "moves_are_code"}
    assert found == {
        "closed sending closed person is only in the database",
        "held pending needs_review intake is only in the code",
    }


@pytest.mark.role("owner")
def test_entries_of_a_vanished_intent_are_named_and_the_command_fails(owner: Owner) -> None:
    from django.db import connection

    approved = ("enqueue", "report_approved", "demo-001", "ana@example.com", "--data", '{"title": "Q3"}')
    assert notify(*approved).code == 0
    clean = notify("doctor")
    assert (clean.code, clean.out) == (0, f"{len(INVARIANTS)} invariants checked, 0 violations\n")
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE notifyops_private.notifications_intent DISABLE TRIGGER USER")
        cursor.execute("DELETE FROM notifyops_private.notifications_intent")
    broken = notify("doctor", "--json")
    assert broken.code == 1
    names = [one["invariant"] for one in broken.document["violations"]]
    assert "log_has_its_intent" in names
    printed = notify("doctor")
    assert printed.code == 1
    assert "log_has_its_intent" in printed.out


@pytest.mark.role("owner")
def test_the_check_every_minute_looks_at_what_moved_and_says_where_to_go_on(owner: Owner) -> None:
    from django.db import connection

    notify("enqueue", "report_approved", "demo-001", "ana@example.com", "--data", '{"title": "Q3"}')
    found, newest = check_moved(0)
    assert (found, newest > 0) == ([], True)
    assert check_moved(newest) == ([], newest)
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE notifyops_private.notifications_intent DISABLE TRIGGER USER")
        cursor.execute("UPDATE notifyops_private.notifications_intent SET attempt_count = 2")
    assert [one.invariant for one in check_moved(0)[0]] == ["attempts_counted"]

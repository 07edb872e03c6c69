"""Fair shares: nobody's burst starves another, the urgent come first, and the claim stays on its index."""

from __future__ import annotations

import time

import psycopg
import pytest

from notifications.delivery.link import PINNED
from notifications.door import pick
from notifications.models import Intent
from notifications.states import EntryKind, State
from tests.delivery.workplace import Workplace, connected
from tests.reviews.deciding import correct

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
_CALL = "SELECT id FROM notifyops_private.pick_v1(%s, %s, %s)"


def picked(place: Workplace, room: int, full: list[int] | None = None) -> dict[str, int]:
    """Pick and roll back; give how many of each report's prefix."""

    async def scene() -> dict[str, int]:
        found = dict[str, int]()
        async with await connected(place.dsn()) as connection, connection.transaction(force_rollback=True):
            for one in await pick(connection, room, [place.account], full or []):
                prefix = one.report_id.split("-")[0]
                found[prefix] = found.get(prefix, 0) + 1
        return found

    result: dict[str, int] = place.play(scene())
    return result


def test_the_urgent_come_first_and_every_eighth_place_is_for_the_others(place: Workplace) -> None:
    place.enqueue_many(40, prefix="urgent", priority="urgent")
    place.enqueue_many(40, prefix="normal")
    assert picked(place, 8) == {"urgent": 7, "normal": 1}
    shares = [picked(place, 16) for _ in range(6)]
    assert all(13 <= share["urgent"] <= 14 and share["normal"] >= 2 for share in shares)


def test_three_classes_share_by_eighths_all_the_way_down(place: Workplace) -> None:
    for name in ("urgent", "normal", "bulk"):
        place.enqueue_many(80, prefix=name, priority=name)
    share = picked(place, 64)
    assert share["urgent"] >= 55
    assert share["normal"] >= 6
    assert share["bulk"] >= 1


def test_even_one_place_at_a_time_reaches_the_lowest_class(place: Workplace) -> None:
    place.enqueue_many(5, prefix="urgent", priority="urgent")
    place.enqueue_many(5, prefix="bulk", priority="bulk")
    seen = [next(iter(picked(place, 1))) for _ in range(120)]
    assert 2 <= seen.count("bulk") <= 40


def test_a_class_alone_gets_all_the_room(place: Workplace) -> None:
    place.enqueue_many(40, prefix="bulk", priority="bulk")
    assert picked(place, 32) == {"bulk": 32}


def test_what_a_person_orders_goes_before_every_backlog(place: Workplace) -> None:
    """A retry, an approval and a corrected address, behind ninety imported before them in the same lane."""
    held = place.enqueue("held", kind="report_approved")
    gone, refused = place.enqueue("gone"), place.enqueue("refused")
    place.sandbox.fault(kind="status", status=422, name="validation_error", message="Invalid `to` field.", times=2)
    place.turn()
    place.enqueue_many(90, prefix="backlog")
    place.later(600)
    assert place.person(EntryKind.RETRIED, gone, State.RETRY, delay_s=0.0).refused is None
    assert place.person(EntryKind.RELEASED, held, State.PENDING).refused is None
    correct(place.intent(refused), shift_s=place.shift_s)
    place.later(10)
    lanes = Intent.objects.exclude(report_id__startswith="backlog").exclude(pk=refused)
    assert {lane // 16 for lane in lanes.values_list("lane", flat=True)} == {0}
    # Of eight places seven are the urgent class's: of fewer, the one of the others comes in a share of the calls.
    assert picked(place, 8) == {"gone": 1, "held": 1, "refused": 1, "backlog": 1}


def test_a_second_attempt_waits_behind_what_was_due_before_it_and_no_more(place: Workplace) -> None:
    """The order of a lane is that of due times, whether something was tried before or not."""
    place.enqueue("early")
    place.sandbox.fault(kind="status", status=503, times=1)
    place.turn()
    place.enqueue_many(3, prefix="before")
    place.later(100)
    place.enqueue_many(3, prefix="after")
    assert picked(place, 4) == {"before": 3, "early": 1}


def test_a_full_lane_is_left_out(place: Workplace) -> None:
    place.enqueue_many(20, prefix="a", workspace="a")
    place.enqueue_many(20, prefix="b", workspace="b")
    lanes = dict(Intent.objects.values_list("workspace", "lane"))
    assert lanes["a"] != lanes["b"]
    assert picked(place, 16) == {"a": 8, "b": 8}
    assert picked(place, 16, [place.account * 64 + lanes["a"]]) == {"b": 16}


def test_the_oldest_of_a_lane_come_first(place: Workplace) -> None:
    for number in range(6):
        place.enqueue(f"{number}-demo")
    assert picked(place, 3) == {"0": 1, "1": 1, "2": 1}


@pytest.mark.slow
def test_one_workspaces_slow_ten_thousand_do_not_hold_up_anothers_one(place: Workplace) -> None:
    """H-OPS-1: A's provider takes 1.5 s a call, and A has work for eight minutes; B comes last."""
    place.enqueue_many(10_000, prefix="a", workspace="a")
    place.sandbox.fault(kind="delay", seconds=1.5, times=None, match="/emails a/")
    shop = place.shop()
    began_at, wanted = 0.0, "b/report-ready/demo-001"

    def over() -> bool:
        nonlocal began_at
        if not began_at and place.sandbox.order("GET", "ledger")["http_requests"] >= shop.rules.concurrency:
            place.enqueue(workspace="b")
            began_at = time.time()
        return place.sandbox.ledger(wanted).accepted == 1

    place.run(shop, until=over)
    (called,) = place.sandbox.requests(wanted)
    # Long before any of A's calls could have ended and made room.
    assert called["at_s"] - began_at < 1.4
    assert Intent.objects.get(workspace="b").state == "accepted"
    # A used no more than its places: the reserve stayed free.
    assert place.sandbox.order("GET", "ledger")["http_requests"] <= shop.rules.concurrency + 1


def explained(place: Workplace, count: int) -> list[str]:
    """Give the plans of everything that one pick does, as the loop's connection would make them."""
    plans: list[str] = []
    with psycopg.connect(place.dsn("postgres")) as connection:
        connection.execute("LOAD 'auto_explain'")
        for name, value in (("log_min_duration", "0"), ("log_nested_statements", "on"), ("log_analyze", "on")):
            connection.execute(f"SET auto_explain.{name} = {value}")
        connection.execute("SET client_min_messages = log")
        connection.execute(PINNED)
        connection.add_notice_handler(lambda diag: plans.append(diag.message_primary or ""))
        assert len(connection.execute(_CALL, (count, [place.account], [])).fetchall()) == count
        connection.rollback()
    return plans


def test_the_claim_reads_by_its_own_index_and_never_the_whole_table(place: Workplace) -> None:
    """`next_attempt_at <= clock_v1()` in the comparison itself would make it a filter, and 3 s at 2 M rows."""
    place.enqueue_many(3000)
    place.sql("ANALYZE notifyops_private.notifications_intent")
    plans = explained(place, 32)
    whole = "\n".join(plans)
    assert "intent_due" in whole
    assert "Seq Scan on notifications_intent" not in whole
    conditions = [line for line in whole.splitlines() if "Index Cond" in line and "next_attempt_at" in line]
    assert len(conditions) >= 2


def test_a_claim_from_a_great_backlog_collects_no_more_of_it_than_it_takes(place: Workplace) -> None:
    """A bitmap of all that is due, for each lane and each claim, makes a backlog of n cost n²: 0.57 s per 1,000."""
    for part in range(10):
        place.enqueue_many(2000, prefix=f"p{part}")
    with psycopg.connect(place.dsn("postgres"), autocommit=True) as connection:
        connection.execute("VACUUM (ANALYZE) notifyops_private.notifications_intent")
    whole = "\n".join(explained(place, 32))
    assert "intent_due" in whole
    assert "Bitmap" not in whole

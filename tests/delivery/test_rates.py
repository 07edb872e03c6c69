"""An account's rate: one bucket for all hosts, tokens taken by the claim, learned from the provider's own headers."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from typing import Any

import pytest

from notifications.delivery.claim import claim
from notifications.delivery.lease import Lease
from notifications.delivery.send import give_back, send
from notifications.delivery.shop import Shop
from notifications.door import next_due_s, pick
from notifications.models import Intent
from tests.delivery.test_guards import lose_an_answer
from tests.delivery.workplace import Workplace, connected, looped, nothing_waits

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
_BUCKET = "SELECT tokens, learned_per_s FROM notifyops_private.notifications_ratebucket"


def limit(place: Workplace, per_s: float | None) -> None:
    place.sql("UPDATE notifyops_private.notifications_provideraccount SET rate_per_s = %s", per_s)


def due_s(place: Workplace) -> float | None:
    async def scene() -> float | None:
        async with await connected(place.dsn()) as connection:
            return await next_due_s(connection, [place.account])

    found: float | None = place.play(scene())
    return found


def claimed_at_once(place: Workplace, loops: int) -> list[Lease]:
    """Let so many hosts claim at the same moment."""
    shops = [place.shop() for _ in range(loops)]

    async def one(number: int) -> list[Lease]:
        async with await connected(place.dsn()) as connection:
            return await claim(connection, shops[number], worker=f"w{number}", room=32)

    async def scene() -> list[list[Lease]]:
        return await asyncio.gather(*(one(number) for number in range(loops)))

    return [lease for given in place.play(scene()) for lease in given]


def together(place: Workplace, shops: list[Shop]) -> None:
    """Run one loop for each shop, as several hosts do, until nothing waits."""

    async def scene() -> None:
        async with await connected(place.dsn()) as look:
            until = await nothing_waits(look)
            await asyncio.gather(
                *(looped(place.dsn(), shop, until=until, number=number) for number, shop in enumerate(shops))
            )

    place.play(scene())


def test_no_more_is_claimed_than_there_are_tokens_whoever_claims(place: Workplace) -> None:
    place.enqueue_many(60)
    limit(place, 0.5)
    assert len(claimed_at_once(place, 4)) == 1  # a new bucket begins with one
    assert place.claim() == []
    place.later(100)
    assert len(claimed_at_once(place, 4)) == 1  # and gathers no more while nobody claims
    limit(place, 100)
    place.later(10)
    began = time.monotonic()
    count = len(claimed_at_once(place, 4))  # a tenth of a second's worth, and what came in meanwhile
    assert 10 <= count <= 11 + 100 * (time.monotonic() - began)
    assert Intent.objects.filter(attempt_count=0, failure_count=0, state="pending").count() == 60 - 2 - count


def test_an_idle_loop_is_told_that_nothing_is_due(place: Workplace) -> None:
    """Told 0 instead, it looked a hundred times a second for work that there was not."""
    assert due_s(place) is None
    place.enqueue()
    assert due_s(place) == 0
    place.turn()
    assert due_s(place) is None


def test_an_account_without_a_rate_has_no_bucket(place: Workplace) -> None:
    place.enqueue_many(40)
    assert len(place.turn()) == 32
    assert place.sql(_BUCKET) == []


def test_the_loop_learns_when_the_next_token_is_due(place: Workplace) -> None:
    place.enqueue_many(3)
    limit(place, 0.5)
    assert len(place.turn()) == 1
    waits_s = due_s(place)
    assert waits_s is not None
    assert 0.5 < waits_s <= 2.0
    assert place.turn() == []
    assert set(Intent.objects.filter(attempt_count=0).values_list("state", flat=True)) == {"pending"}
    place.later(waits_s)
    assert len(place.turn()) == 1


def test_a_lease_that_was_not_used_gives_its_token_back(place: Workplace) -> None:
    place.enqueue_many(3)
    limit(place, 0.1)
    (lease,) = place.claim()
    assert place.claim() == []
    place.record([give_back(lease)])
    (again,) = place.claim()
    assert again.id in set(Intent.objects.values_list("pk", flat=True))


def test_what_is_stopped_by_its_claim_costs_no_token(place: Workplace) -> None:
    soon = place.sql("SELECT to_char(clock_timestamp() + interval '9 s', 'YYYY-MM-DD\"T\"HH24:MI:SSOF')")[0][0]
    gone = place.enqueue("gone", expires_at=f"{soon}:00" if len(soon) < 25 else soon)
    limit(place, 0.1)
    place.later(10)
    assert place.turn() == []
    assert place.intent(gone).state == "cancelled"
    place.enqueue("next")
    assert len(place.turn()) == 1


def test_every_lane_gets_its_share_of_few_tokens(place: Workplace) -> None:
    for workspace in ("a", "b", "c"):
        place.enqueue_many(40, prefix=workspace, workspace=workspace)
    limit(place, 10)
    shop, seen = place.shop(), Counter[str]()
    for _ in range(60):
        place.later(0.1)
        seen.update(lease.notification_id.rsplit("/")[-1][0] for lease in place.claim(shop))
    assert sum(seen.values()) in range(55, 63)
    assert min(seen.values()) >= 5
    assert len(seen) == 3


@pytest.mark.parametrize("has_bucket", [False, True], ids=["new bucket", "old bucket"])
def test_a_limited_account_does_not_hold_up_another(place: Workplace, has_bucket: bool) -> None:
    place.enqueue_many(20)
    if has_bucket:
        place.sql(
            "INSERT INTO notifyops_private.notifications_ratebucket (account_id, tokens, filled_at) "
            "VALUES (%s, 1, clock_timestamp())",
            place.account,
        )
    other = place.sql(
        "INSERT INTO notifyops_private.notifications_provideraccount (name, kind, channel, sender, api_key_ref) "
        "VALUES ('other', 'resend', 'letter', 'x@example.com', '') RETURNING id"
    )[0][0]
    place.sql("ALTER TABLE notifyops_private.notifications_intent DISABLE TRIGGER guarded")
    place.sql("UPDATE notifyops_private.notifications_intent SET account_id = %s WHERE report_id > 'r-00009'", other)
    place.sql("ALTER TABLE notifyops_private.notifications_intent ENABLE ALWAYS TRIGGER guarded")
    place.sql("UPDATE notifyops_private.notifications_provideraccount SET rate_per_s = 1 WHERE name = 'resend'")

    async def scene() -> tuple[Counter[int], Counter[int]]:
        found = []
        async with await connected(place.dsn()) as first, await connected(place.dsn()) as second:
            for connection in (first, second):  # the first holds the bucket all the while
                await connection.execute("BEGIN")
                rows = await pick(connection, 8, [place.account, other])
                found.append(Counter(row.account_id for row in rows))
        return found[0], found[1]

    held, beside = place.play(scene())
    assert held[place.account] == 1
    assert held[other] >= 1
    assert (beside[place.account], beside[other] > 0) == (0, True)


def test_the_providers_headers_set_the_rate_and_a_persons_own_is_never_exceeded(place: Workplace) -> None:
    place.sandbox.configure(rate_per_s=50)
    place.enqueue_many(40)
    place.turn(room=5)
    assert place.sql(_BUCKET)[0][1] == 50
    place.later(10)
    # A tenth is left to others, and at most a tenth of a second's worth gathers.
    assert len(claimed_at_once(place, 3)) == 4
    limit(place, 1)
    place.later(10)
    assert len(claimed_at_once(place, 3)) == 1


def test_what_the_provider_says_is_left_lowers_the_tokens(place: Workplace) -> None:
    place.sandbox.configure(rate_per_s=1000)
    place.enqueue_many(50)
    place.turn(room=1)
    place.later(10)
    headers = {"ratelimit-limit": "1000", "ratelimit-remaining": "2", "ratelimit-reset": "1"}
    place.sandbox.fault(kind="status", status=422, name="validation_error", times=1, headers=headers)
    shop = place.shop()
    place.turn(shop, room=1)
    assert place.sql(_BUCKET)[0] == (2, 1000)


@pytest.mark.parametrize("moved_s", [-7200, 7200])
def test_a_clock_that_is_set_neither_stops_an_account_nor_fills_its_bucket(place: Workplace, moved_s: int) -> None:
    place.enqueue_many(30)
    limit(place, 0.5)
    assert len(place.claim()) == 1
    place.sql(
        "UPDATE notifyops_private.notifications_ratebucket SET filled_at = filled_at - %s * interval '1 s'", moved_s
    )
    assert len(place.claim()) == 1
    assert place.claim() == []


def test_a_rate_limit_slows_all_loops_and_uses_up_no_attempt_then_the_quota_stops_them(place: Workplace) -> None:
    """H-ERR-3, both halves; loops of three hosts."""
    place.sandbox.configure(rate_per_s=20)
    place.enqueue_many(80)
    together(place, [place.shop() for _ in range(3)])
    assert set(place.states().values()) == {"accepted"}
    assert not Intent.objects.exclude(failure_count=0).exists()
    # The bucket keeps to the limit: the provider had to refuse few.
    asked = int(place.sandbox.order("GET", "ledger")["http_requests"])
    assert asked <= 80 + 60

    place.sandbox.configure(rate_per_s=None, daily_quota=1)
    place.enqueue_many(40, prefix="q")
    shops: list[Shop] = [place.shop() for _ in range(3)]
    for shop in shops * 3:
        place.turn(shop, room=8)
    found = Counter(Intent.objects.filter(report_id__startswith="q").values_list("state", flat=True))
    assert found["needs_review"] == 0
    assert not Intent.objects.filter(report_id__startswith="q").exclude(failure_count=0).exists()
    assert int(place.sandbox.order("GET", "ledger")["http_requests"]) <= asked + 8


def test_a_quota_is_told_once_and_not_once_a_message(place: Workplace, caplog: Any) -> None:
    place.enqueue_many(12)
    place.sandbox.fault(kind="status", status=429, name="daily_quota_exceeded", times=None)
    leases = [place.claim(room=4, worker=f"w{number}") for number in range(3)]
    for given in leases:
        shop = place.shop()

        async def calls(shop: Shop = shop, given: list[Lease] = given) -> list[Any]:
            return [await send(lease, shop.accounts[lease.account_id]) for lease in given]

        place.record(place.play(calls()), shop)
    told = [one for one in caplog.records if getattr(one, "action", "") == "circuit_opened"]
    assert [one.getMessage() for one in told] == ["circuit opened: daily_quota (resend.429.daily_quota_exceeded)"]
    assert set(place.states().values()) == {"retry"}


def test_a_lost_answer_spends_its_token(place: Workplace) -> None:
    place.enqueue_many(2)
    limit(place, 0.1)
    lose_an_answer(place)
    assert len(place.turn()) <= 1
    assert place.claim() == []

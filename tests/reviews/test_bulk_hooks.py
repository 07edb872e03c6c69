"""The application's own hooks in a bulk run: slow or hanging, they hold up no other case, no duty and no stop."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypedDict

import pytest
from django.db import connections, transaction

from notifications import works
from notifications.models import NotificationTypeRow as Row
from notifications.types import NotificationType, registry
from reviews import asking, holds
from reviews.bulk import carry
from reviews.bulk.models import BulkItem
from reviews.bulk.outcomes import waiting
from tests.reviews.bulk_cases import Provider, carried, make_cases, outcomes, planned, role, started
from tests.reviews.cases import owner

pytestmark = pytest.mark.django_db(transaction=True)


class Asked(TypedDict):
    title: str


@pytest.fixture(autouse=True)
def due_at_once(settings: Any) -> None:
    settings.NOTIFYOPS_UNDO_S = 0


@contextmanager
def asked(hook: Callable[[str], bool]) -> Iterator[str]:
    """Have a type that asks, for the block; give its name."""
    kind = NotificationType(name="asked_in_bulk", template="x", data=Asked, still_wanted=hook)
    registry.add(kind)
    Row.objects.using(owner()).create(name=kind.name, channel="email", required={"title": "string"})
    try:
        yield kind.name
    finally:
        registry._types.pop(kind.name, None)


@contextmanager
def only(work: works.Work) -> Iterator[None]:
    before = dict(works.WORKS)
    works.WORKS.clear()
    works.register(work)
    try:
        yield
    finally:
        works.WORKS.clear()
        works.WORKS.update(before)


@pytest.mark.slow
def test_a_hook_that_hangs_holds_up_no_other_case_and_skips_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    entered, go_on, free = threading.Event(), threading.Event(), []

    def hangs(report_id: str) -> bool:
        if report_id == "r-hangs":
            entered.set()
            go_on.wait(120)
        return True

    def look(pk: int) -> None:
        entered.wait(60)
        with transaction.atomic():
            free.append(holds.try_lock(pk))
        connections.close_all()

    monkeypatch.setattr(asking, "ASK_S", 3.0)
    with asked(hangs) as name:
        chosen = [*make_cases(1, type=name, report_id="r-hangs"), *make_cases(2, type=name)]
        bulk = started(planned(chosen))
        looking = threading.Thread(target=look, args=(chosen[1].pk,))
        looking.start()
        bulk = carried(bulk, Provider(bulk))
        looking.join(60)
        go_on.set()
    assert free == [True]
    assert outcomes(bulk) == {"accepted": 2, "skipped": 1}
    assert bulk.items.get(outcome="skipped").code == "still_wanted"


def test_each_case_is_asked_once_for_its_order_and_its_no_counts() -> None:
    seen: list[str] = []

    def hook(report_id: str) -> bool:
        seen.append(report_id)
        if report_id == "r-fails":
            raise ValueError
        return report_id != "r-no"

    with asked(hook) as name:
        ids = ["r-no", "r-fails", *(f"r-{n}" for n in range(asking.AT_ONCE + 2))]
        bulk = started(planned([make_cases(1, type=name, report_id=one)[0] for one in ids]), canary=200)
        seen.clear()
        bulk = carried(bulk, Provider(bulk))
    assert outcomes(bulk) == {"accepted": asking.AT_ONCE + 2, "skipped": 2}
    assert sorted(seen) == sorted(ids)


def test_no_stop_waits_without_end_for_work_that_hangs(monkeypatch: pytest.MonkeyPatch, caplog: Any) -> None:
    entered, go_on = threading.Event(), threading.Event()

    def hangs(_number: int, _leaving: Callable[[], bool]) -> None:
        entered.set()
        go_on.wait(300)

    async def scene() -> bool:
        task = asyncio.create_task(works.carry_on())
        assert await asyncio.to_thread(entered.wait, 60)
        task.cancel()
        done, _ = await asyncio.wait([task], timeout=60)
        return bool(done)

    monkeypatch.setattr(works, "LEAVE_S", 0.5)
    with only(works.Work("hangs", lambda: [7], hangs)):
        ended = asyncio.run(scene())
        go_on.set()
    assert ended
    assert [(one.action, one.number) for one in caplog.records if one.name == works.__name__] == [("work_hangs", 7)]


def test_a_stop_waits_for_what_lets_go() -> None:
    bulk = started(planned(make_cases(3)), rate=1, canary=1)
    ended: list[int] = []

    def noted(number: int, leaving: Callable[[], bool]) -> None:
        carry.carry(number, leaving)
        ended.append(number)

    async def scene() -> None:
        task = asyncio.create_task(works.carry_on())
        ends_at = time.monotonic() + 60
        while await asyncio.to_thread(_ordered, bulk.pk) < 1 and time.monotonic() < ends_at:
            await asyncio.sleep(0.1)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    with only(works.Work("bulk", waiting, noted)), role("worker"):
        asyncio.run(scene())
    assert ended == [bulk.pk]


def _ordered(number: int) -> int:
    try:
        return BulkItem.objects.filter(bulk_id=number, outcome="released").count()
    finally:
        connections.close_all()

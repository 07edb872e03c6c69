"""The chores ask by themselves, with the look-up key of the account, beside their other duties."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from django.db import connections

from notifications import chores, wiring
from notifications.delivery import discovery, questions
from notifications.delivery.reconcile import SETTLE_S
from notifications.models import ProviderAccount
from notifications.providers.resend_lookup import ResendLookup
from tests.delivery.asking import evidence, lost, person_asks
from tests.delivery.workplace import Workplace, connected

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


@pytest.fixture
def keys(settings: Any, place: Workplace) -> Any:
    """Give this process the keys of a worker."""
    settings.NOTIFYOPS_RESEND_BASE_URL = place.sandbox.url
    settings.NOTIFYOPS_RESEND_LOOKUP_KEY = place.sandbox.full_key
    settings.NOTIFYOPS_LOOKUP_PER_S = 100
    return settings


def chore(place: Workplace, until: Callable[[], bool]) -> None:
    """Let the chores' own asking run until something is so."""

    async def scene() -> None:
        asking = asyncio.create_task(chores._ask(place.dsn()))
        try:
            async with await connected(place.dsn()) as connection:
                while not asking.done():
                    for duty in chores.DUTIES:
                        if duty.name == "discover_questions":
                            await duty.run(connection)
                    if await asyncio.to_thread(seen):
                        return
                    await asyncio.sleep(0.05)
            await asking
        finally:
            asking.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await asking

    def seen() -> bool:
        try:
            return until()
        finally:
            connections.close_all()

    place.play(scene())


def test_the_chores_settle_what_the_provider_knows(place: Workplace, keys: Any) -> None:
    intent = lost(place, arrived=True)
    place.later(180)
    chore(place, lambda: place.intent(intent).state == "accepted")
    assert place.log(intent)[-1]["worker"].split("/")[2] == "ask0"


def test_a_persons_question_is_answered_by_the_next_round(place: Workplace, keys: Any) -> None:
    intent = lost(place, arrived=True)
    person_asks(place, intent)
    chore(place, lambda: place.intent(intent).state == "accepted")
    assert place.log(intent)[-2]["detail"]["asked_by"] == "user:olga"


def test_one_round_that_fails_does_not_end_the_asking(
    place: Workplace, keys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    intent, fallen = lost(place, arrived=True), list[str]()
    person_asks(place, intent)
    real = questions.due

    async def due_after_a_bug(*given: Any, **named: Any) -> Any:
        if not fallen:
            fallen.append("once")
            raise RuntimeError("a bug of ours")
        return await real(*given, **named)

    monkeypatch.setattr(questions, "due", due_after_a_bug)
    chore(place, lambda: place.intent(intent).state == "accepted")
    assert fallen == ["once"]


def test_without_a_look_up_key_a_person_is_told_why(place: Workplace, keys: Any) -> None:
    keys.NOTIFYOPS_RESEND_LOOKUP_KEY = ""
    intent = lost(place, arrived=True)
    person_asks(place, intent)
    chore(place, lambda: bool(evidence(place, intent)))
    assert evidence(place, intent) == [("unavailable", "lookup.no_key")]


def test_an_account_names_its_own_key_and_none_means_that_it_is_never_asked(place: Workplace, keys: Any) -> None:
    account = ProviderAccount.objects.get(pk=place.account)
    assert account.lookup_key_ref == "env:NOTIFYOPS_RESEND_LOOKUP_KEY"
    desk = wiring.desk()
    assert isinstance(desk.lookups[account.pk], ResendLookup)
    assert desk.budget[account.pk].per_s == 100
    for reference in ("", "env:NOTIFYOPS_NOBODY_SET_THIS"):
        place.sql("UPDATE notifyops_private.notifications_provideraccount SET lookup_key_ref = %s", reference)
        assert wiring.desk().lookups == {}


def test_answered_questions_are_forgotten_after_a_day(place: Workplace, keys: Any) -> None:
    intent = lost(place, arrived=True)
    person_asks(place, intent)
    chore(place, lambda: place.intent(intent).state == "accepted")

    async def forget() -> None:
        async with await connected(place.dsn()) as connection:
            await discovery.discover(connection, settle_s=SETTLE_S)
            await discovery.forget(connection)

    place.play(forget())
    assert place.sql("SELECT count(*) FROM notifyops_private.notifications_question") == [(1,)]
    place.later(90_000)
    place.play(forget())
    assert place.sql("SELECT count(*) FROM notifyops_private.notifications_question") == [(0,)]


def test_what_is_looked_for_every_second_reads_no_table_through(place: Workplace) -> None:
    place.enqueue()
    place.sql(
        "INSERT INTO notifyops_private.notifications_question (intent_id, account_id, about, since, asked_at) "
        "SELECT 1000 + n, %s, 'review', now() - make_interval(secs => n), now() FROM generate_series(1, 20000) AS n",
        place.account,
    )
    place.sql("ANALYZE notifyops_private.notifications_question")
    for query, values in (
        (questions._ANY, {}),
        (discovery._DISCOVER_REVIEW, {"most": 10, "settle_s": 0.0}),
        (discovery._DISCOVER_CONFIRM, {"most": 10}),
    ):
        with psycopg.connect(place.dsn()) as connection:
            plan = "\n".join(row[0] for row in connection.execute(f"EXPLAIN {query}".encode(), values).fetchall())
        assert "Seq Scan on notifications_question" not in plan, plan

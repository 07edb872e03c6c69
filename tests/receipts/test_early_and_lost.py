"""Receipts that come before the answer is recorded, that prove a lost answer, or that are nobody's here."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from notifications.door import Entry, append_call
from notifications.receipts.apply import apply_received
from notifications.states import EntryKind, State
from tests.cluster.machine import eventually
from tests.delivery.workplace import connected, sent_all
from tests.receipts.post import PERMANENT, TRANSIENT, Provider, kept, parked, stands

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
KEY = "report-ready/demo-001"
PRIVATE = "notifyops_private"


def lost_answer(provider: Provider, **options: Any) -> int:
    """Give an intent whose message the provider took, and whose answer never came."""
    provider.place.sandbox.fault(stage="after_accept", kind="close", times=1)
    intent = provider.place.enqueue(**options)
    provider.place.turn()
    return intent


def message_of(provider: Provider) -> str:
    return str(provider.place.sandbox.ledger(KEY).ids[0])


@pytest.mark.parametrize(
    ("event_type", "detail", "standing"),
    [("email.delivered", {}, ("accepted", "delivered")), ("email.bounced", PERMANENT, ("needs_review", "bounced"))],
)
def test_a_receipt_before_the_answer_is_recorded_waits_for_it(
    provider: Provider, event_type: str, detail: dict[str, Any], standing: tuple[str, str]
) -> None:
    """H-WH-2: while the POST is open, and after it was answered but before that was written down."""
    place, intent, shop = provider.place, provider.place.enqueue(), provider.place.shop()
    leases = place.claim(shop)
    sent = place.play(sent_all(shop, leases))
    assert provider.say(event_type, intent, **detail, email_id=message_of(provider)) == 200
    assert (provider.apply(), parked(), stands(intent)[:2]) == (0, 1, ("sending", "none"))
    place.record(sent)
    assert provider.apply() == 0, "it is looked at again after a second, not at once"
    place.later(2)
    assert (provider.apply(), parked(), stands(intent)[:2]) == (1, 0, standing)
    assert place.kinds(intent) == ["claimed", "result", "receipt"]


@pytest.mark.parametrize("event_type", ["email.sent", "email.delivered", "email.delivery_delayed", "email.opened"])
def test_a_receipt_proves_what_the_lost_answer_would_have_said(provider: Provider, event_type: str) -> None:
    intent = lost_answer(provider)
    assert stands(intent)[0] == "retry"
    provider.say(event_type, intent, email_id=message_of(provider))
    assert (provider.apply(), parked()) == (1, 0)
    row = provider.place.intent(intent)
    assert (row.state, row.provider_message_id, row.error_code) == ("accepted", message_of(provider), None)
    assert provider.place.kinds(intent) == ["claimed", "result", "settled"]
    provider.place.later(1000)
    provider.place.turn()
    assert provider.place.sandbox.ledger(KEY).http_requests == 1, "nothing is sent that is known to be there"


def test_a_bounce_after_a_lost_answer_is_proof_first_and_then_a_bounce(provider: Provider) -> None:
    intent = lost_answer(provider)
    provider.say("email.bounced", intent, **PERMANENT, email_id=message_of(provider))
    assert (provider.apply(), parked()) == (1, 0)
    assert stands(intent) == ("needs_review", "bounced", "bounced", "bounced", "correct_address")
    assert provider.place.kinds(intent) == ["claimed", "result", "settled", "receipt"]


def test_a_case_that_nobody_could_decide_is_settled_by_its_receipt(provider: Provider) -> None:
    intent = lost_answer(provider, kind="report_once")
    assert stands(intent)[:3] == ("needs_review", "none", "unknown")
    provider.say("email.delivered", intent, email_id="5e9d-1")
    provider.apply()
    assert stands(intent) == ("accepted", "delivered", None, None, None)


def test_in_a_case_that_was_closed_undecided_it_is_a_status(provider: Provider) -> None:
    intent = lost_answer(provider)
    assert provider.place.person(EntryKind.CLOSED, intent, State.CLOSED).refused is None
    provider.say("email.delivered", intent, email_id=message_of(provider))
    provider.apply()
    row = provider.place.intent(intent)
    assert (row.state, row.delivery_status, row.provider_message_id) == ("closed", "delivered", message_of(provider))


def test_while_a_lease_runs_it_waits_for_the_leases_end(provider: Provider) -> None:
    place, intent, shop = provider.place, provider.place.enqueue(), provider.place.shop()
    place.play(sent_all(shop, place.claim(shop)))  # and the worker dies before it records
    provider.say("email.delivered", intent, email_id=message_of(provider))
    provider.apply()
    assert stands(intent)[0] == "sending"
    place.later(100)
    place.turn()
    provider.apply()
    assert stands(intent)[:2] == ("accepted", "delivered")
    assert place.sandbox.ledger(KEY).accepted == 1


@pytest.mark.parametrize("reopened", [False, True])
def test_an_intent_that_a_person_moves_meanwhile_is_judged_again(provider: Provider, *, reopened: bool) -> None:
    """Judged in review, written down when the person has closed the case, or closed it and opened it again."""
    place, intent = provider.place, provider.accepted()
    provider.say("email.bounced", intent, **TRANSIENT)
    provider.apply()
    provider.say("email.bounced", intent, **PERMANENT)
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%%append_v1%%'"
    with psycopg.connect(place.dsn("web")) as person, ThreadPoolExecutor(1) as pool:
        by_person(person, EntryKind.CLOSED, intent, State.CLOSED, place.intent(intent).seq)
        if reopened:
            facts = {"known": "soft_bounced", "code": "soft_bounced", "next_action": "retry_new_key"}
            by_person(person, EntryKind.REOPENED, intent, State.NEEDS_REVIEW, place.intent(intent).seq + 1, **facts)
        applying = pool.submit(provider.apply)
        eventually(lambda: place.sql(waiting, role="postgres") == [(1,)], 30)
        person.commit()
        assert applying.result(60) == 0
    assert (stands(intent)[1], parked()) == ("soft_bounced", 1)
    place.later(2)
    assert provider.apply() == 1
    assert stands(intent)[:2] == ("needs_review" if reopened else "closed", "bounced")


def by_person(
    connection: psycopg.Connection[Any], kind: EntryKind, intent: int, to: State, seq: int, **more: Any
) -> None:
    entry = Entry(id=intent, to_state=to, seq=seq, reason_code="checked", **more)
    query, values = append_call(kind, [entry], actor="user:olga")
    row = connection.execute(query.encode(), values).fetchone()
    assert row is not None
    assert row[-1] is None


def test_fifty_events_of_messages_that_nobody_here_knows_change_nothing(provider: Provider) -> None:
    """H-WH-3: the webhook is the account's, and others may send by the same account."""
    intent = provider.accepted()
    before = stands(intent)
    for number in range(25):
        assert provider.say("email.bounced", **PERMANENT, email_id=f"5e9d-other-{number}") == 200
        assert provider.say("email.delivered", email_id=f"5e9d-other-{number}", tags={"site": "elsewhere"}) == 200
    assert provider.say("contact.created") == provider.say("email.teleported", intent) == 200
    assert (kept(), parked()) == (52, 25), "another site's are not even looked at"
    assert (provider.apply(), parked()) == (0, 25)
    provider.place.later(3700)
    provider.apply()
    assert (kept(), parked(), stands(intent)) == (52, 0, before)


@pytest.mark.parametrize("tags", [{"generation": "2"}, {"generation": "0"}, {"intent": "999999"}, {"intent": "x"}])
def test_tags_of_what_this_database_never_sent_wait_and_are_given_up(provider: Provider, tags: dict[str, str]) -> None:
    """A database that was restored from yesterday gets receipts of what it does not remember."""
    intent = provider.accepted()
    wrong = {"site": "test", "intent": str(intent), "generation": "1"} | tags
    assert provider.say("email.bounced", intent, **PERMANENT, tags=wrong, email_id="5e9d-forgotten") == 200
    assert (provider.apply(), parked()) == (0, 1)
    provider.place.later(8 * 86_400)
    provider.apply()
    assert (parked(), stands(intent)[:2]) == (0, ("accepted", "none"))


def test_what_was_never_attempted_is_not_settled_by_tags(provider: Provider) -> None:
    pending = provider.place.enqueue()
    held = provider.place.enqueue("demo-002", kind="report_approved")
    for intent in (pending, held):
        assert provider.say("email.delivered", intent) == 200
    assert (provider.apply(), parked()) == (0, 2)
    assert (stands(pending)[0], stands(held)[0]) == ("pending", "needs_review")


def test_one_accounts_events_do_not_speak_of_anothers_messages(provider: Provider) -> None:
    intent = provider.accepted()
    provider.place.sql(
        f"INSERT INTO {PRIVATE}.notifications_provideraccount"
        " (name, kind, channel, sender, api_key_ref, webhook_secret_refs)"
        " VALUES ('second', 'resend', 'email', 'Acme <a@example.com>', '', 'env:TEST_WEBHOOK_SECRET')"
    )
    body = json.dumps(provider.event("email.complained", intent)).encode()
    assert provider.post(body, account="second") == 200
    assert (provider.apply(), stands(intent)[:2]) == (0, ("accepted", "none"))
    assert provider.place.sql(f"SELECT count(*) FROM {PRIVATE}.notifications_deliveryblock") == [(0,)]


def test_tags_without_our_sites_name_are_somebody_elses(provider: Provider) -> None:
    intent = provider.accepted()
    tags = {"intent": str(intent), "generation": "1"}
    provider.say("email.complained", tags=tags, email_id="5e9d-other")
    assert (provider.apply(), parked(), stands(intent)[:2]) == (0, 1, ("accepted", "none"))


def test_without_tags_the_providers_id_is_enough(provider: Provider) -> None:
    intent = provider.accepted()
    provider.say("email.bounced", intent, **TRANSIENT, tags={})
    provider.apply()
    assert stands(intent)[:2] == ("needs_review", "soft_bounced")


def test_a_pass_that_fails_half_way_has_written_nothing(provider: Provider) -> None:
    """Entry and queue go together: applied twice or never is not possible."""
    intents = [provider.accepted(f"demo-{number:03d}") for number in range(5)]
    for intent in intents:
        provider.say("email.delivered", intent)
    provider.place.sql(f"REVOKE DELETE ON {PRIVATE}.notifications_parkedreceipt FROM notifyops_test_worker")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        provider.apply()
    assert {stands(intent)[1] for intent in intents} == {"none"}
    provider.place.sql(f"GRANT DELETE ON {PRIVATE}.notifications_parkedreceipt TO notifyops_test_worker")
    assert (provider.apply(), parked()) == (5, 0)
    assert {tuple(provider.place.kinds(intent)) for intent in intents} == {("claimed", "result", "receipt")}


def test_two_appliers_at_once_apply_each_event_once(provider: Provider) -> None:
    """At a hand-over of the chores two may run for a moment."""
    provider.place.enqueue_many(40)
    provider.place.run()
    ids = [row[0] for row in provider.place.sql(f"SELECT id FROM {PRIVATE}.notifications_intent")]
    for intent in ids:
        for event_type in ("email.delivery_delayed", "email.delivered"):
            provider.say(event_type, intent)

    async def scene() -> int:
        async with await connected(provider.place.dsn()) as one, await connected(provider.place.dsn()) as other:
            return sum(await asyncio.gather(apply_received(one), apply_received(other)))

    dealt = asyncio.run(asyncio.wait_for(scene(), 60))
    # What the other one had moved is looked at again after half its age, a minute at most.
    provider.place.later(61)
    assert dealt + provider.apply() == 80
    assert parked() == 0
    assert {tuple(provider.place.kinds(intent)) for intent in ids} == {("claimed", "result", "receipt", "receipt")}
    assert {stands(intent)[1] for intent in ids} == {"delivered"}

"""An account of a kind that has no keys, through the real loop and tables: nothing is ever sent twice by guess."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Any

import pytest

from notifications.delivery.shop import Account, Shop
from notifications.models import ProviderAccount
from notifications.providers.smtp import SmtpProvider
from notifications.states import State
from tests.delivery.workplace import SENDER, Workplace
from tests.providers.scripted_server import Script, ScriptedServer, scripted
from tests.providers.smtp_server import saying, smtp

pytestmark = pytest.mark.django_db(transaction=True)


@contextmanager
def mail_server(script: Script) -> Iterator[ScriptedServer]:
    """Serve a script from a thread: each turn of the loop runs on an event loop of its own."""
    started: asyncio.Future[Any] | None = None
    loop = asyncio.new_event_loop()
    ready: list[ScriptedServer] = []

    async def serve() -> None:
        nonlocal started
        async with scripted(script) as server:
            started = loop.create_future()
            ready.append(server)
            await started

    thread = Thread(target=loop.run_until_complete, args=(serve(),), daemon=True)
    thread.start()
    while not ready:
        thread.join(0.01)
    yield ready[0]
    loop.call_soon_threadsafe(lambda: started.set_result(None) if started else None)
    thread.join(5)
    loop.close()


def shop_at(place: Workplace, server: ScriptedServer) -> Shop:
    adapter = SmtpProvider(base_url=f"smtp+cleartext://127.0.0.1:{server.port}", password="")
    shop = place.shop(adapter)
    shop.accounts[place.account] = Account(place.account, "smtp", SENDER, adapter, 1.0, declares_receipts=False)
    return shop


def test_an_accepted_mail_bears_our_own_id(place: Workplace) -> None:
    with mail_server(smtp()) as server:
        intent = place.enqueue()
        place.turn(shop_at(place, server))
        (mail,) = server.requests
    row = place.intent(intent)
    assert row.state == State.ACCEPTED
    assert f"Message-ID: <{row.provider_message_id}@example.com>".encode() in mail
    (claimed, result) = place.log(intent)[-2:]
    assert (claimed["kind"], result["http_status"], result["code"]) == ("claimed", 250, "smtp.accepted")


def test_a_lost_reply_to_the_dot_asks_a_person_and_is_never_repeated(place: Workplace) -> None:
    with mail_server(smtp(dot=saying(then="hang_up"))) as server:
        intent = place.enqueue()
        place.turn(shop_at(place, server))
        place.later(86_400)
        place.turn(shop_at(place, server))
        assert len(server.requests) == 1
    row = place.intent(intent)
    assert (row.state, row.known, row.error_code) == (State.NEEDS_REVIEW, "unknown", "unknown.disconnected")
    assert row.next_action == "query_provider"
    (result,) = [entry for entry in place.log(intent) if entry["kind"] == "result"]
    assert (result["phase"], len(result["detail"]["trace"])) == ("request_written", 32)


def test_what_was_not_sent_is_sent_again_as_the_same_mail(place: Workplace) -> None:
    """The second try comes five minutes later; its Date and Message-ID are those of the first."""
    answers = iter((b"451 4.3.0 later\r\n", b"250 2.0.0 taken\r\n"))

    async def in_turn(peer: Any) -> None:
        await peer.say(next(answers))

    with mail_server(smtp(dot=in_turn)) as server:
        intent = place.enqueue()
        place.turn(shop_at(place, server))
        assert place.intent(intent).state == State.RETRY
        place.later(301)
        place.turn(shop_at(place, server))
        first, second = server.requests
    assert first == second
    assert place.intent(intent).state == State.ACCEPTED


def test_a_message_that_must_arrive_is_repeated_as_the_same_mail_and_marked(place: Workplace) -> None:
    answers: Iterator[Callable[[Any], Any]] = iter((saying(then="hang_up"), saying(b"250 ok\r\n", then="wait")))

    async def in_turn(peer: Any) -> None:
        await next(answers)(peer)

    with mail_server(smtp(dot=in_turn)) as server:
        intent = place.enqueue(kind="report_alarm")
        place.turn(shop_at(place, server))
        assert place.intent(intent).state == State.RETRY
        place.later(301)
        place.turn(shop_at(place, server))
        assert len(set(server.requests)) == 1
        assert len(server.requests) == 2
    claims = [entry for entry in place.log(intent) if entry["kind"] == "claimed"]
    assert claims[1]["detail"]["possible_duplicate"] is True


def test_a_mailbox_that_does_not_exist_asks_for_another_address(place: Workplace) -> None:
    with mail_server(smtp(rcpt=b"550 5.1.1 <ana@example.com> unknown\r\n")) as server:
        intent = place.enqueue()
        place.turn(shop_at(place, server))
    row = place.intent(intent)
    assert (row.state, row.error_code, row.next_action) == (
        State.NEEDS_REVIEW,
        "smtp.no_such_mailbox",
        "correct_address",
    )
    assert "ana@example.com" not in repr([entry["detail"] for entry in place.log(intent)])


def test_a_refused_message_stops_itself_and_not_its_account(place: Workplace) -> None:
    with mail_server(smtp(dot=b"554 5.7.1 spam\r\n")) as server:
        for number in range(4):
            place.enqueue(f"spam-{number}")
        place.turn(shop_at(place, server))
    assert place.sql("SELECT count(*) FROM notifyops_private.notifications_circuit WHERE open_until > now()") == [(0,)]
    assert ProviderAccount.objects.count() == 1


@pytest.mark.django_db(transaction=True, databases=["default", "owner"])
def test_a_server_that_cannot_be_asked_says_so_and_not_that_a_key_is_missing(place: Workplace) -> None:
    from notifications import wiring

    ProviderAccount.objects.using("owner").filter(pk=place.account).update(kind="smtp", lookup_key_ref="")
    assert wiring.desk().mute == {place.account}

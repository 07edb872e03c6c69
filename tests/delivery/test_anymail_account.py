"""Accounts of mail services through the real loop and tables: the same bytes each time, and no guess without a key."""

from __future__ import annotations

import json
from typing import Any

import pytest

from notifications.delivery.shop import Account, Shop
from notifications.models import Circuit
from notifications.states import State
from tests.delivery.test_smtp_account import mail_server
from tests.delivery.workplace import SENDER, Workplace
from tests.providers.candidate_anymail import adapter, saying, yes
from tests.providers.candidate_resend import after_request
from tests.providers.scripted_server import Peer, Script, ScriptedServer

pytestmark = pytest.mark.django_db(transaction=True)
ACCEPTED_ID = "b7bc2f4a-e38e-4336-af7d-e6c392c2f817"


def shop_at(place: Workplace, server: ScriptedServer, kind: str = "postmark") -> Shop:
    provider = adapter(kind, f"{server.url}/")
    shop = place.shop(provider)
    shop.accounts[place.account] = Account(place.account, kind, SENDER, provider, 5.0, declares_receipts=False)
    return shop


def in_turn(*scripts: Script) -> Script:
    """Give each connection the next script."""
    left = iter(scripts)

    async def script(peer: Peer) -> None:
        await next(left)(peer)

    return script


def body(request: bytes) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(request.partition(b"\r\n\r\n")[2])
    return found


def test_a_message_is_accepted_under_the_services_id_and_bears_our_marks(place: Workplace) -> None:
    with mail_server(yes("postmark")) as server:
        intent = place.enqueue()
        place.turn(shop_at(place, server))
        (request,) = server.requests
    row = place.intent(intent)
    assert (row.state, row.provider_message_id) == (State.ACCEPTED, ACCEPTED_ID)
    assert request.startswith(b"POST /email HTTP/1.1\r\n")
    assert b"X-Postmark-Server-Token: secret-server_token\r\n" in request
    assert (
        body(request)["Metadata"] | {"intent": str(intent), "site": "test", "generation": "1"}
        == body(request)["Metadata"]
    )
    (result,) = [entry for entry in place.log(intent) if entry["kind"] == "result"]
    assert (result["code"], result["http_status"]) == ("postmark.accepted", 200)


def test_what_was_not_taken_is_sent_again_as_the_same_bytes_under_a_renewed_key(place: Workplace) -> None:
    with mail_server(in_turn(saying(429, None, "Retry-After: 1"), yes("postmark"))) as server:
        intent = place.enqueue()
        place.turn(shop_at(place, server))
        assert place.intent(intent).state == State.RETRY
        place.later(301)
        place.turn(shop_at(place, server))
        first, second = server.requests
    assert first == second
    assert place.intent(intent).state == State.ACCEPTED
    claims = [entry for entry in place.log(intent) if entry["kind"] == "claimed"]
    assert len({json.dumps(entry["detail"].get("sha256")) for entry in claims}) == 1


@pytest.mark.parametrize("kind", ["postmark", "mailgun", "brevo"])
def test_a_lost_answer_asks_a_person_and_is_never_repeated_by_guess(place: Workplace, kind: str) -> None:
    """Brevo's key holds for 15 minutes, less than the margin that is never used of a window."""
    with mail_server(after_request(end="fin")) as server:
        intent = place.enqueue()
        place.turn(shop_at(place, server, kind))
        place.later(86_400)
        place.turn(shop_at(place, server, kind))
        assert len(server.requests) == 1
    row = place.intent(intent)
    assert (row.state, row.known, row.next_action) == (State.NEEDS_REVIEW, "unknown", "query_provider")


def test_an_address_on_the_services_list_asks_for_another_one_and_stops_nobody_else(place: Workplace) -> None:
    refusal = {"ErrorCode": 406, "Message": "Found inactive addresses: ana@example.com."}
    with mail_server(saying(422, refusal)) as server:
        intents = [place.enqueue(f"r-{number}") for number in range(4)]
        for _ in range(4):
            place.turn(shop_at(place, server), room=1)
    for intent in intents:
        row = place.intent(intent)
        assert (row.state, row.error_code, row.next_action) == (
            *(State.NEEDS_REVIEW, "postmark.422.recipient_suppressed", "correct_address"),
        )
        assert "ana@example.com" not in repr([entry["detail"] for entry in place.log(intent)])
    assert not Circuit.objects.filter(account_id=place.account, open_until__isnull=False).exists()


def test_used_up_credits_stop_the_account_and_cost_no_attempt(place: Workplace) -> None:
    with mail_server(saying(402, {"code": "not_enough_credits", "message": "x"})) as server:
        intent = place.enqueue()
        place.turn(shop_at(place, server, "brevo"))
        place.enqueue("later")
        place.turn(shop_at(place, server, "brevo"))
        assert len(server.requests) == 1
    row = place.intent(intent)
    assert (row.state, row.error_code, row.failure_count) == (State.RETRY, "brevo.402.credits_used_up", 0)
    assert list(Circuit.objects.values_list("account_id", "reason")) == [(place.account, "monthly_quota")]


def test_bytes_of_another_kind_of_account_are_not_sent(place: Workplace) -> None:
    with mail_server(in_turn(saying(429), yes("mailgun"))) as server:
        intent = place.enqueue()
        place.turn(shop_at(place, server, "postmark"))
        place.later(301)
        place.turn(shop_at(place, server, "mailgun"))
        assert len(server.requests) == 1
    row = place.intent(intent)
    assert (row.state, row.error_code) == (State.NEEDS_REVIEW, "anymail.other_kind")

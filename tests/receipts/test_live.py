"""The sandbox's own webhook sender against a served site, and what only a real server shows."""

from __future__ import annotations

import http.client
import os
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import pytest

from notifications.models import ProviderEvent
from notifications.sandbox.app import RunningSandbox, running_sandbox
from tests.browser.console_site import served
from tests.cluster.machine import eventually
from tests.delivery.workplace import Workplace
from tests.receipts.post import NEW, URL, Provider, kept, parked, stands
from tests.sandbox.callers import call

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]
WITHIN_S = 60
KEY = "report-ready/demo-001"


@pytest.fixture
def sandbox() -> Iterator[RunningSandbox]:
    """Give one that delivers at once, and repeats its webhooks a thousand times faster."""
    with running_sandbox(delivery_delay_s=0.01, retry_scale=0.001) as running:
        yield running


@dataclass(frozen=True, slots=True)
class Live:
    """A served site that the sandbox posts its events to."""

    provider: Provider
    sandbox: RunningSandbox
    site: str
    webhook: str

    @property
    def place(self) -> Workplace:
        return self.provider.place

    def statuses(self) -> list[int]:
        """Give our answers to every try, in order."""
        return [one["http_status_code"] for message in self.sandbox.attempts() for one in message["tries"]]

    def heard(self, *types: str) -> None:
        """Wait until exactly these events are kept."""
        eventually(lambda: sorted(ProviderEvent.objects.values_list("type", flat=True)) == sorted(types), WITHIN_S)


@pytest.fixture(scope="module")
def site(django_db_setup: None, database_url: Callable[[str], str]) -> Iterator[str]:
    """Serve the site once for all these tests: its start takes longer than any of them."""
    env = {"NOTIFYOPS_ROLE": "web", "NOTIFYOPS_DATABASE_URL": database_url("web"), "TEST_WEBHOOK_SECRET": NEW}
    with served({**os.environ, **env}) as address:
        yield address


@pytest.fixture
def live(provider: Provider, sandbox: RunningSandbox, site: str) -> Live:
    made = call(sandbox, "POST", "/webhooks", {"endpoint": f"{site}{URL}", "signing_secret": NEW}).json
    return Live(provider, sandbox, site, made["id"])


def test_what_the_provider_says_comes_back_and_is_applied(live: Live) -> None:
    intent = live.place.enqueue()
    live.place.turn()
    live.heard("email.sent", "email.delivered")
    eventually(lambda: live.statuses() == [200, 200], WITHIN_S)
    live.provider.apply()
    assert (stands(intent)[:2], parked()) == (("accepted", "delivered"), 0)


@pytest.mark.parametrize(
    ("address", "standing"),
    [
        ("bounced@resend.dev", ("needs_review", "bounced")),
        ("softbounce@resend.dev", ("needs_review", "soft_bounced")),
        ("failed@resend.dev", ("needs_review", "failed")),
        ("complained@resend.dev", ("needs_review", "complained")),
        ("suppressed@resend.dev", ("needs_review", "suppressed")),
        ("delayed@resend.dev", ("accepted", "delivered")),
    ],
)
def test_every_scripted_fate_ends_where_it_must(live: Live, address: str, standing: tuple[str, str]) -> None:
    intent = live.place.enqueue(to=address)
    live.place.turn()
    # A bounce and a complaint are followed by word of the provider's own suppression list.
    more = 1 if address.startswith(("bounced", "complained")) else 0
    expected = 3 if address.startswith(("complained", "delayed")) else 2
    eventually(lambda: kept() == expected + more, WITHIN_S)
    live.provider.apply()
    assert (stands(intent)[:2], parked()) == (standing, 0)


def test_events_that_come_while_the_call_is_still_open_wait_for_its_answer(live: Live) -> None:
    """H-WH-2, at the real provider: the message is taken, and its answer is held back."""
    intent = live.place.enqueue()
    live.sandbox.fault(stage="after_accept", kind="delay", seconds=5, times=1)
    with ThreadPoolExecutor(1) as pool:
        turn = pool.submit(live.place.turn)
        live.heard("email.sent", "email.delivered")
        assert stands(intent)[0] == "sending"
        live.provider.apply()
        assert (stands(intent)[:2], parked()) == (("sending", "none"), 2)
        turn.result(WITHIN_S)
    live.place.later(10)
    live.provider.apply()
    assert (stands(intent)[:2], parked()) == (("accepted", "delivered"), 0)
    assert live.sandbox.ledger(KEY).http_requests == 1


def test_a_lost_answer_is_proven_by_the_webhook_and_never_sent_again(live: Live) -> None:
    intent = live.place.enqueue()
    live.sandbox.fault(stage="after_accept", kind="close", times=1)
    live.place.turn()
    live.heard("email.sent", "email.delivered")
    live.provider.apply()
    assert (stands(intent)[0], parked()) == ("accepted", 0)
    live.place.later(1000)
    live.place.turn()
    assert (live.sandbox.ledger(KEY).accepted, live.sandbox.ledger(KEY).http_requests) == (1, 1)


@pytest.mark.parametrize(
    "fault",
    [
        {"kind": "bad_signature"},
        {"kind": "stale_timestamp", "seconds": 360},
        {"kind": "missing_header", "header": "svix-id"},
        {"kind": "old_secret_only"},
    ],
    ids=str,
)
def test_a_refused_try_is_followed_by_a_good_one(live: Live, fault: dict[str, Any]) -> None:
    intent = live.place.enqueue()
    live.sandbox.webhook_fault(**fault, match="email.delivered", times=1)
    live.place.turn()
    live.heard("email.sent", "email.delivered")
    # An event is kept a moment before the sender has our answer.
    eventually(lambda: sorted(live.statuses()) == [200, 200, 401], WITHIN_S)
    live.provider.apply()
    assert stands(intent)[:2] == ("accepted", "delivered")


def test_doubled_shuffled_and_respelled_events_end_as_if_they_had_come_in_order(live: Live) -> None:
    intents = [live.place.enqueue(f"demo-{number:03d}", to=f"complained+{number}@resend.dev") for number in range(5)]
    live.sandbox.webhook_fault(kind="duplicate", n=3, times=1000)
    live.sandbox.webhook_fault(kind="shuffle", window_s=0.5, times=1000)
    live.sandbox.webhook_fault(kind="whitespace", times=1000)
    live.place.run()
    # Sent, delivered, complained, and the provider's suppression: each four times.
    eventually(lambda: kept() == 20 and len(live.statuses()) == 80, WITHIN_S)
    live.provider.apply()
    live.place.later(5)
    live.provider.apply()
    assert {stands(intent)[:2] for intent in intents} == {("needs_review", "complained")}
    assert set(live.statuses()) == {200}


def test_a_rotation_at_the_provider_loses_nothing(live: Live) -> None:
    """For a day the provider signs with both secrets; ours learns the new one meanwhile."""
    call(live.sandbox, "POST", f"/webhooks/{live.webhook}/signing-secret/rotate")
    live.place.enqueue()
    live.place.turn()
    live.heard("email.sent", "email.delivered")
    # An event is kept a moment before the sender has our answer.
    eventually(lambda: live.statuses() == [200, 200], WITHIN_S)


@pytest.mark.parametrize("framing", ["Content-Length: 2000000", "Transfer-Encoding: chunked"])
def test_two_megabytes_are_refused_before_they_are_read(live: Live, framing: str) -> None:
    """H-WH-4: with its length claimed not one byte is waited for; without, no more than the limit and a chunk."""
    parts = urlsplit(live.site)
    with socket.create_connection((parts.hostname or "", parts.port or 0), timeout=WITHIN_S) as wire:
        wire.sendall(f"POST {URL} HTTP/1.1\r\nHost: 127.0.0.1\r\n{framing}\r\n\r\n".encode())
        if "chunked" in framing:
            wire.sendall((b"4000\r\n" + b" " * 0x4000 + b"\r\n") * 5)
        assert wire.recv(4096).startswith(b"HTTP/1.1 413 ")
    assert kept() == 0


def test_a_body_in_small_chunks_within_the_limit_is_taken(live: Live) -> None:
    parts = urlsplit(live.site)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=WITHIN_S)
    connection.request("POST", URL, body=iter([b"{}"] * 100), headers={"svix-id": "x"}, encode_chunked=True)
    assert connection.getresponse().status == 401
    connection.close()


def test_in_a_whole_installation_receipts_come_back_by_themselves(installation: dict[str, Any]) -> None:
    """The first run registers the webhook, the web process knows its secret, the chores apply what comes."""
    import psycopg

    owe = "SELECT id FROM notifyops.enqueue('report_ready', 'receipts-001', 'ana@example.com', '{\"title\": \"Q3\"}')"
    look = "SELECT status, delivery_status FROM notifyops.intents WHERE report_id = 'receipts-001'"
    with psycopg.connect(installation["database"]["writer"], autocommit=True) as writer:
        writer.execute(owe)
    with psycopg.connect(installation["database"]["reader"], autocommit=True) as reader:
        eventually(lambda: reader.execute(look).fetchall() == [("accepted", "delivered")], WITHIN_S)

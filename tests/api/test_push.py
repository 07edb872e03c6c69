"""The feed as signed webhooks: in order, once each, from each endpoint's own cursor, and never into our own network."""

from __future__ import annotations

import asyncio
import base64
import json
import random
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from standardwebhooks import Webhook

from notifications import wiring
from notifications.feed.call import Caller
from notifications.feed.push import AT_ONCE, Pusher, push
from notifications.models import FeedCursor, FeedEndpoint
from notifications.providers.fence import EVERYTHING, is_public
from tests.api.feed import advance, close, open_transaction
from tests.delivery.workplace import Workplace, connected
from tests.intake.notify_cli import notify
from tests.sandbox.receiver import Got, Receiver, running_receiver

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner"])
NEW = "whsec_" + base64.b64encode(b"new secret of the feed, 32 bytes").decode()
OLD = "whsec_" + base64.b64encode(b"old secret of the feed, 32 bytes").decode()
REFERENCE = "env:FEED_SECRET"
WHY = "The shop wants to hear what became of its mails."


@pytest.fixture
def receiver(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    settings.NOTIFYOPS_WEBHOOK_PRIVATE = "yes"
    monkeypatch.setenv("FEED_SECRET", NEW)
    monkeypatch.setenv("OLD_FEED_SECRET", OLD)
    with running_receiver() as running:
        yield running


def add(name: str, url: str, *, secret: str = REFERENCE, workspaces: tuple[str, ...] = ("*",)) -> FeedEndpoint:
    spaces = [part for space in workspaces for part in ("--workspace", space)]
    made = notify(
        "endpoint", "create", name, "--url", url, "--secret", secret, "--after", "0", "--reason", WHY, *spaces
    )
    assert made.code == 0, made.err
    return FeedEndpoint.objects.get(name=name)


def closed(place: Workplace, count: int, **options: Any) -> None:
    for n in range(count):
        intent = place.enqueue(f"{options.get('workspace', 'r')}-{n}", **options)
        with open_transaction(place) as person:
            close(person, intent)
    advance(place)


def rounds(
    place: Workplace,
    done: Callable[[], bool] | None = None,
    *,
    is_private_allowed: bool = True,
    mode: str = "sandbox",
) -> None:
    """Do the chore until it is done (or once), as the cluster's role."""

    async def scene() -> None:
        caller = Caller(EVERYTHING if is_private_allowed else ())
        async with await connected(place.dsn()) as connection:
            places, rng = asyncio.Semaphore(AT_ONCE), random.Random(7)
            pusher = Pusher(connection, caller, wiring.webhook_keys, places, rng, site="test", mode=mode)
            busy: dict[int, asyncio.Task[None]] = {}
            await push(pusher, busy)
            end = time.monotonic() + 60
            while (not done() if done else any(not task.done() for task in busy.values())) and time.monotonic() < end:
                await asyncio.sleep(0.02)
                if done:
                    await push(pusher, busy)
            for task in busy.values():
                task.cancel()
            await asyncio.gather(*busy.values(), return_exceptions=True)
        await caller.close()

    asyncio.run(scene())


def keys_of(got: list[Got]) -> list[str]:
    return [one.data["notification_id"] for one in got]


def test_each_outcome_comes_once_in_order_and_is_signed(place: Workplace, receiver: Receiver) -> None:
    endpoint = add("shop", receiver.url)
    closed(place, 3)
    rounds(place)
    rounds(place)
    assert keys_of(receiver.got) == [f"report-ready/r-{n}" for n in range(3)]
    for one in receiver.got:
        document = Webhook(NEW).verify(one.body.decode(), one.headers)
        assert document["type"] == "notification.closed"
        assert one.headers["webhook-id"] == f"outcome_{document['data']['position']}"
        assert b"ana@example.com" not in one.body
    assert FeedCursor.objects.get().position == receiver.got[-1].data["position"] > 0
    assert endpoint.cursor.failure_count == 0


def test_a_refusal_is_tried_again_later_with_the_same_id_and_bytes(place: Workplace, receiver: Receiver) -> None:
    add("shop", receiver.url)
    closed(place, 2)
    receiver.statuses = [500, 302]
    rounds(place)
    assert len(receiver.got) == 1
    rounds(place)
    assert len(receiver.got) == 1  # not before its time
    place.later(7)
    rounds(place)
    cursor = FeedCursor.objects.get()
    assert (cursor.failure_count, cursor.last_answer, cursor.position) == (2, "302", 0)
    place.later(13)
    rounds(place)
    first, second, third, _last = receiver.got
    assert first.body == second.body == third.body
    assert first.headers["webhook-id"] == third.headers["webhook-id"]
    assert keys_of(receiver.got[2:]) == ["report-ready/r-0", "report-ready/r-1"]
    assert FeedCursor.objects.get().failure_count == 0


def test_one_that_is_gone_gets_nothing_more_until_it_is_enabled(place: Workplace, receiver: Receiver) -> None:
    add("shop", receiver.url)
    closed(place, 1)
    receiver.statuses = [410]
    rounds(place)
    place.later(7200)
    rounds(place)
    assert len(receiver.got) == 1
    assert notify("endpoint", "list", "--json").document[0]["state"] == "gone"
    place.shift_s = 0
    assert notify("endpoint", "enable", "shop").code == 0
    rounds(place)
    assert len(receiver.got) == 2
    assert notify("endpoint", "disable", "shop").code == 0
    closed(place, 1, workspace="acme")
    rounds(place)
    assert len(receiver.got) == 2


def test_a_rotated_secret_signs_beside_the_old_one(place: Workplace, receiver: Receiver) -> None:
    add("shop", receiver.url, secret="env:FEED_SECRET,env:OLD_FEED_SECRET")
    closed(place, 1)
    rounds(place)
    for secret in (NEW, OLD):
        Webhook(secret).verify(receiver.got[0].body.decode(), receiver.got[0].headers)
    add("none", receiver.url, secret="env:NOT_SET_HERE")
    rounds(place)
    assert FeedCursor.objects.get(endpoint__name="none").last_answer == "no_secret"
    assert len(receiver.got) == 1


def test_an_endpoint_gets_its_own_workspaces_only(place: Workplace, receiver: Receiver) -> None:
    add("shop", receiver.url, workspaces=("acme",))
    closed(place, 2, workspace="other")
    closed(place, 2, workspace="acme")
    rounds(place)
    assert [one.data["workspace"] for one in receiver.got] == ["acme", "acme"]


def test_a_slow_endpoint_holds_up_no_other(place: Workplace, receiver: Receiver) -> None:
    free = threading.Event()

    class Slow(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            free.wait(60)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Slow)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        add("slow", f"http://127.0.0.1:{server.server_address[1]}/")
        add("quick", receiver.url)
        closed(place, 5)
        rounds(place, lambda: len(receiver.got) >= 5)
    finally:
        free.set()
        server.shutdown()
        thread.join()
        server.server_close()
    assert keys_of(receiver.got) == [f"report-ready/r-{n}" for n in range(5)]
    assert FeedCursor.objects.get(endpoint__name="slow").position == 0


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "10.0.0.1", "2130706433", "0x7f.1", "[::]"])
def test_nothing_inside_our_network_is_called_unless_it_is_allowed(
    place: Workplace, receiver: Receiver, host: str
) -> None:
    endpoint = add("shop", receiver.url)
    port = receiver.url.split(":")[2].split("/")[0]
    for url in (f"https://{host}:{port}/events", f"http://{host}:{port}/events"):
        FeedEndpoint.objects.filter(pk=endpoint.pk).update(url=url)
        FeedCursor.objects.update(due_at="2026-01-01T00:00:00Z")
        if not FeedCursor.objects.get().position:
            closed(place, 1, workspace=f"w{len(url)}")
        rounds(place, is_private_allowed=False)
        assert FeedCursor.objects.get().last_answer == "forbidden"
    assert receiver.got == []


@pytest.mark.parametrize(
    ("address", "is_fine"),
    [("93.184.215.14", True), ("2606:4700::1111", True), ("127.0.0.1", False), ("10.1.2.3", False), ("::1", False),
     ("169.254.169.254", False), ("::ffff:10.0.0.1", False), ("64:ff9b::a00:1", False), ("2002:a00:1::", False),
     ("fe80::1%eth0", False), ("fd00::1", False), ("100.64.0.1", False), ("224.0.0.1", False), ("nonsense", False),
     ("::7f00:1", False), ("fec0::1", False), ("240.0.0.1", False), ("ff02::1", False), ("0.0.0.0", False)],  # noqa: S104
)  # fmt: skip
def test_what_is_an_address_of_the_open_internet(address: str, is_fine: bool) -> None:
    assert is_public(address) is is_fine


@pytest.mark.parametrize(
    "changes",
    [{"--url": "http://example.com/"}, {"--url": "https://user:pass@example.com/"}, {"--url": "ftp://example.com"},
     {"--secret": NEW}, {"--reason": "short"}, {"--after": "-1"}],
)  # fmt: skip
def test_an_endpoint_that_cannot_be_is_refused(changes: dict[str, str]) -> None:
    good = {"--url": "https://example.com/", "--secret": "env:FEED_SECRET", "--workspace": "", "--reason": WHY}
    arguments = [part for pair in (good | changes).items() for part in pair]
    answer = notify("endpoint", "create", "shop", *arguments)
    assert answer.code == 1, answer
    assert not FeedEndpoint.objects.exists()
    assert json.loads(notify("endpoint", "list", "--json").out) == []

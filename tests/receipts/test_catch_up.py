"""What never reached us is read back from the provider's list: bounded, once, by the same rules."""

from __future__ import annotations

import contextlib
import http.server
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from notifications.models import ProviderAccount, ProviderEvent
from notifications.providers import resend_events
from notifications.providers.resend_events import EventsApi, EventsUnavailable
from notifications.receipts.catch_up import CaughtUp, NoWebhook, catch_up
from notifications.sandbox.app import RunningSandbox, running_sandbox
from tests.cluster.machine import eventually
from tests.intake.notify_cli import notify
from tests.receipts.post import NEW, URL, Provider, kept, parked, stands
from tests.sandbox.callers import call

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


@pytest.fixture
def sandbox() -> Iterator[RunningSandbox]:
    """Give one whose webhook points to nobody: every event is lost on its way."""
    with running_sandbox(delivery_delay_s=0.01, retry_scale=0.0001) as running:
        endpoint = f"http://127.0.0.1:9{URL}"
        call(running, "POST", "/webhooks", {"endpoint": endpoint, "signing_secret": NEW})
        yield running


def lost(provider: Provider, count: int) -> list[int]:
    """Give intents whose events were all lost."""
    intents = [provider.place.enqueue(f"demo-{number:03d}") for number in range(count)]
    provider.place.run()
    eventually(lambda: len(provider.place.sandbox.attempts()) == 2 * count, 30)
    return intents


def caught_up(provider: Provider, **more: Any) -> CaughtUp:
    sandbox = provider.place.sandbox
    account = ProviderAccount.objects.get(name="resend")
    return catch_up(EventsApi(sandbox.url, sandbox.full_key), account, site="test", **({"since": LONG_AGO} | more))


def test_lost_events_are_found_applied_and_found_no_second_time(provider: Provider) -> None:
    intents = lost(provider, 3)
    assert caught_up(provider) == CaughtUp(listed=6, known=0, new=6)
    assert set(ProviderEvent.objects.values_list("source", flat=True)) == {"catch_up"}
    provider.apply()
    provider.place.later(2)
    provider.apply()
    assert {stands(intent)[:2] for intent in intents} == {("accepted", "delivered")}
    assert caught_up(provider) == CaughtUp(listed=6, known=6, new=0)


def test_what_the_webhook_brought_already_is_not_fetched(provider: Provider) -> None:
    intent = lost(provider, 1)[0]
    known = provider.place.sandbox.attempts()[-1]["id"]
    provider.say("email.delivered", intent, event_id=known)
    assert caught_up(provider) == CaughtUp(listed=2, known=1, new=1)
    assert (kept(), parked()) == (2, 2)


def test_a_run_is_bounded_by_number_and_by_time_and_goes_on_the_next_time(provider: Provider) -> None:
    lost(provider, 30)
    assert caught_up(provider, most=7) == CaughtUp(listed=50, known=0, new=7, cut=True)
    assert caught_up(provider, most=100) == CaughtUp(listed=60, known=7, new=53)
    assert caught_up(provider, since=datetime.now(UTC) + timedelta(hours=1)) == CaughtUp()


def test_the_rate_limit_is_waited_for(provider: Provider) -> None:
    lost(provider, 8)
    sandbox, waits = provider.place.sandbox, list[float]()
    sandbox.configure(rate_per_s=10)

    def pause(wait_s: float) -> None:
        waits.append(wait_s)
        sandbox.configure(rate_per_s=None)

    account = ProviderAccount.objects.get(name="resend")
    api = EventsApi(sandbox.url, sandbox.full_key, pause=pause)
    assert catch_up(api, account, since=LONG_AGO, site="test").new == 16
    assert waits == [1.0]


def test_the_command_says_what_it_found_and_what_is_missing(provider: Provider, settings: Any) -> None:
    sandbox = provider.place.sandbox
    settings.NOTIFYOPS_RESEND_BASE_URL, settings.NOTIFYOPS_RESEND_LOOKUP_KEY = sandbox.url, ""
    assert "NOTIFYOPS_RESEND_LOOKUP_KEY" in notify("receipts", "catch-up").err
    settings.NOTIFYOPS_RESEND_LOOKUP_KEY = sandbox.sending_key
    assert "one with full access" in notify("receipts", "catch-up").err
    settings.NOTIFYOPS_RESEND_LOOKUP_KEY = sandbox.full_key
    lost(provider, 1)
    told = notify("receipts", "catch-up")
    assert (told.code, told.out, told.err) == (0, "2 events listed, 0 were here, 2 are new\n", "")
    assert notify("receipts", "catch-up", "--json").document == {"listed": 2, "known": 2, "new": 0, "cut": False}
    for wrong in (("--hours", "0"), ("--hours", "nan"), ("--most", "0"), ("--account", "nobody")):
        told = notify("receipts", "catch-up", *wrong)
        assert (told.code, told.out) == (1, "")
        assert wrong[1].removesuffix(".0") in told.err


def test_without_a_webhook_that_points_here_it_says_so(provider: Provider) -> None:
    sandbox = provider.place.sandbox
    for webhook in call(sandbox, "GET", "/webhooks").json["data"]:
        call(sandbox, "DELETE", f"/webhooks/{webhook['id']}")
    with pytest.raises(NoWebhook, match=URL):
        caught_up(provider)


@contextmanager
def answering(
    answer: Callable[[str], tuple[int, dict[str, str], bytes]], *, drips: threading.Event | None = None
) -> Iterator[tuple[str, list[str]]]:
    """Run a provider that answers as it likes; give its address, and the keys that it was shown.

    `drips`: one byte each 0.4 s, and this is set when the last one is out.
    """
    shown: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            shown.append(self.headers["Authorization"])
            status, headers, body = answer(self.path)
            self.send_response(status)
            for name, value in (headers | {"Content-Length": str(len(body))}).items():
                self.send_header(name, value)
            self.end_headers()
            if drips is None:
                self.wfile.write(body)
                return
            with contextlib.suppress(OSError):
                for place in range(len(body)):
                    time.sleep(0.4)
                    self.wfile.write(body[place : place + 1])
                    self.wfile.flush()
                drips.set()

        def log_message(self, *args: object) -> None:
            return

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", shown
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.mark.parametrize(
    ("status", "body", "sentence"),
    [(500, b"", "500"), (403, b"", "full access"), (200, b"<html>", "did not answer"), (200, b"[]", "did not answer"),
     (200, b"9" * 1_100_000, "did not answer"), (200, b"\xff", "did not answer")],
)  # fmt: skip
def test_an_answer_that_is_none_is_a_sentence(status: int, body: bytes, sentence: str) -> None:
    with answering(lambda _: (status, {}, body)) as (url, _), pytest.raises(EventsUnavailable, match=sentence):
        EventsApi(url, "re_key").webhooks_at(URL)


def test_a_redirect_does_not_get_the_key(provider: Provider) -> None:
    with (
        answering(lambda _: (200, {}, b"{}")) as (elsewhere, shown),
        answering(lambda path: (302, {"Location": elsewhere + path}, b"")) as (url, _),
        pytest.raises(EventsUnavailable, match="302"),
    ):
        EventsApi(url, "re_key").webhooks_at(URL)
    assert shown == []


def test_a_provider_that_only_ever_limits_is_given_up(provider: Provider) -> None:
    waits: list[float] = []
    limited = answering(lambda _: (429, {"Retry-After": "31536000"}, b""))
    with limited as (url, _), pytest.raises(EventsUnavailable, match="rate limit"):
        EventsApi(url, "re_key", pause=waits.append).webhooks_at(URL)
    assert waits == [60.0] * 5


def test_strange_rows_are_passed_over(provider: Provider) -> None:
    lists = {"/webhooks": [{"id": "w", "endpoint": f"https://x.example{URL}/"}, 5, {"id": None}, {"endpoint": 7}]}
    events = [
        {"id": "../x"},
        {"id": "e1", "created_at": 5},
        None,
        {"id": "e2", "created_at": "2019-01-01"},
        {"id": "e3"},
    ]

    def answer(path: str) -> tuple[int, dict[str, str], bytes]:
        if path.endswith("/e1"):
            return 200, {}, b'{"payload": {"type": 5}}'
        return 200, {}, json.dumps({"data": lists.get(path, events), "has_more": "/events" in path}).encode()

    with answering(answer) as (url, _):
        account = ProviderAccount.objects.get(name="resend")
        found = catch_up(EventsApi(url, "re_key"), account, since=LONG_AGO, site="test")
    assert (found.listed, found.new) == (1, 1)
    assert ProviderEvent.objects.get().type == "unreadable"


def test_an_answer_that_drips_is_given_up_in_the_time_of_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """A deadline for each read would never be over: a byte comes before every one of them."""
    monkeypatch.setattr(resend_events, "TIMEOUT_S", 1.0)
    ended = threading.Event()

    def drip(path: str) -> tuple[int, dict[str, str], bytes]:
        return 200, {"X-Drip": "1"}, b'{"data": []}'

    with answering(drip, drips=ended) as (url, _):
        with pytest.raises(EventsUnavailable, match="did not answer"):
            EventsApi(url, "re_key").webhooks_at(URL)
        assert not ended.is_set(), "it was given up before the answer was whole"


def test_no_proxy_of_the_environment_gets_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        answering(lambda _: (200, {}, b"{}")) as (proxy, shown),
        answering(lambda _: (200, {}, b'{"data": []}')) as (url, _),
    ):
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy)
        assert EventsApi(url, "re_key").webhooks_at(URL) == []
        assert shown == []


def test_a_key_that_no_request_can_carry_is_a_sentence_without_the_key() -> None:
    with pytest.raises(EventsUnavailable, match="printable ASCII") as refusal:
        EventsApi("http://127.0.0.1:9", "re_secret\n").webhooks_at(URL)
    assert "re_secret" not in str(refusal.value)

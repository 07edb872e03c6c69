"""The served site, when the database is away, has moved, or lets it wait: it says so, and serves when it can."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from tests.api.callers import caller, wish
from tests.browser.console_site import served
from tests.delivery.workplace import Workplace
from tests.notifyops.relay import Relay

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
Environment = Callable[[str], dict[str, str]]
# Of the API: more at once than it has places (gate.py ROOM).
MANY = 24


def ask(site: str, path: str = "/readyz", **request: Any) -> tuple[int, str, str | None]:
    """Give status, text and `Retry-After`."""
    try:
        with urllib.request.urlopen(urllib.request.Request(site + path, **request), timeout=60) as answer:
            return answer.status, answer.read().decode(), None
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode(), error.headers["Retry-After"]


def enqueue(site: str, token: str, report: str) -> tuple[int, str, str | None]:
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    return ask(site, "/api/v1/intents", data=json.dumps(wish(report)).encode(), headers=headers)


@pytest.fixture
def relay(database_url: Callable[[str], str]) -> Iterator[Relay]:
    with Relay(database_url("web")) as one:
        yield one


def test_the_site_serves_again_with_the_first_request_after_an_outage(process_env: Environment, relay: Relay) -> None:
    with served(process_env("web") | {"NOTIFYOPS_DATABASE_URL": relay.url}) as site:
        assert ask(site)[0] == 200
        relay.down()
        assert {ask(site)[:2] for _ in range(12)} == {(503, "database: no answer\n")}
        relay.up()
        assert ask(site)[0] == 200


def test_after_a_failover_the_first_request_finds_a_new_connection(process_env: Environment, relay: Relay) -> None:
    with served(process_env("web") | {"NOTIFYOPS_DATABASE_URL": relay.url}) as site:
        with ThreadPoolExecutor(8) as many:
            assert {status for status, *_ in many.map(lambda _: ask(site), range(24))} == {200}
        before = relay.flows
        relay.silence()
        assert ask(site)[0] == 200
        assert relay.flows > before


def test_callers_who_wait_for_another_transaction_are_told_to_come_back(
    process_env: Environment, as_role: Callable[..., psycopg.Connection[Any]], place: Workplace
) -> None:
    who, other = caller("enqueue"), caller("enqueue")
    blocker = as_role("web", autocommit=False)
    blocker.execute("SELECT * FROM notifyops.enqueue('report_ready', 'held', 'ana@example.com', '{\"title\": \"x\"}')")
    with served(process_env("web")) as site, ThreadPoolExecutor(MANY) as many:
        waiting = [many.submit(enqueue, site, who.token, "held") for _ in range(MANY)]
        for one in waiting:
            status, text, retry_after = one.result(120)
            assert (status, json.loads(text)["code"], retry_after) == (503, "unavailable", "2"), text
        assert any("Another transaction is writing the same" in one.result()[1] for one in waiting)
        # The transaction is open still, and nobody else's place is lost to it.
        assert enqueue(site, other.token, "free")[0] in (200, 201)
        blocker.rollback()
        ends_at = time.monotonic() + 60
        while (answer := enqueue(site, who.token, "held"))[0] == 503:
            assert time.monotonic() < ends_at, answer
        assert answer[0] in (200, 201), answer

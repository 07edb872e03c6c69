"""Streams of a real server process: connections, caps, a database that restarts, a withdrawn permission, the end."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.contrib.sessions.models import Session
from django.test import Client

from notifications.models import Intent
from tests.browser.console_site import served
from tests.live.listening import Listening
from tests.notifyops.relay import Relay
from tests.postgres import free_port
from tests.reviews import cases
from tests.reviews.cases import login, make_case, make_person, post
from tests.reviews.test_privacy import planted

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
Environment = Callable[[str], dict[str, str]]
CONNECTED = (
    "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'notifyops' AND datname = current_database()"
)
CANARIES = ("canarylocal", "canarydomain", "CANARY-", "canary-typed")


@pytest.fixture
def site(process_env: Environment) -> Iterator[str]:
    with served(process_env("web")) as address:
        yield address


def decided(who: str, intent: Intent) -> None:
    now = Intent.objects.get(pk=intent.pk)
    answer = post(login(who), now, "close", reason_code="duplicate")
    assert answer.status_code == 303, answer.content


def test_many_streams_hear_what_moves_by_one_connection_and_learn_no_more_than_that(site: str, as_role: Any) -> None:
    people = [login("olga"), login("vera"), login("lena")]
    intent = make_case(planted(cases.UNKNOWN), recipient="canarylocal@canarydomain.example.com")
    with contextlib.ExitStack() as opened:
        streams = [opened.enter_context(Listening(site, one)) for one in people for _ in range(4)]
        assert {one.status for one in streams} == {200}
        for one in streams:
            one.wait_for("event: database\ndata: true")
        watcher = as_role("postgres")
        # Of the site's and this process's own; a stream that kept one would add twelve.
        row = watcher.execute(CONNECTED).fetchone()
        assert row[0] < 9, "connections are held by streams"
        decided("lena", intent)
        for one in streams:
            one.wait_for(f'"cases":[[{intent.pk},')
        heard = streams[0].heard
        assert ',"closed",' in heard
        came = make_case(planted(cases.BOUNCED), recipient="canarylocal@canarydomain.example.com")
        streams[0].wait_for(f"[[{came.pk},")
        mark = streams[0].last_id()
    for one in streams:
        assert not [word for word in CANARIES if word in one.heard]
    assert set(heard.split("\n")[0].split()[:1]) == {"retry:"}
    with Listening(site, people[0], last_id=mark) as again:
        again.wait_for("event: site")
        assert "missed" not in again.heard
    headers = streams[0].headers
    assert headers["content-type"] == "text/event-stream"
    assert headers["x-accel-buffering"] == "no"
    assert "no-store" in headers["cache-control"]
    assert "content-encoding" not in headers
    assert {"accept", "cookie"} <= {word.strip().lower() for word in headers["vary"].split(",")}


def test_a_person_has_five_and_no_more_until_one_has_gone(site: str) -> None:
    olga = login("olga")
    streams = [Listening(site, olga) for _ in range(5)]
    refused = Listening(site, olga)
    assert refused.status == 429
    refused.wait_for("asks every 20 seconds instead")
    with Listening(site, login("vera")) as other:
        assert other.status == 200
    streams[0].leave()
    for _ in range(100):
        again = Listening(site, olga)
        if again.status == 200:
            break
        again.leave()
        time.sleep(0.1)
    assert again.status == 200
    for one in (*streams[1:], again, refused):
        one.leave()


def test_after_a_restart_of_the_database_the_same_streams_hear_what_came_meanwhile(
    process_env: Environment, database_url: Callable[[str], str]
) -> None:
    olga = login("olga")
    first, second = make_case(cases.UNKNOWN), make_case(cases.UNKNOWN)
    with (
        Relay(database_url("web")) as relay,
        served(process_env("web") | {"NOTIFYOPS_DATABASE_URL": relay.url}) as site,
        Listening(site, olga) as one,
    ):
        one.wait_for("event: database\ndata: true")
        decided("lena", first)
        one.wait_for(f"[[{first.pk},")
        relay.down()
        one.wait_for("event: database\ndata: false")
        decided("lena", second)
        relay.up()
        one.wait_for("event: database\ndata: true", times=2)
        one.wait_for(f"[[{second.pk},")
        assert one.heard.count("event: missed") == 1, "only as the hub began"
        assert not one.ended.is_set()


def out_of_the_group(who: Client) -> None:
    User.objects.get(username="olga").groups.clear()


def switched_off(who: Client) -> None:
    User.objects.filter(username="vera").update(is_active=False)


def logged_out(who: Client) -> None:
    # As in another tab: this one still sends its cookie.
    Session.objects.filter(pk=who.cookies["sessionid"].value).delete()


def other_password(who: Client) -> None:
    User.objects.filter(username="bob_lead").update(password="!another")


def test_a_stream_ends_when_its_person_may_not_listen_any_more(site: str) -> None:
    withdrawn = {"olga": out_of_the_group, "vera": switched_off, "lena": logged_out, "bob_lead": other_password}
    people = {name: login(name) for name in withdrawn}
    make_person("stays").groups.add(Group.objects.get(name="Viewers"))
    with contextlib.ExitStack() as opened:
        stays = opened.enter_context(Listening(site, login("stays")))
        streams = {name: opened.enter_context(Listening(site, one)) for name, one in people.items()}
        for one in streams.values():
            one.wait_for("event: database")
        for name, withdraw in withdrawn.items():
            withdraw(people[name])
        for one in streams.values():
            one.wait_for('event: end\ndata: "over"')
            assert one.ended.wait(5)
        assert not stays.ended.is_set()
        for name, person in people.items():
            refused = opened.enter_context(Listening(site, person))
            assert refused.status in (204, 403), f"none begins anew for {name}"


def test_whoever_may_see_no_case_gets_no_stream(site: str) -> None:
    with Listening(site, login("sam")) as refused:
        assert refused.status == 403


def test_a_server_with_open_streams_ends_at_once_and_says_so(process_env: Environment) -> None:
    """By itself it would wait until its grace is over, and then cut them off."""
    olga, vera = login("olga"), login("vera")
    port = free_port()
    command = [sys.executable, "-m", "uvicorn", "notifyops.asgi:application", "--lifespan", "off", "--port", str(port)]
    with tempfile.TemporaryFile("w+b") as log:
        # Without any bound of its own, as a server that knows nothing of streams.
        server = subprocess.Popen(command, env=process_env("web"), stdout=log, stderr=log)
        try:
            streams = opened_at(f"http://127.0.0.1:{port}", [olga, vera])
            for one in streams:
                one.wait_for("event: database\ndata: true")
            began = time.monotonic()
            server.send_signal(signal.SIGTERM)
            assert server.wait(10) in (0, -signal.SIGTERM)
            assert time.monotonic() - began < 4
            for one in streams:
                one.wait_for('event: end\ndata: "restart"', 1)
                assert one.ended.wait(5)
        finally:
            server.kill()
            server.wait()
        log.seek(0)
        said = log.read().decode()
    assert "Traceback" not in said
    assert "exceeded" not in said


def opened_at(site: str, people: list[Any]) -> list[Listening]:
    """Open two streams for each, as soon as the server listens."""
    for _ in range(600):
        with contextlib.suppress(OSError):
            Listening(site, people[0]).leave()
            break
        time.sleep(0.05)
    return [Listening(site, one) for one in people for _ in range(2)]

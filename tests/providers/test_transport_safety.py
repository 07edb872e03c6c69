"""What one call must never do: follow, retry, leak the key, trust the environment, hang, or read without end."""

from __future__ import annotations

import asyncio
import gzip
import logging
import socket
import ssl
import threading
import time
import zlib
from typing import Any

import pytest
import trustme

from notifications.providers.base import Request
from notifications.states import Outcome, ResultClass
from tests.providers.attempts import API_KEY, attempt, resend, sent_once
from tests.providers.conftest import Runner
from tests.providers.scripted_server import ACCEPTED, Peer, answer, answering, scripted

BODY = b'{"id":"4ef9a417-02e9-4d39-ad75-9611e0fcc33c"}'


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent"])
def test_a_redirect_is_a_setting_to_mend_and_is_not_followed(run: Runner, status: str) -> None:
    async def play() -> None:
        async with scripted(answering(ACCEPTED)) as target:
            moved = answer(b"", status=status, headers=(f"Location: {target.url}/login",))
            async with scripted(answering(moved)) as server:
                result = await sent_once(server.url)
            assert (result.outcome, result.result_class) == (Outcome.REJECTED, ResultClass.FIX_CONFIG)
            assert result.code == f"resend.{status[:3]}.unclassified"
            assert target.connections == 0

    run(play())


def test_the_proxies_and_the_netrc_of_the_environment_are_ignored(
    run: Runner, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login olga password hunter2\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")

    async def play() -> None:
        async with scripted(answering(ACCEPTED)) as server:
            assert (await sent_once(server.url)).outcome is Outcome.ACCEPTED
            assert f"Authorization: Bearer {API_KEY}".encode() in server.requests[0]

    run(play())


def test_a_request_carries_exactly_our_headers_and_the_frozen_bytes(run: Runner) -> None:
    async def play() -> None:
        async with scripted(answering(ACCEPTED)) as server:
            await sent_once(f"{server.url}/proxy/", attempt(key="acme/report-ready/7~g2"))
            head, _, body = server.requests[0].partition(b"\r\n\r\n")
            lines = head.decode().split("\r\n")
            assert lines[0] == "POST /proxy/emails HTTP/1.1"
            assert sorted(lines[1:]) == [
                "Accept-Encoding: identity",
                "Accept: application/json",
                f"Authorization: Bearer {API_KEY}",
                f"Content-Length: {len(body)}",
                "Content-Type: application/json",
                f"Host: 127.0.0.1:{server.port}",
                "Idempotency-Key: acme/report-ready/7~g2",
                "User-Agent: notifyops/test",
            ]
            assert body == attempt().body

    run(play())


def test_cookies_are_neither_kept_nor_sent(run: Runner) -> None:
    with_cookie = answer(BODY, headers=("Set-Cookie: session=1; Path=/",))

    async def play() -> None:
        # By name: a cookie jar ignores the cookies of bare IP addresses.
        async with (
            scripted(answering(with_cookie, ACCEPTED)) as server,
            resend(f"http://localhost:{server.port}") as provider,
        ):
            await provider.send(attempt())
            await provider.send(attempt())
            assert b"cookie" not in server.requests[1].lower()

    run(play())


def test_the_key_shows_in_no_result_and_no_log(run: Runner, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    echo = answer(f'{{"name":"{API_KEY}","message":"{API_KEY}"}}'.encode(), status="401 Unauthorized")

    async def refuse(peer: Peer) -> None:
        await peer.read_request()
        await peer.say(b"not http: Bearer " + API_KEY.encode() + b"\r\n\r\n")

    async def play() -> None:
        async with scripted(answering(echo)) as server:
            assert API_KEY not in repr(await sent_once(server.url))
        async with scripted(refuse) as server, resend(server.url) as provider:
            assert API_KEY not in repr(await provider.send(attempt()))
            assert API_KEY not in repr(provider)

    run(play())
    assert API_KEY not in caplog.text


@pytest.mark.parametrize(
    ("encoding", "body", "code"),
    [
        ("gzip", gzip.compress(BODY), "resend.accepted"),
        ("GZIP", gzip.compress(BODY), "resend.accepted"),
        ("deflate", zlib.compress(BODY), "resend.accepted"),
        ("identity", BODY, "resend.accepted"),
        ("gzip", gzip.compress(BODY)[:-9], "resend.malformed_response"),
        ("gzip", gzip.compress(b'{"id":"' + b"a" * 10_000_000 + b'"}'), "resend.malformed_response"),
        ("br", BODY, "resend.malformed_response"),
    ],
    ids=["gzip", "upper case", "deflate", "identity", "cut short", "a bomb", "unknown kind"],
)
def test_a_compressed_answer_counts_only_where_it_is_whole(run: Runner, encoding: str, body: bytes, code: str) -> None:
    async def play() -> None:
        async with scripted(answering(answer(body, headers=(f"Content-Encoding: {encoding}",)))) as server:
            assert (await sent_once(server.url)).code == code

    run(play())


@pytest.mark.parametrize(("status", "outcome"), [("200 OK", Outcome.UNKNOWN), ("422 No", Outcome.REJECTED)])
def test_an_endless_body_is_not_read_to_its_end(run: Runner, status: str, outcome: Outcome) -> None:
    taken: list[int] = []

    async def flood(peer: Peer) -> None:
        await peer.read_request()
        await peer.say(f"HTTP/1.1 {status}\r\nContent-Length: 100000000\r\n\r\n".encode())
        for place in range(1500):
            await peer.say(b"x" * 65536)
            taken.append(place)

    async def play() -> None:
        async with scripted(flood) as server:
            assert (await sent_once(server.url)).outcome is outcome
            assert len(taken) < 1000, "of 94 MB no more than both sides' buffers hold"

    run(play())


def test_a_hung_name_server_holds_up_neither_the_call_nor_the_end_of_the_loop(
    run: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    released = threading.Event()
    real = socket.getaddrinfo

    def hang(host: Any, *rest: Any, **named: Any) -> Any:
        if host == "hangs.example.com":
            released.wait(120)
        return real(host, *rest, **named)

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    started = time.perf_counter()
    result = run(sent_once("http://hangs.example.com", attempt(timeout_s=0.3)))
    took_s = time.perf_counter() - started
    released.set()
    assert (result.outcome, result.code) == (Outcome.NOT_SENT, "not_sent.deadline")
    assert took_s < 60


def test_a_name_is_resolved_and_its_address_is_used(run: Runner) -> None:
    async def play() -> None:
        async with scripted(answering(ACCEPTED)) as server:
            result = await sent_once(f"http://localhost:{server.port}")
            assert result.outcome is Outcome.ACCEPTED
            assert f"Host: localhost:{server.port}".encode() in server.requests[0]

    run(play())


def server_context(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    return context


def trusting_context(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.create_default_context()
    authority.configure_trust(context)
    return context


def test_a_trusted_server_is_used_over_tls_and_its_connection_kept(run: Runner, authority: trustme.CA) -> None:
    async def play() -> None:
        async with scripted(answering(*[ACCEPTED] * 3), tls=server_context(authority)) as server:
            url = server.url.replace("http:", "https:")
            async with resend(url, ssl=trusting_context(authority)) as provider:
                for _ in range(3):
                    assert (await provider.send(attempt())).outcome is Outcome.ACCEPTED
            assert server.connections == 1

    run(play())


def test_an_untrusted_certificate_gets_no_byte_of_the_request(run: Runner, authority: trustme.CA) -> None:
    async def play() -> None:
        async with scripted(answering(ACCEPTED), tls=server_context(authority)) as server:
            result = await sent_once(server.url.replace("http:", "https:"))
            assert (result.outcome, result.code) == (Outcome.NOT_SENT, "not_sent.tls")
            assert server.requests == []

    run(play())


async def silent(peer: Peer) -> None:
    await peer.wait()


async def talkative(peer: Peer) -> None:
    await peer.say(b"220 mail.example.com ESMTP\r\n")
    await peer.wait()


async def handshake_reset(peer: Peer) -> None:
    await asyncio.sleep(0.02)
    await peer.reset()


async def handshake_closed(peer: Peer) -> None:
    await asyncio.sleep(0.02)
    await peer.hang_up()


@pytest.mark.parametrize("script", [silent, talkative, handshake_reset, handshake_closed])
def test_a_server_without_tls_is_not_sent(run: Runner, authority: trustme.CA, script: Any) -> None:
    async def play() -> None:
        async with scripted(script) as server:
            url = server.url.replace("http:", "https:")
            async with resend(url, ssl=trusting_context(authority)) as provider:
                result = await provider.send(attempt(timeout_s=0.4))
            assert (result.outcome, server.requests) == (Outcome.NOT_SENT, [])

    run(play())


def test_a_reset_after_the_write_over_tls_is_unknown(run: Runner, authority: trustme.CA) -> None:
    async def read_then_reset(peer: Peer) -> None:
        await peer.read_request()
        await peer.reset()

    async def play() -> None:
        async with scripted(read_then_reset, tls=server_context(authority)) as server:
            url = server.url.replace("http:", "https:")
            async with resend(url, ssl=trusting_context(authority)) as provider:
                assert (await provider.send(attempt())).outcome is Outcome.UNKNOWN

    run(play())


def test_a_closed_provider_leaves_no_connection(run: Runner) -> None:
    async def play() -> None:
        async with scripted(answering(ACCEPTED)) as server:
            async with resend(server.url) as provider:
                await provider.send(attempt())
            await asyncio.sleep(0.05)
            assert server.stray_bytes == 0
            await provider.close()

    run(play())


def test_a_large_body_is_written_whole(run: Runner) -> None:
    big = Request(key="big", body=b"x" * 3_000_000, timeout_s=10, may_write=lambda: None)

    async def play() -> None:
        async with scripted(answering(ACCEPTED)) as server:
            assert (await sent_once(server.url, big)).outcome is Outcome.ACCEPTED
            assert server.requests[0].endswith(b"x" * 3_000_000)

    run(play())

"""Fetching a file: whole, no farther than announced, in time, and never from where nothing may be asked."""

from __future__ import annotations

import gzip
import hashlib
from ipaddress import ip_network

import pytest

from notifications.providers.fetcher import Fetcher, Unfetched
from tests.providers.conftest import Runner
from tests.providers.scripted_server import Peer, Script, answer, answering, scripted

FILE = b"%PDF-1.7 the third quarter"
LOOPBACK = (ip_network("127.0.0.0/8"), ip_network("::1/128"))
HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 26\r\n\r\n"
PASSING = Unfetched("attachment_unreachable", passing=True)


def fetched(run: Runner, script: Script, *, timeout_s: float = 20.0, path: str = "/a") -> bytes | Unfetched:
    """Fetch once from a server that plays the script."""
    found: list[bytes | Unfetched] = []

    async def play() -> None:
        fetcher = Fetcher(LOOPBACK, timeout_s=timeout_s)
        async with scripted(script) as server:
            link = f"{server.url}{path}"
            found.append(await fetcher.fetch(link, size=len(FILE), sha256=hashlib.sha256(FILE).hexdigest()))
            await fetcher.close()

    run(play())
    return found[0]


def after_the_head(*parts: bytes, end: str = "wait") -> Script:
    async def script(peer: Peer) -> None:
        await peer.read_request()
        await peer.say(*parts)
        await {"wait": peer.wait, "fin": peer.hang_up, "rst": peer.reset}[end]()

    return script


async def endless(peer: Peer) -> None:
    await peer.read_request()
    await peer.say(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        await peer.say(b"10000\r\n" + bytes(65536) + b"\r\n")


async def dripping(peer: Peer) -> None:
    await peer.read_request()
    await peer.say(HEAD, *[b"x"] * 1000, pause_s=0.05)


def test_the_bytes_that_were_announced_are_given(run: Runner) -> None:
    assert fetched(run, answering(answer(FILE))) == FILE
    packed = answer(gzip.compress(FILE), headers=("Content-Encoding: gzip",))
    assert fetched(run, answering(packed)) == FILE


def test_a_link_is_asked_letter_by_letter_as_it_was_signed(run: Runner) -> None:
    path = "/a%2Fb?sig=x%2By%3D&e=1"

    async def script(peer: Peer) -> None:
        request = await peer.read_request()
        assert request.startswith(f"GET {path} HTTP/1.1".encode())
        await peer.say(answer(FILE))

    assert fetched(run, script, path=path) == FILE


@pytest.mark.parametrize(
    "script",
    [answering(answer(FILE[:-1])), answering(answer(FILE + b"x")), answering(answer(FILE[:-1] + b"x")), endless,
     answering(answer(FILE, headers=("Content-Encoding: br",)))],
    ids=["shorter", "longer", "other", "endless", "unknown encoding"],
)  # fmt: skip
def test_other_bytes_are_a_mismatch_and_an_endless_answer_is_left(run: Runner, script: Script) -> None:
    assert fetched(run, script) == Unfetched("attachment_mismatch", status=200)


@pytest.mark.parametrize(
    "script",
    [after_the_head(HEAD, FILE[:9], end="fin"), after_the_head(HEAD, end="rst"), after_the_head(b"nonsense", end="fin"),
     after_the_head(end="fin")],
    ids=["cut short", "reset", "no HTTP", "closed"],
)  # fmt: skip
def test_what_breaks_off_may_come_the_next_time(run: Runner, script: Script) -> None:
    assert fetched(run, script) == PASSING


@pytest.mark.parametrize("script", [dripping, after_the_head()], ids=["dripping", "silent"])
def test_the_deadline_is_one_for_all_of_it(run: Runner, script: Script) -> None:
    assert fetched(run, script, timeout_s=1.0) == PASSING


@pytest.mark.parametrize(
    ("status", "wanted"),
    [
        *((status, Unfetched("attachment_unreachable", True, status)) for status in (404, 408, 425, 429, 500, 503)),
        *((status, Unfetched("attachment_refused", False, status)) for status in (204, 206, 301, 307, 400, 401, 403)),
    ],
)
def test_a_status_says_whether_asking_again_may_help(run: Runner, status: int, wanted: Unfetched) -> None:
    body = b"" if status == 204 else FILE
    assert fetched(run, answering(answer(body, status=f"{status} X", headers=("Location: /b",)))) == wanted


@pytest.mark.parametrize(
    ("networks", "link"),
    [
        ((), "https://127.0.0.1/a"),
        ((), "https://localhost/a"),
        ((), "https://[::1]/a"),
        ((), "https://169.254.169.254/latest/meta-data"),
        ((), "http://files.example.com/a"),
        ((), "ftp://files.example.com/a"),
        ((ip_network("10.0.0.0/8"),), "http://127.0.0.1/a"),
    ],
)
def test_nothing_is_asked_inside_the_fence(run: Runner, networks: tuple[ip_network, ...], link: str) -> None:  # type: ignore[valid-type]
    async def play() -> None:
        fetcher = Fetcher(networks, timeout_s=20.0)
        assert await fetcher.fetch(link, size=1, sha256="") == Unfetched("attachment_forbidden")
        await fetcher.close()

    run(play())


def test_nobody_there_may_be_there_the_next_time(run: Runner) -> None:
    async def play() -> None:
        fetcher = Fetcher(LOOPBACK, timeout_s=20.0)
        assert await fetcher.fetch("http://127.0.0.1:9/a", size=1, sha256="") == PASSING
        await fetcher.close()

    run(play())

"""A body that is too large is refused before it is read; every other request passes untouched."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from notifyops.bodies import limited

MOST = 100


def played(path: str, *messages: Mapping[str, Any], claim: bytes | None = None) -> tuple[list[Any], list[bytes], int]:
    """Play a request; give the answer's statuses, what the application read, and how many messages nobody read."""
    left, sent, seen = list(messages), list[Any](), list[bytes]()

    async def receive() -> Mapping[str, Any]:
        return left.pop(0)

    async def send(message: Mapping[str, Any]) -> None:
        sent.append(message.get("status"))

    async def inner(_scope: dict[str, Any], receive: Any, send: Any) -> None:
        more = True
        while more:
            message = await receive()
            seen.append(message.get("body", b"gone"))
            more = message.get("more_body", False)
        await send({"type": "http.response.start", "status": 200})

    headers = [] if claim is None else [(b"content-length", claim)]
    application = limited(inner, prefix="/api/", most=MOST)
    asyncio.run(application({"type": "http", "path": path, "headers": headers}, receive, send))
    return [status for status in sent if status], seen, len(left)


def chunk(size: int, *, more: bool = False) -> dict[str, Any]:
    return {"type": "http.request", "body": b"x" * size, "more_body": more}


def test_a_claim_that_is_too_large_is_refused_unread() -> None:
    assert played("/api/x", chunk(10), claim=b"101") == ([413], [], 1)


def test_without_a_claim_or_with_a_false_one_it_is_counted() -> None:
    messages = [chunk(60, more=True), chunk(60, more=True), chunk(60)]
    for claim in (None, b"1", b"abc", b"9" * 30):
        assert played("/api/x", *messages, claim=claim) == ([413], [], 1)


def test_what_fits_is_handed_on_whole() -> None:
    assert played("/api/x", chunk(60, more=True), chunk(40), claim=b"100") == ([200], [b"x" * 100], 0)
    assert played("/api/x", chunk(0)) == ([200], [b""], 0)


def test_a_sender_that_goes_away_is_heard_of() -> None:
    assert played("/api/x", chunk(60, more=True), {"type": "http.disconnect"}) == ([200], [b"gone"], 0)


@pytest.mark.parametrize("path", ["/reviews/", "/ap", "/x/api/"])
def test_other_addresses_are_left_alone(path: str) -> None:
    assert played(path, chunk(60, more=True), chunk(60), claim=b"120") == ([200], [b"x" * 60, b"x" * 60], 0)


def test_other_protocols_are_left_alone() -> None:
    async def inner(scope: dict[str, Any], _receive: Any, _send: Any) -> None:
        scope["seen"] = True

    async def nothing(*_: Any) -> Any:
        raise AssertionError

    scope: dict[str, Any] = {"type": "websocket", "path": "/api/"}
    asyncio.run(limited(inner, prefix="/api/", most=1)(scope, nothing, nothing))
    assert scope["seen"]

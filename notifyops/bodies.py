"""Refuse a request's body that is too large before it is read: Django's ASGI handler would first take it whole."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any

from notifyops.headers import ALWAYS, policy

Message = Mapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[dict[str, Any], Receive, Send], Coroutine[Any, Any, None]]


@dataclass(frozen=True, slots=True)
class Refusal:
    """What is answered instead."""

    body: bytes = b"too large\n"
    media_type: bytes = b"text/plain"


PLAIN = Refusal()


def limited(inner: Application, *, prefix: str, most: int, refusal: Refusal = PLAIN) -> Application:
    """Give the application with bodies under `prefix` limited to `most` bytes, whatever their length claims to be."""

    async def application(scope: dict[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith(prefix):
            await inner(scope, receive, send)
            return
        body = None if _claims(scope) > most else await _read(receive, most)
        if body is None:
            await _refuse(send, refusal)
            return
        await inner(scope, _given_first(body, receive), send)

    return application


def _claims(scope: dict[str, Any]) -> int:
    given = dict(scope["headers"]).get(b"content-length", b"0")
    return int(given) if given.isdigit() and len(given) < 19 else 0


async def _read(receive: Receive, most: int) -> Message | None:
    """Give the whole body as one message, or the sender's leaving; None as soon as there is too much."""
    body = b""
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return message
        body += message.get("body", b"")
        if len(body) > most:
            return None
        if not message.get("more_body", False):
            return {"type": "http.request", "body": body, "more_body": False}


def _given_first(message: Message, receive: Receive) -> Receive:
    waiting = [message]

    async def next_message() -> Message:
        return waiting.pop() if waiting else await receive()

    return next_message


async def _refuse(send: Send, refusal: Refusal) -> None:
    length = str(len(refusal.body)).encode()
    headers = [(b"content-type", refusal.media_type), (b"content-length", length), (b"connection", b"close")]
    # Django, which adds these to all that it answers, has not begun.
    safe = ALWAYS | {"Content-Security-Policy": policy()}
    headers += [(name.lower().encode(), value.encode()) for name, value in safe.items()]
    await send({"type": "http.response.start", "status": 413, "headers": headers})
    await send({"type": "http.response.body", "body": refusal.body})

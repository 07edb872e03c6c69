"""A scripted SMTP server: it answers each command as an honest one would, but where a fault is planned."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from tests.providers.scripted_server import Peer, Script

Fault = bytes | Callable[[Peer], Awaitable[None]]
# What an honest server says; `dot` answers the whole message.
HONEST: Final[Mapping[str, bytes]] = {
    "greeting": b"220 mx.example.com ready\r\n",
    "ehlo": b"250-mx.example.com\r\n250-SIZE 1000000\r\n250-PIPELINING\r\n250 ENHANCEDSTATUSCODES\r\n",
    "mail": b"250 2.1.0 ok\r\n",
    "rcpt": b"250 2.1.5 ok\r\n",
    "data": b"354 go on\r\n",
    "dot": b"250 2.0.0 queued as 4XyZ\r\n",
    "quit": b"221 bye\r\n",
}


def smtp(**faults: Fault) -> Script:
    """Give a script: each fault takes the place of one answer, as bytes to say or as something to do.

    A fault named `read` is done in place of reading the message after the 354.
    """

    async def script(peer: Peer) -> None:
        async def answer(step: str) -> None:
            said = faults.get(step, HONEST.get(step, b"250 ok\r\n"))
            await (peer.say(said) if isinstance(said, bytes) else said(peer))

        await answer("greeting")
        while line := await peer.read_line():
            step = line[:4].strip().lower().decode("ascii", "replace")
            await answer(step)
            if step == "quit":
                return
            go_on = faults.get("data", HONEST["data"])
            if step == "data" and isinstance(go_on, bytes) and go_on.startswith(b"3"):
                if "read" in faults:
                    await answer("read")
                    return
                peer.keep(await message(peer))
                await answer("dot")

    return script


async def message(peer: Peer) -> bytes:
    """Read up to the final dot, and undo the doubling of dots at the beginning of lines."""
    lines = []
    while (line := await peer.read_line()) != b".\r\n":
        if not line:
            raise ConnectionResetError("left before the dot")
        lines.append(line.removeprefix(b".") if line.startswith(b".") else line)
    return b"".join(lines)


def dripping(peer: Peer) -> Awaitable[None]:
    """Answer by one byte after the other, and never to the end."""
    return peer.say(*[b"2"] * 200, pause_s=0.02)


def saying(*parts: bytes, then: str) -> Callable[[Peer], Awaitable[None]]:
    """Say the parts, and then reset, hang up or wait."""

    async def fault(peer: Peer) -> None:
        await peer.say(*parts)
        await {"reset": peer.reset, "hang_up": peer.hang_up, "wait": peer.wait}[then]()

    return fault

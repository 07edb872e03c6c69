"""A client of a live stream: it keeps what it hears, and tells when the stream ended."""

from __future__ import annotations

import contextlib
import http.client
import socket
import threading
import time
from collections.abc import Mapping
from types import TracebackType
from urllib.parse import urlsplit

from django.test import Client

SOON_S = 20.0


def cookies_of(client: Client) -> str:
    return "; ".join(f"{name}={morsel.value}" for name, morsel in client.cookies.items())


class Listening:
    """One open stream. `heard` grows in a thread of its own."""

    def __init__(self, site: str, client: Client, after: str = "", last_id: str = "") -> None:
        place = urlsplit(site)
        self._link = http.client.HTTPConnection(place.hostname or "", place.port, timeout=60)
        headers = {"Accept": "text/event-stream", "Cookie": cookies_of(client)}
        headers |= {"Last-Event-ID": last_id} if last_id else {}
        self._link.connect()
        self._socket: socket.socket = self._link.sock
        self._link.request("GET", f"/reviews/live?after={after}", headers=headers)
        self._answer = self._link.getresponse()
        self.status = self._answer.status
        self.headers: Mapping[str, str] = {name.lower(): value for name, value in self._answer.getheaders()}
        self.heard = ""
        self.ended = threading.Event()
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def __enter__(self) -> Listening:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.leave()

    def leave(self) -> None:
        """Go away without a word."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join(10)

    def wait_for(self, text: str, within_s: float = SOON_S, times: int = 1) -> float:
        """Wait until it was heard so often; give the seconds that this took."""
        began = time.monotonic()
        while time.monotonic() - began < within_s:
            if self.heard.count(text) >= times:
                return time.monotonic() - began
            time.sleep(0.01)
        raise AssertionError(f"{text!r} was not heard within {within_s} s, but: {self.heard!r}")

    def last_id(self) -> str:
        return [line[4:] for line in self.heard.splitlines() if line.startswith("id: ")][-1]

    def _listen(self) -> None:
        try:
            while line := self._answer.readline():
                self.heard += line.decode()
        except (OSError, ValueError, http.client.HTTPException, AttributeError):
            pass
        self._answer.close()
        self._link.close()
        self._socket.close()
        self.ended.set()

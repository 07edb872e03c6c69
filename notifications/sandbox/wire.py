"""HTTP/1.1 as bytes: whole calls cut out of a stream, and answers turned into bytes.

A ready-made server would repair exactly what the faults want broken, hence our own; it reads requests strictly
(RFC 9112) and refuses what it does not understand.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from http import HTTPStatus
from urllib.parse import parse_qsl, urlsplit

# The API takes 40 MB of attachments after base64 encoding, plus the rest of the message.
MAX_BODY_BYTES = 50 * 1024 * 1024
MAX_HEAD_BYTES = 64 * 1024
JSON_TYPE = "application/json; charset=utf-8"


@dataclass(slots=True)
class Call:
    """One complete request. Header names are lower case; repeated headers are joined by a comma."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes
    keep_alive: bool


@dataclass(slots=True)
class Answer:
    """One response; `headers` may repeat a name, and are written as they stand."""

    status: int
    body: bytes
    content_type: str = JSON_TYPE
    headers: list[tuple[str, str]] = field(default_factory=list)

    def head(self, *, length: int | None = None) -> bytes:
        """Give the status line and headers; `length` overrides the true Content-Length."""
        lines = [f"HTTP/1.1 {self.status} {_REASONS.get(self.status, 'Unassigned')}"]
        lines += [f"{name}: {value}" for name, value in self.headers]
        if self.status != 204 and self.status >= 200:
            lines.append(f"Content-Type: {self.content_type}")
            lines.append(f"Content-Length: {len(self.body) if length is None else length}")
        return ("\r\n".join(lines) + "\r\n\r\n").encode("utf-8")

    def encoded(self) -> bytes:
        if self.status == 204 or self.status < 200:
            return self.head()
        return self.head() + self.body


_REASONS = {status.value: status.phrase for status in HTTPStatus}


class BadRequest(Exception):
    """The bytes are not a request that can be answered on this connection any further."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status
        self.sentence = sentence


@dataclass(slots=True)
class _Head:
    method: str
    target: str
    headers: dict[str, str]
    keep_alive: bool
    length: int | None
    body: bytearray = field(default_factory=bytearray)
    continued: bool = False


class Framer:
    """Cut a byte stream into calls."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._head: _Head | None = None

    def feed(self, data: bytes) -> None:
        self._buffer += data

    @property
    def waiting_bytes(self) -> int:
        return len(self._buffer)

    def wants_continue(self) -> bool:
        """True once for a request whose client waits for `100 Continue` before it sends the body."""
        head = self._head
        if head is None or head.continued or head.headers.get("expect", "").lower() != "100-continue":
            return False
        head.continued = True
        return True

    def next_call(self) -> Call | None:
        """Give the next complete call, or None while bytes are missing. Raises BadRequest."""
        if self._head is None:
            self._head = self._read_head()
            if self._head is None:
                return None
        head = self._head
        complete = self._read_chunks(head) if head.length is None else self._read_length(head, head.length)
        if not complete:
            return None
        self._head = None
        try:
            parts = urlsplit(head.target)
            query = dict(parse_qsl(parts.query, keep_blank_values=True, max_num_fields=100))
        except ValueError:
            raise BadRequest(400, "The request target cannot be read.") from None
        path = parts.path.rstrip("/") or "/"
        return Call(head.method, path, query, head.headers, bytes(head.body), head.keep_alive)

    def _read_head(self) -> _Head | None:
        buffer = self._buffer
        # RFC 9112 2.2: empty lines before a request line are ignored.
        while buffer.startswith(b"\r\n"):
            del buffer[:2]
        end = buffer.find(b"\r\n\r\n", 0, MAX_HEAD_BYTES)
        if end < 0:
            if len(buffer) >= MAX_HEAD_BYTES:
                raise BadRequest(431, f"The request head exceeds {MAX_HEAD_BYTES} bytes.")
            return None
        lines = buffer[:end].decode("latin-1").split("\r\n")
        del buffer[: end + 4]
        request_line = lines[0].split(" ")
        if len(request_line) != 3 or not request_line[0].isalpha() or not request_line[1]:
            raise BadRequest(400, "The first line is not an HTTP request line.")
        method, target, version = request_line
        if version not in ("HTTP/1.1", "HTTP/1.0"):
            raise BadRequest(505, "Only HTTP/1.1 and HTTP/1.0 are spoken here.")
        headers = _headers(lines[1:])
        wish = headers.get("connection", "").lower()
        keep_alive = "close" not in wish and (version == "HTTP/1.1" or "keep-alive" in wish)
        return _Head(method, target, headers, keep_alive, _body_length(headers))

    def _read_length(self, head: _Head, length: int) -> bool:
        if len(self._buffer) < length:
            return False
        head.body += self._buffer[:length]
        del self._buffer[:length]
        return True

    def _read_chunks(self, head: _Head) -> bool:
        buffer = self._buffer
        while (found := _chunk_size(buffer)) is not None:
            line_end, size = found
            if len(head.body) + size > MAX_BODY_BYTES:
                raise BadRequest(413, f"The body exceeds {MAX_BODY_BYTES} bytes.")
            if size == 0:
                return self._skip_trailers(line_end)
            start = line_end + 2
            if len(buffer) < start + size + 2:
                return False
            if buffer[start + size : start + size + 2] != b"\r\n":
                raise BadRequest(400, "A chunk does not end where its size says.")
            head.body += buffer[start : start + size]
            del buffer[: start + size + 2]
        return False

    def _skip_trailers(self, line_end: int) -> bool:
        end = self._buffer.find(b"\r\n\r\n", line_end)
        if end < 0:
            if len(self._buffer) > MAX_HEAD_BYTES:
                raise BadRequest(431, "The trailers are too long.")
            return False
        del self._buffer[: end + 4]
        return True


def _chunk_size(buffer: bytearray) -> tuple[int, int] | None:
    """Give the end of the next size line and the size it states, or None while the line is incomplete."""
    line_end = buffer.find(b"\r\n", 0, 1024)
    if line_end < 0:
        if len(buffer) >= 1024:
            raise BadRequest(400, "A chunk size line is too long.")
        return None
    text = bytes(buffer[:line_end]).split(b";")[0].strip()
    if not text or len(text) > 8 or text.strip(b"0123456789abcdefABCDEF"):
        raise BadRequest(400, "A chunk size is not a hexadecimal number.")
    return line_end, int(text, 16)


def _headers(lines: list[str]) -> dict[str, str]:
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        # A blank before the colon or a folded line is how requests are smuggled past a proxy.
        if not colon or not name or name != name.strip() or "\n" in line or "\r" in line or "\0" in line:
            raise BadRequest(400, "A header line cannot be read.")
        name, value = name.lower(), value.strip(" \t")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers


def _body_length(headers: dict[str, str]) -> int | None:
    """Give the body's length in bytes, or None for a chunked one."""
    coding, length = headers.get("transfer-encoding"), headers.get("content-length")
    if coding is not None:
        if length is not None:
            raise BadRequest(400, "Content-Length and Transfer-Encoding exclude each other.")
        if coding.lower() != "chunked":
            raise BadRequest(501, "The only transfer coding understood is chunked.")
        return None
    if length is None:
        return 0
    if not (length.isascii() and length.isdigit() and len(length) <= 12):
        raise BadRequest(400, "Content-Length is not a number.")
    if int(length) > MAX_BODY_BYTES:
        raise BadRequest(413, f"The body exceeds {MAX_BODY_BYTES} bytes.")
    return int(length)

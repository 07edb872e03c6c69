"""One HTTP POST, without following redirects: what a webhook sender does."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from urllib.parse import urlsplit

MAX_ANSWER_BYTES = 64 * 1024


async def post(url: str, headers: Mapping[str, str], body: bytes, timeout_s: float) -> tuple[int, str]:
    """Give (status, start of the body); raise OSError, TimeoutError or ValueError where there was no HTTP answer."""
    parts = urlsplit(url)
    secure = parts.scheme == "https"
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    lines = [f"POST {target} HTTP/1.1", f"Host: {parts.netloc.rpartition('@')[2]}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    lines += [f"Content-Length: {len(body)}", "Connection: close", "", ""]
    async with asyncio.timeout(timeout_s):
        reader, writer = await asyncio.open_connection(
            parts.hostname, parts.port or (443 if secure else 80), ssl=secure or None
        )
        try:
            writer.write("\r\n".join(lines).encode("latin-1") + body)
            return await _answer(reader)
        finally:
            writer.close()


async def _answer(reader: asyncio.StreamReader) -> tuple[int, str]:
    status = 100
    while 100 <= status < 200:
        first = (await reader.readline()).split()
        if len(first) < 2 or not first[0].startswith(b"HTTP/") or not first[1].isdigit():
            raise ValueError("the endpoint's answer is not HTTP")
        status = int(first[1])
        while (await reader.readline()).strip():
            pass
    return status, (await reader.read(MAX_ANSWER_BYTES))[:500].decode("utf-8", "replace")

"""Attachments as callers write them."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from typing import Any, Final

PDF: Final = b"%PDF-1.7 the third quarter"
LINK: Final = "https://files.example.com/q3.pdf?sig=Ab%2Bc"


def attached(content: bytes = PDF, /, **changed: Any) -> dict[str, Any]:
    """Give one whose bytes come with the call, but for what is changed; what is changed to None is left out."""
    whole = {
        "name": "q3.pdf",
        "media_type": "application/pdf",
        "size": len(content),
        "sha256": hashlib.sha256(content).hexdigest(),
        "content": b64encode(content).decode(),
        **changed,
    }
    return {name: value for name, value in whole.items() if value is not None}


def linked(url: str = LINK, content: bytes = PDF, /, **changed: Any) -> dict[str, Any]:
    """Give one whose bytes lie elsewhere."""
    return attached(content, **{"url": url, "content": None, **changed})

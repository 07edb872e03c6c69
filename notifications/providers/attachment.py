"""A file that a message carries."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, repr=False)
class Attachment:
    """One file of a message. The name is one plain file name, and its ending fits the media type."""

    name: str
    media_type: str
    content: bytes

    @property
    def encoded_bytes(self) -> int:
        """Give how many bytes it takes in base64."""
        return -(-len(self.content) // 3) * 4

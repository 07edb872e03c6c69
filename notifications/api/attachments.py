"""Attachments as the API takes and shows them."""

from __future__ import annotations

from ninja import Schema
from pydantic import Field

from notifications.api.given import Given


class Attached(Given):
    """One file: what it is, and either the address that its bytes are fetched from or the bytes in base64."""

    name: str = Field(min_length=1, max_length=120, examples=["q3.pdf"])
    media_type: str = Field(max_length=127, description="Must fit the name's ending.", examples=["application/pdf"])
    size: int = Field(ge=1, description="In bytes, of the file itself.", examples=[48213])
    sha256: str = Field(
        pattern="^[0-9a-f]{64}$", description="Of the file itself, in lower case: other bytes are never sent."
    )
    url: str | None = Field(default=None, max_length=4000, examples=["https://files.example.com/q3.pdf"])
    content: str | None = Field(default=None, description="In base64; the whole request has at most 4 MB.")


class AttachedTo(Schema):
    """What is attached to a notification, by its place. Never its name: that may be personal."""

    place: int
    media_type: str
    size: int
    sha256: str
    is_here: bool = Field(description="False: its bytes are still to be fetched.")

"""Attachments as a caller gives them, checked as the database checks them, before anything is sent to it."""

from __future__ import annotations

import binascii
import hashlib
import re
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final, Self

from notifications.outbox_errors import PayloadTooLarge, SchemaError
from notifications.policy.attachments import (
    MOST_BYTES,
    MOST_FILES,
    MOST_GIVEN_BYTES,
    MOST_LINK,
    is_plain_name,
    media_types_of,
)
from notifications.policy.endpoints import called_address, is_called
from notifications.policy.recipients import InvalidAddress

_HASH: Final = re.compile(r"[0-9a-f]{64}", re.ASCII)
_FIELD: Final = "options.attachments"


@dataclass(frozen=True, slots=True, repr=False)
class Attachment:
    """One file: what it is, and either its bytes or the address that they are fetched from before the first attempt.

    `size` and `sha256` (hexadecimal, in lower case) are those of the file itself: other bytes are never sent.
    """

    name: str
    media_type: str
    size: int
    sha256: str
    url: str | None = None
    content: bytes | None = None

    @classmethod
    def of(cls, name: str, content: bytes, media_type: str | None = None) -> Self:
        """Give a file whose bytes are at hand; by its name's ending where no media type is named."""
        kind = media_type or media_types_of(name)[0]
        return cls(name, kind, len(content), hashlib.sha256(content).hexdigest(), content=content)


_KNOWN: Final = tuple(field.name for field in fields(Attachment))


def wire_attachments(given: object, channel: str) -> list[dict[str, Any]]:
    """Give attachments as the database takes them. Raises the refusals that it would."""
    if not isinstance(given, Sequence) or isinstance(given, str | bytes):
        raise SchemaError(
            "attachments must be a list", hint="Pass outbox.Attachment objects, or dicts of their fields.", field=_FIELD
        )
    if given and is_called(channel):
        raise SchemaError(
            f'channel "{channel}" carries no attachments', hint="Put a link into data instead.", field=_FIELD
        )
    if len(given) > MOST_FILES:
        raise PayloadTooLarge(
            f"more than {MOST_FILES} attachments",
            hint="Put them into one archive, or put links into data.",
            field=_FIELD,
        )
    found = [_wire(one, f"{_FIELD}[{place}]") for place, one in enumerate(given)]
    _check_together(found)
    return found


def _check_together(found: list[dict[str, Any]]) -> None:
    if sum(one["size"] for one in found) > MOST_BYTES:
        raise PayloadTooLarge(
            f"attachments of more than {MOST_BYTES:,} bytes together",
            hint="Put links to the larger ones into data.",
            field=_FIELD,
        )
    if sum(one["size"] for one in found if "content" in one) > MOST_GIVEN_BYTES:
        raise PayloadTooLarge(
            f"attachments with content of more than {MOST_GIVEN_BYTES:,} bytes",
            hint="Give a url for the larger ones.",
            field=_FIELD,
        )
    if len({one["name"].lower() for one in found}) < len(found):
        raise SchemaError(
            "two attachments have the same name",
            hint="Name them apart: a mail program would keep the last of them alone.",
            field=_FIELD,
        )


def _wire(given: object, place: str) -> dict[str, Any]:
    """Give one of them; a refusal repeats neither its name nor its address."""
    if isinstance(given, Attachment):
        said: dict[str, Any] = {name: getattr(given, name) for name in _KNOWN}
    elif isinstance(given, Mapping):
        said = dict(given)
    else:
        raise SchemaError(
            f"an attachment is a {type(given).__name__}", hint="Pass an outbox.Attachment, or a dict.", field=place
        )
    said = {name: value for name, value in said.items() if value is not None or name not in ("url", "content")}
    if set(said) - set(_KNOWN):
        raise SchemaError("an attachment has an unknown field", hint=f"Known: {', '.join(_KNOWN)}.", field=place)
    _check_forms(said, place)
    _check_name(said, place)
    _check_bytes(said, place)
    if isinstance(said.get("content"), bytes):
        said["content"] = b64encode(said["content"]).decode()
    return said


def _check_forms(said: Mapping[str, Any], place: str) -> None:
    for name in _KNOWN[:4]:
        wanted: type = int if name == "size" else str
        if not isinstance(said.get(name), wanted) or isinstance(said.get(name), bool):
            form = "a number" if name == "size" else "a string"
            raise SchemaError(
                f"an attachment's {name} must be {form}",
                hint="Only the size is a number, in bytes.",
                field=f"{place}.{name}",
            )
    if said["size"] < 1:
        raise SchemaError(
            "an attachment's size is not a whole number of bytes above 0",
            hint="Give the number of bytes of the file itself, before any encoding.",
            field=f"{place}.size",
        )
    if not _HASH.fullmatch(said["sha256"]):
        raise SchemaError(
            "an attachment's sha256 is not 64 hexadecimal digits in lower case",
            hint="Give the SHA-256 of the file itself, as sha256sum prints it.",
            field=f"{place}.sha256",
        )
    if ("url" in said) == ("content" in said):
        raise SchemaError(
            "an attachment must have either a url or content",
            hint="Give the address that its bytes are fetched from, or the bytes themselves.",
            field=place,
        )


def _check_name(said: Mapping[str, Any], place: str) -> None:
    name, fits = said["name"], media_types_of(said["name"])
    if not is_plain_name(name):
        raise SchemaError(
            "an attachment's name is not one plain file name",
            hint='Give 1 to 120 characters such as report.pdf: no folder, none of \\ / : * ? " < > |, no control '
            "character, no blank or dot at an end.",
            field=f"{place}.name",
        )
    if said["media_type"] not in fits:
        raise SchemaError(
            "an attachment's media type does not fit the ending of its name",
            hint=f"This ending goes with {' or '.join(fits)}, without parameters; see docs/attachments.md.",
            field=f"{place}.media_type",
        )


def _check_bytes(said: Mapping[str, Any], place: str) -> None:
    if "url" in said:
        why = _wrong_link(said["url"])
        if why:
            raise SchemaError("an attachment's url is not one plain address", hint=why, field=f"{place}.url")
        return
    content = _decoded(said["content"], f"{place}.content")
    if len(content) != said["size"]:
        raise SchemaError(
            f"an attachment's content has {len(content)} bytes, and its size says {said['size']}",
            hint="Give the number of bytes of the file itself, before any encoding.",
            field=f"{place}.size",
        )
    if hashlib.sha256(content).hexdigest() != said["sha256"]:
        raise SchemaError(
            "an attachment's content has another SHA-256 than it says",
            hint="Give the SHA-256 of the file itself, before any encoding.",
            field=f"{place}.sha256",
        )


def _wrong_link(url: object) -> str:
    try:
        return "" if called_address(url, longest=MOST_LINK) == url else "Leave out the blanks around it."
    except InvalidAddress as invalid:
        return invalid.reason


def _decoded(content: object, place: str) -> bytes:
    """Give the bytes of base64, as HTTP and files bring it."""
    if isinstance(content, bytes):
        return content
    try:
        # As the database, which passes over line breaks; what is no text is no base64 either.
        return b64decode("".join(content.split()) if isinstance(content, str) else "!", validate=True)
    except (binascii.Error, ValueError):
        raise SchemaError(
            "an attachment's content is not base64",
            hint="Encode the bytes of the file itself by RFC 4648, with + and /.",
            field=place,
        ) from None

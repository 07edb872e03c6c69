"""A message as one of anymail's backends writes it for its service: frozen, and without the account's key.

anymail builds the request; nothing of it is sent by anymail. What is frozen is where it goes under the base URL, the
headers that say what the body is, and the body. The headers that prove who we are are made anew for each call, so that
no key is ever stored and a new one repeats the same bytes.
"""

from __future__ import annotations

import importlib
import re
import uuid
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

import requests
from anymail.exceptions import AnymailError, AnymailInvalidAddress, AnymailUnsupportedFeature
from anymail.message import AnymailMessage
from anymail.utils import parse_address_list

from notifications.providers import mail_fields
from notifications.providers.base import Message, Unsendable
from notifications.providers.esps import Esp
from notifications.states import ResultClass

# Stands for the account's base URL while a request is built: the bytes must not depend on it.
_BASE: Final = "https://service.invalid/"
_BLANK: Final = "no-key"
# Postmark's limits of metadata, as far as known the narrowest; unverified, and our own marks are far below them.
MOST_TAGS: Final = 10
_TAG_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,20}")
_TAG_VALUE: Final = re.compile(r"[A-Za-z0-9_-]{1,80}")
# The smallest limit of the large services, as for SMTP.
MAX_BYTES: Final = 10_000_000
_FROZEN: Final = re.compile(
    rb"POST (?P<esp>[a-z0-9_]{1,32}) (?P<target>[A-Za-z0-9._~%/?=&@-]{1,300})\r\n"
    rb"To: (?P<to>[!-~]{3,320})\r\n(?P<headers>(?:[A-Za-z0-9-]{1,64}: [ -~]{1,256}\r\n){0,8})\r\n(?P<body>.*)",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Call:
    """One request, read back from its frozen bytes."""

    target: str
    to: str
    headers: Mapping[str, str]
    body: bytes


def backend_of(esp: Esp, secrets: tuple[str, ...], options: Mapping[str, str]) -> Any:
    """Make anymail's backend, independent of the site's own ANYMAIL settings. Raises what its constructor raises."""
    unset: dict[str, object] = dict.fromkeys(esp.options)
    given = dict(zip(esp.secrets, secrets, strict=True))
    module, _, name = esp.backend.rpartition(".")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that anymail's authors have no account to try SendGrid with
        backend = getattr(importlib.import_module(module), name)(
            api_url=_BASE,
            timeout=1,
            ignore_unsupported_features=False,
            ignore_recipient_status=True,
            debug_api_requests=False,
            idna_encoder="idna2008",
            send_defaults={},
            **(unset | dict(esp.fixed) | dict(options) | given),
        )
    # The site's SEND_DEFAULTS could add a recipient, and cannot be given as an argument.
    backend.send_defaults = {}
    return backend


def credentials(esp: Esp, secrets: tuple[str, ...], options: Mapping[str, str]) -> dict[str, str]:
    """Give the headers that carry the account's key. Raises ValueError where the backend puts it elsewhere."""
    sample = Message(sender="a@example.com", to="b@example.com", subject="s", text="t")
    written = [
        _written(backend_of(esp, keys, options), esp, sample) for keys in (secrets, (_BLANK,) * len(esp.secrets))
    ]
    real, blank = written
    if (real.url, real.body) != (blank.url, blank.body):
        raise ValueError(f"Accounts of kind {esp.name} would put their key into the message; this kind is not usable.")
    return {name: _text(value) for name, value in real.headers.items() if blank.headers.get(name) != value}


def frozen_call(backend: Any, esp: Esp, message: Message, credential: Mapping[str, str]) -> bytes:
    """Give the bytes that are frozen. Raises Unsendable."""
    to = mail_fields.recipient(message.to)
    prepared = _written(backend, esp, message)
    own = {name.lower() for name in credential} | {"content-length"}
    kept = "".join(
        f"{name}: {_text(value)}\r\n" for name, value in sorted(prepared.headers.items()) if name.lower() not in own
    )
    # A string or bytes: nothing of ours is read from a file.
    body = prepared.body.encode() if isinstance(prepared.body, str) else bytes(cast("bytes", prepared.body or b""))
    if len(body) > MAX_BYTES:
        raise Unsendable("too_large")
    target = str(prepared.url).removeprefix(_BASE)
    frozen = f"POST {esp.name} {target}\r\nTo: {to}\r\n{kept}\r\n".encode() + body
    if _FROZEN.fullmatch(frozen) is None:  # Mailgun: the sender's domain is part of the address
        raise Unsendable("invalid_sender")
    return frozen


def read_call(frozen: bytes, esp: Esp) -> Call | None:
    """Read frozen bytes; None where they are not this service's."""
    found = _FROZEN.fullmatch(frozen)
    if found is None or found["esp"].decode() != esp.name or b".." in found["target"] or b"//" in found["target"]:
        return None
    headers = dict(line.split(": ", 1) for line in found["headers"].decode().splitlines())
    return Call(found["target"].decode(), found["to"].decode(), headers, found["body"])


def payload_for(backend: Any, to: str) -> tuple[Any, Any]:
    """Give a payload and a message to that one recipient: anymail reads an answer beside what it answers."""
    message = AnymailMessage("s", "t", "a@example.com", [to])
    return backend.build_message_payload(message, {}), message


def _written(backend: Any, esp: Esp, message: Message) -> requests.PreparedRequest:
    """Let anymail write the request, and requests prepare it; nothing is opened. Raises Unsendable."""
    mail = _mail(esp, message)
    try:
        payload = backend.build_message_payload(mail, {})
        return requests.Request(**payload.get_request_params(_BASE)).prepare()
    except AnymailInvalidAddress as error:
        raise _blamed(message) from error
    except AnymailUnsupportedFeature as error:  # Brevo takes no header outside ASCII
        raise Unsendable("invalid_header") from error
    except (AnymailError, requests.RequestException) as error:
        raise Unsendable("invalid_data") from error


def _mail(esp: Esp, message: Message) -> AnymailMessage:
    to = mail_fields.recipient(message.to)
    if not message.text and not message.html:
        raise Unsendable("empty_body")
    headers = mail_fields.headers(message.headers)
    if esp.key_header is not None:
        headers[esp.key_header] = str(uuid.UUID(mail_fields.mark(message)))
    mail = AnymailMessage(
        mail_fields.subject(message.subject),
        mail_fields.visible(message.text),
        mail_fields.quoted(message.sender, "invalid_sender"),
        [to],
        headers=headers,
        reply_to=None if message.reply_to is None else [mail_fields.quoted(message.reply_to, "invalid_reply_to")],
    )
    if message.html is not None:
        mail.attach_alternative(mail_fields.visible(message.html), "text/html")
    tags = _tags(message.tags)
    if tags and esp.marks == "metadata":
        mail.metadata = tags
    elif tags:
        mail.tags = [".".join(tags.values())[:100]]
    return mail


def _tags(tags: Mapping[str, str]) -> dict[str, str]:
    whole = all(_TAG_NAME.fullmatch(name) and _TAG_VALUE.fullmatch(value) for name, value in tags.items())
    if not whole or len(tags) > MOST_TAGS:
        raise Unsendable("invalid_tag")
    return dict(sorted(tags.items()))


def _blamed(message: Message) -> Unsendable:
    """Tell whose address anymail does not take: it says so in a sentence alone."""
    try:
        parse_address_list([message.to])
        parse_address_list([mail_fields.quoted(message.sender, "invalid_sender")])
    except AnymailInvalidAddress as error:
        if message.to in str(error):
            return Unsendable("invalid_recipient", ResultClass.RECIPIENT)
        return Unsendable("invalid_sender")
    return Unsendable("invalid_reply_to")


def _text(value: object) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)

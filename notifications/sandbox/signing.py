"""Svix signatures: what a receiver of webhooks has to verify."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets

from notifications.sandbox.refusals import Misused


def new_secret() -> str:
    return "whsec_" + base64.b64encode(secrets.token_bytes(24)).decode()


def checked_secret(secret: object) -> str:
    """Give the secret back if it can sign; raise Misused otherwise."""
    text = secret if isinstance(secret, str) else ""
    try:
        raw = base64.b64decode(text.removeprefix("whsec_"), validate=True)
    except (binascii.Error, ValueError):
        raw = b""
    if not text.startswith("whsec_") or not 24 <= len(raw) <= 64:
        raise Misused("A signing secret is `whsec_` followed by 24 to 64 bytes in base64.")
    return text


def signature(secret: str, message_id: str, timestamp: int, body: bytes) -> str:
    """Sign `id.timestamp.body`. Source: docs.svix.com/receiving/verifying-payloads/how-manual."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{message_id}.{timestamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()

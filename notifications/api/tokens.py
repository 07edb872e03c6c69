"""Tokens of the API: made, found, revoked. The text is shown once; the database keeps its SHA-256."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import string
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.utils import timezone

from notifications.api.problems import Problem
from notifications.models import ApiToken
from notifications.models.api_token import PER_MINUTE, SCOPES
from notifications.policy.reasons import MAX_REASON, MIN_REASON, fault, one_line

# `nops_`, twelve that anybody may see, and 43 of 62 characters: 256 bits. Scanners for leaked secrets find the shape.
SHAPE: Final = re.compile(r"nops_([0-9a-z]{12})_[0-9A-Za-z]{43}")
WORKSPACE: Final = re.compile(r"\*|[A-Za-z0-9._-]{0,64}")
_SEEN: Final = string.digits + string.ascii_lowercase
_HIDDEN: Final = string.digits + string.ascii_letters
_NOBODY: Final = bytes(32)


class NotAToken(Exception):
    """The token cannot be made or revoked so; the text is a sentence that says how to mend it."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What a token shall be for."""

    name: str
    scopes: tuple[str, ...]
    workspaces: tuple[str, ...]
    reason: str
    per_minute: int = PER_MINUTE
    expires_at: datetime | None = None


def make(wish: Wish, *, by: str) -> tuple[ApiToken, str]:
    """Write a new token; give its row and its text, which nobody can show again. Raises NotAToken."""
    check(wish)
    prefix = "".join(secrets.choice(_SEEN) for _ in range(12))
    text = f"nops_{prefix}_" + "".join(secrets.choice(_HIDDEN) for _ in range(43))
    row = ApiToken.objects.create(
        name=wish.name.strip(),
        prefix=prefix,
        digest=digest_of(text),
        scopes=[scope for scope in SCOPES if scope in wish.scopes],
        workspaces=sorted(set(wish.workspaces)),
        per_minute=wish.per_minute,
        expires_at=wish.expires_at,
        made_by=by[:200],
        reason=checked_reason(wish.reason),
    )
    return row, text


def check(wish: Wish) -> None:
    """Raise NotAToken for what cannot be made."""
    if not 1 <= len(wish.name.strip()) <= 64 or not wish.name.isprintable():
        raise NotAToken("Name the client that gets the token, in 1 to 64 characters.")
    if not wish.scopes or set(wish.scopes) - set(SCOPES):
        raise NotAToken(f"Give one or more of the scopes {', '.join(SCOPES)}.")
    if not wish.workspaces or not all(WORKSPACE.fullmatch(space) for space in wish.workspaces):
        raise NotAToken(
            "Give at least one workspace: up to 64 of A-Z a-z 0-9 . _ -, '' for the default one, '*' for all."
        )
    if not 1 <= wish.per_minute <= 1_000_000:
        raise NotAToken("The limit must be from 1 to 1,000,000 requests a minute.")
    if wish.expires_at is not None and wish.expires_at <= timezone.now():
        raise NotAToken("The token would have expired already.")


def checked_reason(text: str) -> str:
    """Give a reason as it is kept. Raises NotAToken."""
    reason = one_line(text)
    match fault(reason):
        case "length":
            raise NotAToken(f"Give a reason of {MIN_REASON} to {MAX_REASON} characters: it is kept for ever.")
        case "personal":
            raise NotAToken("The reason holds an address or a phone number, and is kept: refer to people by ID.")
    return reason


def revoke(row: ApiToken, *, by: str, reason: str) -> None:
    """End a token at once, on every host. Raises NotAToken for a bad reason, or where it was revoked before."""
    kept = checked_reason(reason)
    changed = ApiToken.objects.filter(pk=row.pk, revoked_at=None).update(
        revoked_at=timezone.now(), revoked_by=by[:200], revoke_reason=kept
    )
    if not changed:
        raise NotAToken(f"The token nops_{row.prefix}… was revoked before.")
    row.refresh_from_db()


def digest_of(text: str) -> bytes:
    """Give what is kept of a token."""
    return hashlib.sha256(text.encode()).digest()


def authenticate(text: str) -> ApiToken:
    """Give the token that counts now. Raises Problem.

    Only who holds the whole token is told that it was revoked or has expired.
    """
    shape = SHAPE.fullmatch(text)
    row = ApiToken.objects.filter(prefix=shape[1]).first() if shape else None
    kept = bytes(row.digest) if row else _NOBODY
    is_same = hmac.compare_digest(digest_of(text), kept)
    if row is None or not is_same:
        raise Problem("unauthenticated", "The token is not one of ours.")
    if row.trouble:
        raise Problem(f"token_{row.trouble}")
    return row

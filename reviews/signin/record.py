"""Keeps what was done about somebody's way in."""

from __future__ import annotations

from django.contrib.auth.models import User

from reviews.signin.models import AccessRecord


def write(user: User, deed: str, *, actor: str, reason: str = "") -> None:
    """Keep one deed; the caller's transaction holds what was done."""
    AccessRecord.objects.create(user=user, deed=deed, actor=actor[:200], reason=reason)

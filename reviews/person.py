"""Who decides: a logged-in person, or whoever may run commands on the host."""

from __future__ import annotations

import getpass
import socket
from dataclasses import dataclass
from typing import Final

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, User

from reviews.models import VERBS

# The log's column for the actor.
MAX_ACTOR: Final = 200


@dataclass(frozen=True, slots=True)
class Person:
    """One decider: the name under which it is recorded, and the verbs that it may use."""

    name: str
    user: User | None
    verbs: frozenset[str]

    @property
    def leads(self) -> bool:
        """Whether this person may undo what others did; leads alone may reopen."""
        return "reopen" in self.verbs


def from_user(user: AbstractBaseUser | AnonymousUser) -> Person:
    """Give the person behind a login, with what its groups allow."""
    known = user if isinstance(user, User) else None
    verbs = frozenset(verb for verb in VERBS if known is not None and known.has_perm(f"reviews.{verb}_intent"))
    return Person(f"user:{user.get_username()}"[:MAX_ACTOR], known, verbs)


def from_host() -> Person:
    """Give the person at the terminal, who has a lead's permissions: whoever may run manage.py could do worse."""
    try:
        login = getpass.getuser()
    except (KeyError, OSError):  # a container's user id without a name
        login = "unknown"
    return Person(f"cli:{login}@{socket.gethostname()}"[:MAX_ACTOR], None, frozenset(VERBS))

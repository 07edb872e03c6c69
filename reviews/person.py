"""Who decides: a logged-in person, or whoever may run commands on the host."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, User

from notifications.host import MAX_ACTOR, actor
from reviews.models import POWERS, VERBS
from reviews.signin import proof

# What the cluster's login cannot read of a person's (sql/grants.sql): it asks what she may do, not how she logs in.
UNREAD: Final = ("password", "email", "first_name", "last_name", "last_login", "date_joined", "is_staff")


@dataclass(frozen=True, slots=True)
class Person:
    """One decider: the name under which it is recorded, the verbs that it may use, and what else it may do.

    `is_proven`: a second factor was shown a short while ago, or none is required here.
    """

    name: str
    user: User | None
    verbs: frozenset[str]
    is_proven: bool = True
    powers: frozenset[str] = frozenset()

    @property
    def leads(self) -> bool:
        """Whether this person may undo what others did; leads alone may reopen."""
        return "reopen" in self.verbs

    @property
    def identity(self) -> str:
        """Whose this is, by whichever way they came."""
        return identity(self.name)


def identity(name: str) -> str:
    """Give whose name it is, by whichever way they came: `olga`, `user:olga` and `cli:olga@host` are one person.

    The database's identity_v1, by which the doctor judges the log, says the same.
    """
    return re.sub(r"^user:", "", re.sub(r"^cli:(.*)@[^@]*$", r"\1", name, flags=re.DOTALL)).lower()


def from_user(user: AbstractBaseUser | AnonymousUser) -> Person:
    """Give the person behind a login, with what its groups allow."""
    known = user if isinstance(user, User) else None
    verbs = frozenset(verb for verb in VERBS if known is not None and known.has_perm(f"reviews.{verb}_intent"))
    powers = frozenset(power for power in POWERS if known is not None and known.has_perm(f"reviews.{power}"))
    name = f"user:{user.get_username()}"[:MAX_ACTOR]
    return Person(name, known, verbs, is_proven=proof.is_recent(user), powers=powers)


def carrier(name: str, user: User | None) -> Person:
    """Give who ordered something that is carried out now, with what they may do by now.

    `user` is the login behind the name; one without was a command on a host, whose login has no permissions to lose.
    """
    if user is None:
        return Person(name, None, frozenset(VERBS) if name.startswith("cli:") else frozenset())
    return Person(name, user, from_user(user).verbs)


def from_host() -> Person:
    """Give the person at the terminal, who has a lead's permissions: whoever may run manage.py could do worse."""
    return Person(actor(), None, frozenset(VERBS), powers=frozenset(POWERS))

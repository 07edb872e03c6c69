"""Who decides: a logged-in person, or whoever may run commands on the host."""

from __future__ import annotations

import os
import pwd
import re
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


def identity(actor: str) -> str:
    """Give whose name an actor is, by whichever way they came: `olga`, `user:olga` and `cli:olga@host` are one person.

    The database's identity_v1, by which the doctor judges the log, says the same.
    """
    return re.sub(r"^user:", "", re.sub(r"^cli:(.*)@[^@]*$", r"\1", actor, flags=re.DOTALL)).lower()


def from_user(user: AbstractBaseUser | AnonymousUser) -> Person:
    """Give the person behind a login, with what its groups allow."""
    known = user if isinstance(user, User) else None
    verbs = frozenset(verb for verb in VERBS if known is not None and known.has_perm(f"reviews.{verb}_intent"))
    return Person(f"user:{user.get_username()}"[:MAX_ACTOR], known, verbs)


def from_host() -> Person:
    """Give the person at the terminal, who has a lead's permissions: whoever may run manage.py could do worse."""
    return Person(f"cli:{_login()}@{socket.gethostname()}"[:MAX_ACTOR], None, frozenset(VERBS))


def _login() -> str:
    """Give the login of this process, by the kernel: LOGNAME and USER are whatever their owner sets them to.

    Behind sudo it is the person who called it: root is not one of us.
    """
    number = os.getuid()
    caller = os.environ.get("SUDO_UID", "")
    if number == 0 and caller.isascii() and caller.isdigit() and len(caller) < 10:
        number = int(caller)
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:  # a container's user id without a name
        return f"uid{number}"

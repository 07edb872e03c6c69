"""Who may decide how many cases together, and who may stop whose run."""

from __future__ import annotations

from typing import Final

from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from reviews.bulk.models import BulkRun
from reviews.person import Person, identity
from reviews.refusals import NotPermitted, Refused

# A plan that one can still read through; and what is frozen within a tenth of a second.
FEW: Final = 200
MANY: Final = 10_000
_STEER: Final = "notifications.steer_run"


class TooMany(Refused):
    """More cases than this person may decide together."""

    word = "too_many"


def limit_of(person: Person) -> int:
    """Give how many cases this person may decide together, 0 where none; whoever runs commands has a lead's number."""
    if person.user is None:
        return MANY if "reopen" in person.verbs else 0
    if person.user.has_perm("reviews.bulk_many"):
        return MANY
    return FEW if person.user.has_perm("reviews.bulk_cases") else 0


def check(verb: str, person: Person, count: int) -> None:
    """Raise NotPermitted or TooMany where this person may not use the verb on so many."""
    most = limit_of(person)
    if verb not in person.verbs or not most:
        raise NotPermitted(_("Your account does not have the permission to decide cases together; ask a lead."))
    if count > most:
        raise TooMany(format_lazy(_("You may decide at most {most} cases together; ask a lead."), most=f"{most:,}"))


def may_steer(bulk: BulkRun, person: Person) -> bool:
    """Tell whether this person may pause, resume or cancel the run: it is their own, or they steer any."""
    if identity(bulk.actor) == identity(person.name) and limit_of(person):
        return True
    return limit_of(person) > 0 and (person.user is None or person.user.has_perm(_STEER))

"""Named queries of the queue: one's own, and those that are shared with all. Permission is checked here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from django.db import IntegrityError, connection, transaction
from django.db.models import Q
from django.http import QueryDict
from django.urls import reverse
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from notifications.models import Intent
from notifications.policy.reasons import is_personal, one_line
from reviews.filter_options import why_unreadable
from reviews.filters import PAGING, QueueFilter
from reviews.models import SavedView
from reviews.person import Person
from reviews.refusals import BadReason, NotAllowedNow, NotPermitted, Refused

MAX_NAME: Final = 60
MAX_QUERY: Final = 1500
# A row of chips that nobody reads through helps nobody.
MAX_OWN: Final = 30
SHOWN: Final = 60
# What a view keeps beside the filters: not the place in the list, which moves.
_KEPT: Final = PAGING - {"after", "before"}


@dataclass(frozen=True, slots=True)
class View:
    """One saved view as a page shows it."""

    id: int
    name: str
    url: str
    is_shared: bool
    owner: str
    may_delete: bool


class UnknownView(Refused):
    """There is no such view, or it is somebody else's own."""

    status = 404
    word = "unknown"


def seen_by(person: Person) -> list[View]:
    """Give this person's own views and those that are shared, in order of their names; one query."""
    rows = SavedView.objects.filter(Q(owner=person.identity) | Q(is_shared=True)).order_by("name", "id")[:SHOWN]
    return [_view(row, person) for row in rows]


def save(name: str, query: str, person: Person, *, share: bool) -> View:
    """Keep a query under a name, or under the same name anew, in a transaction of its own. Raises Refused."""
    if "view_case" not in person.powers:
        raise NotPermitted(_("Your account may not see the queue: it has no views."))
    if share and "share_view" not in person.powers:
        raise NotPermitted(_("Your account may not share views; save it for yourself, or ask an operator."))
    name, query = checked_name(name), checked_query(query)
    try:
        with transaction.atomic():
            own = SavedView.objects.filter(owner=person.identity)
            if own.exclude(name=name).count() >= MAX_OWN:
                raise NotAllowedNow(_("You have 30 views already: delete one first."))
            row, _is_new = own.update_or_create(
                owner=person.identity, name=name, defaults={"query": query, "is_shared": share}
            )
    except IntegrityError:
        raise BadReason(_("A shared view has this name already: choose another one.")) from None
    return _view(row, person)


def delete(view_id: int, person: Person) -> str:
    """Delete one's own view, or as a lead one that is shared; give its name. Raises NotPermitted, UnknownView."""
    row = SavedView.objects.filter(pk=view_id).first()
    if row is None or not (row.is_shared or row.owner == person.identity):
        raise UnknownView(_("There is no such view."))
    if not _may_delete(row, person):
        raise NotPermitted(_("Somebody else shares this view: only they or a lead can delete it."))
    row.delete()
    return row.name


def checked_name(name: str) -> str:
    """Give the name as it is kept. Raises BadReason."""
    name = one_line(name)
    if not name or len(name) > MAX_NAME or not name.isprintable():
        raise BadReason(_("Give the view a name of 1 to 60 printable characters."))
    if is_personal(name):
        raise BadReason(_("The name holds an e-mail address or a phone number: choose another one."))
    return name


def checked_query(query: str) -> str:
    """Give the query without its place in the list. Raises BadReason where the queue could not read it."""
    given = QueryDict(query)
    kept = QueryDict(mutable=True)
    for key, value in given.items():
        if str(value).strip() and (key not in PAGING or key in _KEPT):
            kept[key] = str(value)
        if is_personal(str(value)):
            raise BadReason(_("The list is looked for by an e-mail address or a phone number: look by ID."))
    text = kept.urlencode()
    with connection.cursor() as cursor:
        cursor.execute("SELECT notifyops_private.clock_v1()")
        now = cursor.fetchone()[0]
    if len(text) > MAX_QUERY:
        raise BadReason(
            format_lazy(_("This list is too long to be saved: more than {most} characters."), most=MAX_QUERY)
        )
    filters = QueueFilter(kept, queryset=Intent.objects.none(), now=now)
    if not filters.readable():
        raise BadReason(why_unreadable(filters))
    return text


def _view(row: SavedView, person: Person) -> View:
    url = f"{reverse('reviews:queue')}?{row.query}" if row.query else reverse("reviews:queue")
    return View(row.pk, row.name, url, row.is_shared, row.owner, _may_delete(row, person))


def _may_delete(row: SavedView, person: Person) -> bool:
    return row.owner == person.identity or (row.is_shared and "drop_view" in person.powers)

"""The queue's filters as options of a command: their names, values and refusals, all from the page's own filter set."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Sequence
from typing import Any, Final

from django.db import connection
from django.http import QueryDict
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from notifications.models import Intent
from reviews.filters import QueueFilter, type_names
from reviews.refusals import NotAllowedNow, Sentence

_TOLD: Final = {
    "q": "only what has an ID or report ID that begins so, or this provider message ID; several words: whole IDs",
    "attempts": "only what has had so many attempts or more, 0 to 10000",
    "code": "only this error code, such as not_sent.refused; `review groups` lists those in review",
    "provider": "only this account of a provider, by its name; `review groups` lists those in review",
    "channel": "only this channel, such as email",
    "workspace": "only this workspace; - is the default one",
}


def names() -> tuple[str, ...]:
    """Give the filters in the page's order."""
    return tuple(QueueFilter.base_filters)


def values_of(name: str) -> tuple[str, ...]:
    """Give the values that a filter takes; empty where it takes any text or number."""
    return tuple(str(value) for value, _word in QueueFilter.base_filters[name].extra.get("choices", ()))


def add(parser: ArgumentParser, *, but: Sequence[str] = ()) -> None:
    """Offer each filter as an option with what it takes, those of `but` left out."""
    for name in names():
        if name not in but:
            parser.add_argument(f"--{name}", default="", help=_help(name))


def query_of(options: dict[str, Any]) -> QueryDict:
    """Give the options as the query of the queue's page. Raises NotAllowedNow for one that cannot be read."""
    query = QueryDict(mutable=True)
    query.update({name: options[name] for name in names() if options.get(name)})
    with connection.cursor() as cursor:
        cursor.execute("SELECT notifyops_private.clock_v1()")
        filters = QueueFilter(query, queryset=Intent.objects.none(), now=cursor.fetchone()[0])
    if not filters.readable():
        raise NotAllowedNow(why_unreadable(filters, mark="--"), word="bad_filter")
    return query


def why_unreadable(filters: QueueFilter, *, mark: str = "") -> Sentence:
    """Say which filters cannot be read, and what each takes; `mark` stands before their names. No value is repeated."""
    faults = [_unknown(name, mark) for name in filters.unknown]
    faults += [_fault(name, [str(error) for error in errors], mark) for name, errors in filters.form.errors.items()]
    return format_lazy(_("This filter cannot be read: {faults}"), faults=" ".join(str(fault) for fault in faults))


def _fault(name: str, errors: Sequence[str], mark: str) -> Sentence:
    if not values_of(name):
        return f"{mark}{name}: {' '.join(errors)}"
    return format_lazy(_("{name} takes one of {values}."), name=f"{mark}{name}", values=", ".join(values_of(name)))


def _unknown(name: str, mark: str) -> Sentence:
    known = ", ".join(f"{mark}{one}" for one in names())
    return format_lazy(_("there is no {name}; there are {known}."), name=f"{mark}{name[:60]}", known=known)


def _help(name: str) -> str:
    """Give what `--help` says: from the filter set what can be, so that the two cannot differ."""
    label = QueueFilter.base_filters[name].extra.get("label") or QueueFilter.base_filters[name].label
    if values := values_of(name):
        left_out = QueueFilter.base_filters[name].extra["empty_label"]
        return f"{label}: one of {', '.join(values)} (left out: {left_out})"
    if name == "type":
        return f"only this type; of this release: {', '.join(type_names())}"
    return _TOLD[name]

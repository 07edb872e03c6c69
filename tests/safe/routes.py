"""Every address of the site, read from the URLconf itself, with a real or an unknown thing in each place."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.apps import apps
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from django.urls.resolvers import RegexPattern

from tests.reviews.cases import make_person

# Of each address that is a pattern of letters: one that fits.
REGEXES: Final = {
    r"^(?P<app_label>": "notifications/",
    r"(?P<url>.*)$": "nothing/",
    r"^(?!providers/)": "nothing",
}
UNKNOWN_NUMBER: Final = "999999"
WHO: Final = ("anonymous", "no group", "viewer", "operator", "lead", "superuser")
_NAMES: Final = {"no group": "sam", "viewer": "vera", "operator": "olga", "lead": "lena", "superuser": "root"}


@dataclass(frozen=True, slots=True)
class Route:
    """One address: as it is written in the URLconf, its name, and whether it has a namespace."""

    path: str
    name: str
    is_regex: bool = False

    def url(self, things: Mapping[str, Any]) -> str:
        """Give a real address: the named things where the route asks for them, unknown ones else."""
        if self.is_regex:
            return self.path
        filled = re.sub(r"<(?:(\w+):)?(\w+)>", lambda found: self._thing(found, things), self.path)
        return "/" + filled

    def _thing(self, found: re.Match[str], things: Mapping[str, Any]) -> str:
        kind, name = found[1], found[2]
        if name == "object_id":
            return newest_of(self.path)
        return str(things.get(name, UNKNOWN_NUMBER if kind == "int" else "unknown"))


def newest_of(path: str) -> str:
    """Give the key of the newest row of the model that an address of the admin is about, or one that nobody has."""
    _admin, app, model = path.split("/")[:3]
    if app not in apps.app_configs:
        return UNKNOWN_NUMBER
    row = apps.get_model(app, model)._default_manager.order_by("-pk").first()
    return str(row.pk) if row else UNKNOWN_NUMBER


def routes() -> list[Route]:
    """Give all of them, in the order of the URLconf."""
    return list(_walk(get_resolver().url_patterns, "", ""))


def _walk(patterns: list[Any], before: str, space: str) -> Iterator[Route]:
    for each in patterns:
        if isinstance(each, URLResolver):
            name = f"{space}{each.namespace}:" if each.namespace else space
            yield from _walk(each.url_patterns, before + str(each.pattern), name)
            continue
        assert isinstance(each, URLPattern)
        name = f"{space}{each.name}" if each.name else ""
        if isinstance(each.pattern, RegexPattern):
            written = str(each.pattern)
            shown = next(word for begin, word in REGEXES.items() if written.startswith(begin))
            yield Route(f"/{before}{shown}", name, is_regex=True)
        else:
            yield Route(before + str(each.pattern), name)


def logged_in(who: str) -> Client:
    """Give a browser of one kind of person."""
    client = Client()
    if who == "anonymous":
        return client
    name = _NAMES[who]
    person = User.objects.filter(username=name).first()
    if person is None and who == "superuser":
        person = User.objects.create_superuser(name, f"{name}@example.com", "pw")
    client.force_login(person or make_person(name))
    return client


def asked(
    browser: Client, method: str, url: str, *, is_read_only: bool = False, headers: Mapping[str, str] | None = None
) -> Any:
    """Ask, in a copy of the browser and a transaction that is rolled back: nobody meets what another request did."""
    client = Client()
    client.cookies.load({name: morsel.value for name, morsel in browser.cookies.items()})
    with transaction.atomic():
        if is_read_only:
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION READ ONLY")
        answer = client.generic(method, url, headers=headers or {})
        transaction.set_rollback(True)
    return answer

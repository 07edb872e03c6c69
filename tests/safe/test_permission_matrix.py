"""Who gets what from every address: read from the URLconf, compared with the table in the docs.

A new address changes the table. To write it anew: NOTIFYOPS_TEST_WRITE_DOCS=1 pytest tests/safe; then read the change.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from notifications.models import ProviderAccount, Run
from reviews.models import VERBS
from tests.reviews import cases
from tests.reviews.cases import make_case, post
from tests.safe.routes import WHO, Route, asked, logged_in, routes

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow, pytest.mark.usefixtures("quiet")]
PAGE = Path(__file__).parents[2] / "docs" / "permissions.md"
BEGIN, END = "<!-- begin: written by tests/safe -->\n", "<!-- end -->\n"
# What a person without a login, or without a group, may read. Everything else is refused, or leads to the login.
PUBLIC = {
    *("home", "login", "api-openapi", "api-docs", "api-push-key", "healthz", "readyz", "metrics"),
    *("admin:login", "admin:logout"),
    *("logout", "set_language", "set_theme", "set_zone"),
}
OWN = {"second_factor", "second_factor_enrol", "second_factor_picture", "second_factor_codes", "second_factor_off"}


def things() -> dict[str, Any]:
    """Make one of each thing that an address can name, and a record of decisions for the admin to show."""
    intent = make_case(cases.UNKNOWN)
    post(logged_in("lead"), intent, "note", reason="Something that was said.")
    run = Run.objects.create(kind="import", key="a", title="notify import a.jsonl", started_by="cli:ana")
    return {
        "intent_id": intent.pk,
        "run_id": run.pk,
        "account_id": ProviderAccount.objects.get().pk,
        "word": "pause",
        "app_label": "notifications",
    }


def is_guarded(route: Route) -> bool:
    return route.path.startswith(("reviews/", "admin/")) and route.name not in {
        "admin:login", "admin:logout", "admin:jsi18n", ""
    }  # fmt: skip


def table(found: dict[tuple[str, str], list[str]]) -> str:
    lines = [f"| address | name | {' | '.join(WHO)} |", "| -- | -- |" + " -- |" * len(WHO)]
    lines += [f"| `{path}` | {name} | {' | '.join(cells)} |" for (path, name), cells in found.items()]
    return "\n".join(lines) + "\n"


def measured() -> dict[tuple[str, str], list[str]]:
    named = things()
    browsers = {who: logged_in(who) for who in WHO}
    found = {}
    # Of each model's pages in the admin, the one without a name only leads to its page of changes.
    for route in [one for one in routes() if one.name or not one.path.endswith("<path:object_id>/")]:
        url = route.url(named)
        cells = [
            "/".join(str(asked(browsers[who], method, url).status_code) for method in ("GET", "POST")) for who in WHO
        ]
        shown = route.path if route.is_regex else f"/{route.path}"
        found[shown, route.name] = cells
    return found


def test_every_address_answers_each_kind_of_person_as_the_docs_say() -> None:
    found = measured()
    written = PAGE.read_text("utf-8")
    head, _, rest = written.partition(BEGIN)
    _old, _, foot = rest.partition(END)
    wanted = f"{head}{BEGIN}{table(found)}{END}{foot}"
    if os.environ.get("NOTIFYOPS_TEST_WRITE_DOCS"):
        PAGE.write_text(wanted, "utf-8")
    assert written == wanted, "docs/permissions.md tells something else; see the head of this file"
    _check_rules(found)


def _check_rules(found: dict[tuple[str, str], list[str]]) -> None:
    """Whatever the table says, these hold: a table that was written anew without being read must not pass."""
    for (path, name), cells in found.items():
        if path.startswith("/api/v1/") or name in PUBLIC or path in ("/favicon.ico", "/admin/nothing/"):
            continue
        by = dict(zip(WHO, cells, strict=True))
        for who in ("anonymous", "no group"):
            get, posted = by[who].split("/")
            if who == "anonymous" or name not in OWN:
                assert get in ("302", "403", "404", "405"), (path, who, get)
                assert posted in ("302", "403", "404", "405"), (path, who, posted)
        if path.startswith("/admin/"):
            assert {by["viewer"], by["operator"]} == {"302/302" if path == "/admin/login/" else "403/403"}, path
    for verb in VERBS:
        cells = found[f"/reviews/<int:intent_id>/{verb}", f"reviews:{verb}"]
        assert {cell.partition("/")[0] for cell in cells} <= {"302", "405"}, f"{verb} is done by GET"
        assert cells[WHO.index("viewer")].endswith("/403"), verb


def test_without_the_second_factor_a_live_site_shows_nothing_of_console_and_admin(settings: Any) -> None:
    named = things()
    settings.NOTIFYOPS_SECOND_FACTOR = "required"
    boss = logged_in("superuser")
    open_to_it, gated = [], 0
    for route in routes():
        for method in ("GET", "POST"):
            answer = asked(boss, method, route.url(named))
            leads_on = answer.status_code == 302 and answer["Location"].startswith("/second-factor/")
            if is_guarded(route) and not leads_on:
                open_to_it.append((method, route.path))
            gated += leads_on
    assert open_to_it == []
    assert gated > 100


def test_who_may_see_nothing_learns_nothing_about_what_there_is() -> None:
    """A thing that exists and one that does not are answered alike."""
    named = things()
    for who in ("anonymous", "no group"):
        browser = logged_in(who)
        for route in [route for route in routes() if "<int:" in route.path and not route.is_regex]:
            for method in ("GET", "POST"):
                real, unknown = (asked(browser, method, route.url(names)) for names in (named, {}))
                assert real.status_code == unknown.status_code, (who, method, route.path)
                said = [len(page.content.replace(page.wsgi_request.path.encode(), b"")) for page in (real, unknown)]
                assert said[0] == said[1], (who, method, route.path)

"""Opening any page, as anybody, as a page or as a fragment, writes nothing: the database itself watches."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection

from tests.safe.routes import WHO, asked, logged_in, routes
from tests.safe.test_permission_matrix import things
from tests.signin.factors import shown

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow, pytest.mark.usefixtures("quiet")]
HTMX = {"HX-Request": "true", "HX-Current-URL": "http://testserver/reviews/"}


def counts() -> dict[str, int]:
    """Count the rows of every table."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT c.relname FROM pg_class c WHERE c.relnamespace = 'notifyops_private'::regnamespace"
            " AND c.relkind = 'r' AND has_table_privilege(c.oid, 'SELECT')"
        )
        names = [row[0] for row in cursor.fetchall()]
        found = {}
        for name in names:
            cursor.execute(f'SELECT count(*) FROM notifyops_private."{name}"')
            found[name] = int(cursor.fetchone()[0])
    return found


@pytest.mark.parametrize("who", WHO)
def test_every_page_is_read_in_a_transaction_that_can_only_read(who: str) -> None:
    named = things()
    browser = logged_in(who)
    before = counts()
    for route in routes():
        for headers in ({}, HTMX) if route.path.startswith("reviews/") else ({},):
            answer = asked(browser, "GET", route.url(named), is_read_only=True, headers=headers)
            assert answer.status_code < 500, (who, route.path)
    assert counts() == before


def test_a_page_that_wrote_something_would_be_seen(settings: Any) -> None:
    """The watch itself: what logs somebody out, and so ends a session, is no page that is read."""
    browser = logged_in("operator")
    settings.NOTIFYOPS_SESSION_S = -1
    with pytest.raises(Exception, match="read-only transaction"):
        asked(browser, "GET", "/reviews/", is_read_only=True)


def test_with_a_second_factor_shown_reading_writes_nothing_either(settings: Any) -> None:
    settings.NOTIFYOPS_SECOND_FACTOR = "required"
    browser = shown("lena")
    named = things()
    for url in ("/reviews/", f"/reviews/{named['intent_id']}/", "/admin/", "/second-factor/", "/second-factor/enrol/"):
        assert asked(browser, "GET", url, is_read_only=True).status_code == 200, url

"""No address leads anybody in a circle, or leaves a browser with a bare 405: every address, each kind of person."""

from __future__ import annotations

import pytest

from tests.safe.routes import WHO, logged_in, routes
from tests.safe.test_permission_matrix import things

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow, pytest.mark.usefixtures("quiet")]


@pytest.mark.parametrize("who", WHO)
def test_no_address_leads_anybody_in_a_circle(who: str) -> None:
    """The client raises RedirectCycleError where one does; so many steps no way out needs."""
    named, browser = things(), logged_in(who)
    for route in routes():
        url = route.url(named)
        answer = browser.get(url, follow=True)
        answer.close()
        assert len(answer.redirect_chain) <= 4, url
        assert answer.status_code in (200, 400, 401, 403, 404, 405), url
        if answer.status_code == 403 and not answer.wsgi_request.path.startswith("/api/"):
            assert "Log in as somebody else" in answer.content.decode(), url


def test_every_address_for_forms_alone_has_words() -> None:
    named, client = things(), logged_in("superuser")
    found = [route for route in routes() if route.path.partition("/")[0] in ("reviews", "second-factor", "logout")]
    bare = [
        route.path
        for route in [*found, *[one for one in routes() if one.path == "theme/"]]
        if (answer := client.get(route.url(named))).status_code == 405 and "Not a page" not in answer.content.decode()
    ]
    assert bare == []

"""Tokens in the admin: shown once, revoked with a reason, by whom they may be."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from notifications.models import ApiToken
from tests.api.callers import WHY, Caller
from tests.reviews.cases import login

pytestmark = [pytest.mark.django_db(databases=["default", "owner"]), pytest.mark.role("owner")]
LIST = "/admin/notifications/apitoken/"


def boss() -> Client:
    client = login("lena")
    User.objects.filter(username="lena").update(is_superuser=True)
    return client


def fields(**changes: Any) -> dict[str, Any]:
    plain = {"name": "shop", "scopes": ["read"], "workspaces": "acme", "per_minute": "60", "reason": WHY}
    return plain | {"expires_at_0": "", "expires_at_1": ""} | changes


def made(client: Client) -> str:
    answer = client.post(f"{LIST}add/", fields())
    assert answer.status_code == 200
    assert "no-store" in answer.headers["Cache-Control"]
    found = re.search(r"nops_\w+", answer.content.decode())
    assert found
    return found[0]


def test_a_new_token_is_shown_this_once_and_works() -> None:
    client = boss()
    token = made(client)
    assert Caller(token).get("/outcomes").status == 200
    row = ApiToken.objects.get()
    assert (row.name, row.scopes, row.workspaces, row.per_minute) == ("shop", ["read"], ["acme"], 60)
    assert (row.made_by, row.reason) == ("user:lena", WHY)
    seen = "".join(
        client.get(url).content.decode() for url in (LIST, f"{LIST}{row.pk}/change/", f"{LIST}{row.pk}/history/")
    )
    assert row.prefix in seen
    assert token[18:] not in seen
    assert token[18:] not in str({name: morsel.value for name, morsel in client.cookies.items()})


def test_revoking_needs_a_reason_and_changes_nothing_else() -> None:
    client = boss()
    token = made(client)
    row = ApiToken.objects.get()
    url = f"{LIST}{row.pk}/change/"
    for reason in ("", "short", "asked by ana@example.com today"):
        assert client.post(url, {"reason": reason}).status_code == 200
    assert Caller(token).get("/outcomes").status == 200
    done = client.post(url, {"reason": "It stood in a public repository.", "scopes": ["enqueue"], "per_minute": "9"})
    assert done.status_code == 302
    row.refresh_from_db()
    assert (row.revoked_by, row.revoke_reason) == ("user:lena", "It stood in a public repository.")
    assert (row.scopes, row.per_minute) == (["read"], 60)
    assert Caller(token).get("/outcomes").code == "token_revoked"
    assert client.get(url).status_code == 200
    assert client.post(url, {"reason": "Once more, to be sure."}).status_code == 403
    assert client.post(f"{LIST}{row.pk}/delete/", {"post": "yes"}).status_code == 403


@pytest.mark.parametrize(
    "changes",
    [{"reason": ""}, {"scopes": []}, {"scopes": ["all"]}, {"workspaces": "a b"}, {"per_minute": "0"}, {"name": ""},
     {"expires_at_0": "2020-01-01", "expires_at_1": "00:00:00"}],
)  # fmt: skip
def test_a_token_that_cannot_be_is_refused(changes: dict[str, Any]) -> None:
    answer = boss().post(f"{LIST}add/", fields(**changes))
    assert answer.status_code == 200
    assert "errorlist" in answer.content.decode()
    assert not ApiToken.objects.exists()


def test_only_who_has_the_permission_makes_tokens() -> None:
    login("vera")
    User.objects.filter(username="vera").update(is_staff=True)
    assert login("vera").post(f"{LIST}add/", fields()).status_code == 403
    assert login("vera").get(LIST).status_code == 403
    User.objects.get(username="vera").user_permissions.add(Permission.objects.get(codename="add_apitoken"))
    assert login("vera").post(f"{LIST}add/", fields()).status_code == 200
    assert login("olga").get(LIST).status_code == 403

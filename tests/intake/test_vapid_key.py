"""`notify vapid-key` and `/push/key`: the public half is recorded and audited, and the private one is kept nowhere."""

from __future__ import annotations

import json

import pytest
from django.test import Client

from notifications.models import ConfigRevision, ProviderAccount
from notifications.providers.webpush_crypto import new_secret, public_key
from tests.intake.notify_cli import notify
from tests.providers.candidate_webpush import SECRET

pytestmark = pytest.mark.django_db(databases=["default", "owner"])

ASKED = ("vapid-key", "--account", "push")
WHY = ("--reason", "The shop's pages push.")


@pytest.fixture(autouse=True)
def account(db: None, monkeypatch: pytest.MonkeyPatch) -> ProviderAccount:
    monkeypatch.delenv("PUSH_KEY", raising=False)
    return ProviderAccount.objects.create(
        name="push", kind="webpush", channel="push", sender="a@example.com", api_key_ref="env:PUSH_KEY"
    )


def test_the_first_key_is_made_and_its_private_half_shown_this_once(account: ProviderAccount) -> None:
    told = notify(*ASKED, *WHY)
    secret, public = told.out.split()
    assert told.code == 0
    assert secret.startswith("PUSH_KEY=")
    assert public_key(secret.partition("=")[2]) == public
    assert "shown this once" in told.err
    account.refresh_from_db()
    assert (account.vapid_public_key, account.revision) == (public, 2)
    revision = ConfigRevision.objects.get(account=account)
    assert (revision.before, revision.after) == ({"vapid_public_key": ""}, {"vapid_public_key": public})
    assert (revision.reason, revision.actor[:4]) == ("The shop's pages push.", "cli:")
    assert secret.partition("=")[2] not in repr(ConfigRevision.objects.values()) + repr(
        ProviderAccount.objects.values()
    )
    again = notify(*ASKED)
    assert (again.code, again.out, again.err) == (0, public + "\n", "")
    assert ConfigRevision.objects.count() == 1


def test_a_key_that_the_workers_have_already_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PUSH_KEY", SECRET)
    told = notify(*ASKED, *WHY, "--json")
    assert json.loads(told.out) == {"account": "push", "public_key": public_key(SECRET), "variable": "PUSH_KEY"}
    assert SECRET not in told.out + told.err


def test_another_key_takes_its_place_and_a_host_with_the_old_one_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PUSH_KEY", SECRET)
    notify(*ASKED, *WHY)
    told = json.loads(notify(*ASKED, *WHY, "--rotate", "--json").out)
    assert public_key(told["private_key"]) == told["public_key"] != public_key(SECRET)
    assert "the private half of another key" in notify(*ASKED).err
    own = new_secret()
    monkeypatch.setenv("PUSH_KEY", own)
    assert notify(*ASKED, *WHY, "--rotate").out == public_key(own) + "\n"
    assert notify(*ASKED).err == ""
    assert [revision.revision for revision in ConfigRevision.objects.order_by("revision")] == [2, 3, 4]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--account", "other", *WHY), "no account other of kind webpush"),
        (("--account", "resend", *WHY), "no account resend of kind webpush"),
        (("--account", "push"), "reason"),
        (("--account", "push", "--reason", "Ask ana@example.com."), "address"),
    ],
)
def test_what_cannot_be_done_is_refused_and_writes_nothing(arguments: tuple[str, ...], sentence: str) -> None:
    told = notify("vapid-key", *arguments)
    assert (told.code, told.out) == (1, "")
    assert sentence in told.err
    assert not ConfigRevision.objects.exists()


def test_a_bad_key_of_this_host_is_refused_and_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PUSH_KEY", "not-a-key-at-all-0123456789")
    told = notify(*ASKED, *WHY)
    assert (told.code, told.out) == (1, "")
    assert "PUSH_KEY: A VAPID key is 32 bytes" in told.err
    assert "0123456789" not in told.err


def test_pages_of_any_origin_get_the_public_half(client: Client, account: ProviderAccount) -> None:
    assert client.get("/api/v1/push/key").status_code == 404
    notify(*ASKED, *WHY)
    account.refresh_from_db()
    for path in ("/api/v1/push/key", "/api/v1/push/key?account=push"):
        answer = client.get(path)
        assert (answer.status_code, answer.json()) == (200, {"account": "push", "key": account.vapid_public_key})
        assert answer["Access-Control-Allow-Origin"] == "*"
        assert answer["Cache-Control"] == "public, max-age=300"
        assert not answer.cookies
    for path in ("/api/v1/push/key?account=resend", "/api/v1/push/key?account=%00", "/api/v1/push/key?account=x" * 40):
        answer = client.get(path)
        assert answer["Access-Control-Allow-Origin"] == "*"
        assert (answer.status_code, answer["Content-Type"]) == (404, "application/problem+json")
    assert client.post("/api/v1/push/key").status_code == 405


def test_of_two_accounts_one_must_be_named_and_a_disabled_one_has_none(
    client: Client, account: ProviderAccount
) -> None:
    ProviderAccount.objects.filter(pk=account.pk).update(vapid_public_key=public_key(SECRET))
    ProviderAccount.objects.create(
        name="shop", kind="webpush", channel="push-shop", sender="a@example.com", vapid_public_key=public_key(SECRET)
    )
    assert client.get("/api/v1/push/key").status_code == 404
    assert client.get("/api/v1/push/key?account=shop").json()["account"] == "shop"
    ProviderAccount.objects.filter(name="shop").update(enabled=False)
    assert client.get("/api/v1/push/key?account=shop").status_code == 404
    assert client.get("/api/v1/push/key").json()["account"] == "push"

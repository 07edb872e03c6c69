"""`notify webhook-secret`: what an endpoint's owner is told verifies what the account sends there, and nothing else."""

from __future__ import annotations

import pytest

from notifications.models import ProviderAccount
from notifications.providers.standard_webhooks import Event, headers_of, keys_of
from tests.intake.notify_cli import notify
from tests.providers.candidate_webhook import NEW, OLD, TO
from tests.providers.test_webhook import secret_for

pytestmark = pytest.mark.django_db(databases=["default", "owner"])


@pytest.fixture(autouse=True)
def account(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK_SECRETS", f"{NEW}, {OLD}")
    ProviderAccount.objects.create(
        name="hooks", kind="webhook", channel="webhook", sender="a@example.com", api_key_ref="env:HOOK_SECRETS"
    )


def test_it_prints_one_secret_for_each_of_the_accounts_the_newest_first() -> None:
    told = notify("webhook-secret", "hooks", TO)
    assert (told.code, told.out.split()) == (0, [secret_for(TO, NEW), secret_for(TO, OLD)])
    assert len(keys_of(told.out)) == 2
    assert headers_of(Event("msg_1", b"{}"), keys_of(told.out), now_s=1)["webhook-signature"].count("v1,") == 2


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("other", TO), "no account other"),
        (("resend", TO), "no account resend of kind webhook"),
        (("hooks", "https://Hooks.example.com"), "small letters"),
        (("hooks", "ana@example.com"), "must begin with https://"),
    ],
)
def test_what_cannot_be_answered_is_refused(arguments: tuple[str, str], sentence: str) -> None:
    told = notify("webhook-secret", *arguments)
    assert (told.code, told.out) == (1, "")
    assert sentence in told.err


def test_a_host_without_the_secret_says_so_and_a_bad_one_is_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOOK_SECRETS")
    assert "HOOK_SECRETS is not set on this host" in notify("webhook-secret", "hooks", TO).err
    monkeypatch.setenv("HOOK_SECRETS", "whsec_c2hvcnQ=")
    told = notify("webhook-secret", "hooks", TO)
    assert "24 to 64 bytes" in told.err
    assert "c2hvcnQ" not in told.err

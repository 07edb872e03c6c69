"""Which adapter an account gets, where it may send to, and what an installed package can add."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_network
from typing import Any

import pytest
from django.test import override_settings

from notifications import wiring
from notifications.models import ProviderAccount
from notifications.providers import kinds
from notifications.providers.console import ConsoleProvider
from notifications.providers.kinds import Kind, Setup
from notifications.providers.smtp import SmtpProvider
from notifications.providers.twilio import Reports
from tests.providers.candidate_telegram import TOKEN
from tests.providers.candidate_twilio import SECRET
from tests.providers.candidate_webhook import NEW

OWN = "smtps://relay@mx.example.com"


def account(kind: str = "smtp", **more: Any) -> ProviderAccount:
    return ProviderAccount(name="mail", kind=kind, channel="email", sender="a@example.com", **more)


def provider_in(mode: str, row: ProviderAccount) -> Any:
    with override_settings(NOTIFYOPS_SITE_MODE=mode):
        return wiring.provider(row, wiring.rules())


@pytest.mark.parametrize("mode", ["live", "redirect"])
def test_an_account_uses_its_own_server_where_people_may_be_reached(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAIL_PASSWORD", "hunter2-secret")
    adapter = provider_in(mode, account(base_url=OWN, api_key_ref="env:MAIL_PASSWORD"))
    assert isinstance(adapter, SmtpProvider)
    assert (adapter._server.host, adapter._server.password) == ("mx.example.com", "hunter2-secret")


@pytest.mark.parametrize("mode", ["sandbox", "off"])
def test_a_copied_account_reaches_nobody(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOTIFYOPS_SMTP_BASE_URL", raising=False)
    with pytest.raises(wiring.Unusable, match="set NOTIFYOPS_SMTP_BASE_URL"):
        provider_in(mode, account(base_url=OWN))
    monkeypatch.setenv("NOTIFYOPS_SMTP_BASE_URL", "smtp+cleartext://127.0.0.1:2525")
    assert provider_in(mode, account(base_url=OWN))._server.port == 2525


@pytest.mark.parametrize("url", ["smtp+cleartext://mailhost:25", "smtps://mx.example.com", "smtp://192.0.2.1:25"])
def test_no_server_but_this_machine_is_called_where_nobody_may_be_reached(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A variable is copied as easily as a database."""
    monkeypatch.setenv("NOTIFYOPS_SMTP_BASE_URL", url)
    with pytest.raises(wiring.Unusable, match="not an address of this machine"):
        provider_in("sandbox", account())


def test_a_server_without_login_needs_no_secret_and_a_named_one_must_be_there() -> None:
    assert provider_in("live", account(base_url="smtp://mx.example.com"))._server.user == ""
    with pytest.raises(wiring.Unusable, match="NOT_SET_ANYWHERE is not set"):
        provider_in("live", account(base_url=OWN, api_key_ref="env:NOT_SET_ANYWHERE"))
    with pytest.raises(wiring.Unusable, match="belong together"):
        provider_in("live", account(base_url=OWN))


def test_the_terminal_is_no_channel_to_people() -> None:
    assert isinstance(provider_in("sandbox", account("console")), ConsoleProvider)
    for mode in ("live", "redirect"):
        with pytest.raises(wiring.Unusable, match="reaches nobody"):
            provider_in(mode, account("console"))


def hooks(base_url: str = "") -> ProviderAccount:
    return ProviderAccount(
        name="hooks",
        kind="webhook",
        channel="webhook",
        sender="a@example.com",
        api_key_ref="env:HOOK_SECRETS",
        base_url=base_url,
    )


def test_recipients_are_called_themselves_in_live_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK_SECRETS", NEW)
    assert provider_in("live", hooks())._stand_in is None
    assert str(provider_in("live", hooks(base_url="https://gate.example.com/in"))._stand_in) == (
        "https://gate.example.com/in"
    )
    for mode in ("off", "sandbox", "redirect"):
        with pytest.raises(wiring.Unusable, match="no base URL"):
            provider_in(mode, hooks())
    monkeypatch.setenv("NOTIFYOPS_WEBHOOK_BASE_URL", "http://127.0.0.1:8025/in")
    # A copied account's own address does not count where nobody may be reached.
    assert provider_in("sandbox", hooks(base_url="https://gate.example.com/in"))._stand_in.host == "127.0.0.1"
    monkeypatch.setenv("NOTIFYOPS_WEBHOOK_BASE_URL", "https://gate.example.com/in")
    with pytest.raises(wiring.Unusable, match="not an address of this machine"):
        provider_in("sandbox", hooks())


def test_the_networks_that_webhooks_may_go_to_are_the_installations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK_SECRETS", NEW)
    assert not provider_in("live", hooks())._fence.networks
    with override_settings(NOTIFYOPS_WEBHOOK_NETWORKS=(ip_network("10.1.0.0/16"),)):
        fence = provider_in("live", hooks())._fence
    assert fence.admits("10.1.2.3", "http")
    assert not fence.admits("10.2.2.3", "http")
    with override_settings(NOTIFYOPS_WEBHOOK_PRIVATE="yes"):
        assert provider_in("live", hooks())._fence.admits("10.2.2.3", "http")


def test_a_secret_that_cannot_sign_makes_the_account_unusable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK_SECRETS", "whsec_c2hvcnQ=")
    with pytest.raises(wiring.Unusable, match="24 to 64 bytes") as refusal:
        provider_in("live", hooks())
    assert "c2hvcnQ" not in str(refusal.value)


def test_an_unknown_kind_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(wiring.Unusable, match="use brevo, console, .*, telegram, twilio, .*webpush"):
        provider_in("live", account("pigeon"))


def texts(kind: str = "twilio", **more: Any) -> ProviderAccount:
    return ProviderAccount(
        name="texts", kind=kind, channel="sms", sender="+15550001111", api_key_ref="env:TEXT_LOGIN", **more
    )


def test_reports_go_to_our_public_address_where_a_secret_verifies_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEXT_LOGIN", SECRET)
    own = {"base_url": "https://api.twilio.com"}
    with override_settings(NOTIFYOPS_PUBLIC_URL="https://shop.example.com", NOTIFYOPS_SMS_PARTS=5):
        told = provider_in("live", texts(webhook_secret_refs="env:TEXT_LOGIN", **own))
        assert told._reports == Reports("https://shop.example.com/api/v1/providers/texts/events", 5)
        assert told.capabilities.receipts
        assert provider_in("live", texts(**own)).capabilities.receipts == frozenset()
    assert provider_in("live", texts(webhook_secret_refs="env:TEXT_LOGIN", **own))._reports.url == ""


@pytest.mark.parametrize(("kind", "secret"), [("twilio", SECRET), ("telegram", TOKEN)])
def test_a_copied_account_texts_nobody(kind: str, secret: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEXT_LOGIN", secret)
    name, row = f"NOTIFYOPS_{kind.upper()}_BASE_URL", texts(kind, base_url=f"https://api.{kind}.com")
    with pytest.raises(wiring.Unusable, match=f"set {name}"):
        provider_in("sandbox", row)
    with override_settings(**{name: "https://gate.example.com"}), pytest.raises(wiring.Unusable, match="this machine"):
        provider_in("sandbox", row)
    with override_settings(**{name: "http://127.0.0.1:8025"}):
        assert provider_in("sandbox", row)._url.host == "127.0.0.1"
    assert provider_in("redirect", row)._url.host == f"api.{kind}.com"


def test_a_missing_receipt_says_nothing_where_none_ever_comes() -> None:
    with override_settings(NOTIFYOPS_SITE_MODE="live"):
        made = wiring.account(account(base_url="smtp://mx.example.com", declares_receipts=True), wiring.rules())
    assert not made.declares_receipts


@dataclass
class Entry:
    """An entry point as an installed package brings it."""

    value: str
    loaded: Any

    def load(self) -> Any:
        if isinstance(self.loaded, Exception):
            raise self.loaded
        return self.loaded


def test_a_package_adds_a_kind_and_can_neither_replace_ours_nor_harm_them(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    made: list[Setup] = []

    def make(setup: Setup) -> Any:
        made.append(setup)
        return ConsoleProvider()

    entries = [
        Entry("pigeons:KIND", Kind("pigeon", make, needs_url=False, needs_secret=False)),
        Entry("pigeons:RESEND", Kind("resend", make)),
        Entry("pigeons:BROKEN", ImportError("no wings")),
        Entry("pigeons:TEXT", "resend"),
    ]
    monkeypatch.setattr(kinds, "entry_points", lambda group: entries if group == "notifyops.providers" else [])
    kinds.kinds.cache_clear()
    try:
        assert isinstance(provider_in("live", account("pigeon")), ConsoleProvider)
        assert len(made) == 1
        assert kinds.kinds()["resend"] is kinds.BUILT_IN[0]
        assert "pigeons:BROKEN cannot be loaded: ImportError" in caplog.text
        assert "pigeons:TEXT is no Kind" in caplog.text
    finally:
        kinds.kinds.cache_clear()

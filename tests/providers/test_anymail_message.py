"""What is frozen of a message for each mail service, and what of the account and of the site is not."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs

import pytest
from django.test import override_settings

from notifications.providers.anymail import AnymailProvider
from notifications.providers.anymail_request import read_call
from notifications.providers.base import Unsendable
from notifications.providers.esps import ESPS, Esp
from notifications.states import ResultClass
from tests.providers.attempts import MESSAGE
from tests.providers.candidate_anymail import BY_NAME, adapter, sent

MARKED = replace(MESSAGE, tags={"site": "main", "intent": "17", "generation": "1", "root": "16"})
each_service = pytest.mark.parametrize("name", list(BY_NAME))


def frozen(name: str, message: Any = MARKED, base_url: str = "http://127.0.0.1:9/api/") -> bytes:
    return adapter(name, base_url).prepare(message)


@each_service
def test_no_key_is_frozen_and_all_of_it_is_sent(name: str) -> None:
    """A key that is renewed must repeat the same bytes; and what is frozen is kept for years."""
    provider = adapter(name, "http://127.0.0.1:9/api/")
    body = provider.prepare(MARKED)
    whole = repr(provider._credentials)
    for part in BY_NAME[name].secrets:
        secret = f"secret-{part}"
        coded = base64.b64encode(f"api:{secret}".encode()).decode()
        pair = base64.b64encode(b"secret-api_key:secret-secret_key").decode()
        assert secret.encode() not in body
        assert any(form in whole for form in (secret, coded, pair))
    assert b"no-key" not in body
    assert b"uthorization" not in body


@each_service
def test_the_bytes_are_the_same_at_every_address_and_under_every_key(name: str) -> None:
    esp = BY_NAME[name]
    query = "?project_id=p-17" if esp.wanted else ""
    other = AnymailProvider(
        esp, base_url=f"https://else.example.com/v9{query}", secret=":".join("z" * len(esp.secrets))
    )
    assert other.prepare(MARKED) == frozen(name)


@each_service
def test_our_marks_travel_with_the_message(name: str) -> None:
    raw = json.dumps(sent(name, frozen(name)))
    if BY_NAME[name].marks == "tag":
        assert "1.17.16.main" in raw  # generation, intent, root, site
    else:
        assert all(f"{tag}" in raw for tag in ("generation", "intent", "17", "root", "site", "main"))


@each_service
@override_settings(
    ANYMAIL={
        "SEND_DEFAULTS": {"bcc": ["spy@example.com"], "tags": ["theirs"], "esp_extra": {"x": "theirs"}},
        "IGNORE_UNSUPPORTED_FEATURES": True,
        "DEBUG_API_REQUESTS": True,
        **{
            f"{name}_SEND_DEFAULTS": {"cc": ["spy@example.com"]}
            for name in ("POSTMARK", "MAILGUN", "SENDGRID", "BREVO", "MAILJET", "SPARKPOST", "MAILERSEND", "POSTAL")
        },
        "POSTMARK_MESSAGE_STREAM": "theirs",
        "MAILGUN_SENDER_DOMAIN": "theirs.example.com",
    }
)
def test_the_sites_own_settings_of_anymail_change_nothing(name: str) -> None:
    """An application in the same project may use anymail itself; a default of its own could add a recipient."""
    body = frozen(name)
    with override_settings(ANYMAIL={}):
        assert body == frozen(name)
    assert b"spy@" not in body
    assert b"theirs" not in body


def test_anymails_signals_are_not_sent_so_nobody_changes_or_cancels_a_frozen_message() -> None:
    from anymail.signals import pre_send

    heard: list[object] = []

    def hear(sender: object, **more: object) -> None:
        heard.append(more)

    pre_send.connect(hear)
    try:
        assert frozen("postmark") == frozen("postmark")
    finally:
        pre_send.disconnect(hear)
    assert heard == []


def test_an_option_of_the_service_stands_in_the_base_urls_query() -> None:
    body = frozen("postmark", base_url="http://127.0.0.1:9/?message_stream=alerts")
    assert sent("postmark", body)["MessageStream"] == "alerts"
    call = read_call(
        frozen("mailgun", base_url="http://127.0.0.1:9/v3?sender_domain=mg.example.com"), BY_NAME["mailgun"]
    )
    assert call is not None
    assert call.target == "mg.example.com/messages"
    assert parse_qs(call.body.decode())["from"] == ["Reports <reports@example.com>"]


@pytest.mark.parametrize(
    ("name", "base_url", "secret", "said"),
    [
        ("postmark", "ftp://api.example.com/", "x", "must be like https://api.postmarkapp.com/"),
        ("postmark", "https://u:p@api.example.com/", "x", "without a user"),
        ("postmark", "https://api.example.com/?stream=a", "x", "options of postmark (message_stream)"),
        ("postmark", "https://api.example.com/?message_stream=a%20b", "x", "plain characters"),
        ("scaleway", "https://api.example.com/", "x", "must hold project_id"),
        ("mailjet", "https://api.example.com/", "only-one", "api_key:secret_key"),
        ("brevo", "https://api.example.com/", "hunter2 secret", "printable ASCII"),
        ("brevo", "https://api.example.com/", "", "printable ASCII"),
    ],
)
def test_wrong_settings_are_said_in_a_sentence_without_the_secret(
    name: str, base_url: str, secret: str, said: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(said)) as refusal:
        AnymailProvider(BY_NAME[name], base_url=base_url, secret=secret)
    assert "hunter2" not in str(refusal.value)


def test_a_backend_that_writes_its_key_into_the_message_is_refused() -> None:
    """Mandrill's is one: the key would be frozen, or would have to be put into bytes that others wrote."""
    mandrill = Esp("mandrill", "anymail.backends.mandrill.EmailBackend", "https://m.example.com/", ("api_key",), ())
    with pytest.raises(ValueError, match="not usable"):
        AnymailProvider(mandrill, base_url="https://m.example.com/", secret="x")


def test_brevos_key_is_a_uuid_of_the_message_and_its_generation() -> None:
    first = sent("brevo", frozen("brevo"))["headers"]["idempotencyKey"]
    again = sent("brevo", frozen("brevo", replace(MARKED, tags={**MARKED.tags, "generation": "2"})))
    assert len(first) == 36
    assert first == sent("brevo", frozen("brevo"))["headers"]["idempotencyKey"] != again["headers"]["idempotencyKey"]


@each_service
@pytest.mark.parametrize("sender", ["Acme, Inc. <a@example.com>", 'A "B" <a@example.com>', "x@y.z, w <a@example.com>"])
def test_a_senders_name_is_never_read_as_another_address(name: str, sender: str) -> None:
    raw = json.dumps(sent(name, frozen(name, replace(MARKED, sender=sender))))
    assert "a@example.com" in raw


@each_service
@pytest.mark.parametrize(
    "tags", [{"a b": "1"}, {"a": "x" * 81}, {"a" * 21: "1"}, {"a": "ü"}, dict.fromkeys("abcdefghijk", "1")]
)
def test_a_tag_that_one_of_the_services_would_refuse_is_refused_here(name: str, tags: dict[str, str]) -> None:
    with pytest.raises(Unsendable, match="invalid_tag"):
        frozen(name, replace(MARKED, tags=tags))


def test_what_brevo_cannot_carry_is_refused_before_anything_is_tried() -> None:
    with pytest.raises(Unsendable) as refusal:
        frozen("brevo", replace(MARKED, headers={"X-Note": "grüße"}))
    assert (refusal.value.code, refusal.value.result_class) == ("invalid_header", ResultClass.FIX_CONFIG)


@pytest.mark.parametrize("place", [b"../messages", b"//evil.example.com/x", b"a/../../b"])
def test_frozen_bytes_cannot_lead_elsewhere(place: bytes) -> None:
    body = frozen("mailgun").replace(b"POST mailgun example.com/messages", b"POST mailgun " + place)
    assert read_call(body, BY_NAME["mailgun"]) is None
    assert read_call(frozen("postmark"), BY_NAME["mailgun"]) is None
    assert {esp.name for esp in ESPS} == set(BY_NAME)

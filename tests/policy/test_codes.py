"""The closed vocabulary: every code that can be produced has its sentence."""

from __future__ import annotations

import pytest

from notifications.policy import codes
from notifications.policy.claim import Block
from notifications.providers import (
    anymail,
    esp_answers,
    fetcher,
    http,
    smtp,
    smtp_replies,
    webhook_answers,
    webpush_answers,
)


def test_every_constant_is_listed_with_one_sentence() -> None:
    constants = {value for name, value in vars(codes).items() if name.isupper() and isinstance(value, str)}
    assert constants == set(codes.REVIEW_CODES)


@pytest.mark.parametrize(("code", "meaning"), codes.OWN_CODES.items())
def test_a_meaning_is_one_sentence(code: str, meaning: str) -> None:
    assert meaning[0].isupper()
    assert meaning.endswith(".")
    assert ". " not in meaning
    assert code == code.lower()


def test_every_code_of_the_transport_and_of_the_blocks_is_listed() -> None:
    produced = {code for _, code in (*http._NOT_HANDED, *http._HANDED)}
    refused = {"not_sent.refused", "not_sent.stale_connection", "not_sent.withheld", "not_sent.lease_over"}
    more = refused | {"not_sent.given_back", "not_sent.forbidden"}
    assert produced | more == set(codes.TRANSPORT_CODES)
    assert {block.value for block in Block} <= set(codes.REVIEW_CODES)


def test_every_code_of_smtp_is_listed() -> None:
    assert smtp_replies.CODES - {smtp_replies.ACCEPTED} == set(codes.SMTP_CODES)
    assert {code for _, code in (*smtp._BEFORE, *smtp._AFTER)} <= set(codes.TRANSPORT_CODES)


def test_every_code_of_webhooks_is_listed() -> None:
    assert webhook_answers.CODES - {webhook_answers.ACCEPTED} == set(codes.WEBHOOK_CODES)


def test_every_code_of_web_push_is_listed() -> None:
    assert webpush_answers.CODES - {webpush_answers.ACCEPTED} == set(codes.WEBPUSH_CODES)


def test_every_code_of_fetching_is_listed() -> None:
    produced = {fetcher.UNREACHABLE, fetcher.REFUSED, fetcher.MISMATCH, fetcher.FORBIDDEN}
    assert produced <= set(codes.REVIEW_CODES)


def test_every_code_of_the_mail_services_is_listed() -> None:
    assert set(codes.SERVICE_CODES) == anymail.CODES
    assert set(codes.SERVICE_NAMES) == set(esp_answers.NAMES)


@pytest.mark.parametrize("meaning", codes.SERVICE_NAMES.values())
def test_what_an_answer_means_is_one_sentence(meaning: str) -> None:
    assert meaning[0].isupper()
    assert meaning.endswith(".")
    assert ". " not in meaning

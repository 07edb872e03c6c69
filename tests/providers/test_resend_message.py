"""A message becomes the same bytes every time, or is refused by name before anything is tried."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from notifications.providers.base import Message, Unsendable
from notifications.providers.resend import ResendProvider
from notifications.states import ResultClass
from tests.providers.attempts import MESSAGE

prepare = ResendProvider(base_url="https://api.resend.com", api_key="re_1").prepare


def refused(**changes: Any) -> Unsendable:
    with pytest.raises(Unsendable) as refusal:
        prepare(replace(MESSAGE, **changes))
    return refusal.value


def test_the_bytes_are_exactly_these() -> None:
    """A change here breaks the retries of every message prepared by the release before."""
    message = replace(MESSAGE, html="<p>Ω</p>", reply_to="help@example.com", headers={"X-B": "2", "X-A": "1"})
    assert prepare(message).decode() == (
        '{"from":"Reports <reports@example.com>","to":["ana@example.com"],"subject":"Your report is ready",'
        '"text":"Q3 is ready.","html":"<p>Ω</p>","reply_to":"help@example.com",'
        '"headers":{"X-A":"1","X-B":"2"},'
        '"tags":[{"name":"generation","value":"1"},{"name":"intent","value":"17"}]}'
    )


def test_the_order_of_headers_and_tags_does_not_matter() -> None:
    one = replace(MESSAGE, headers={"X-A": "1", "X-B": "2"}, tags={"a": "1", "b": "2"})
    other = replace(MESSAGE, headers={"X-B": "2", "X-A": "1"}, tags={"b": "2", "a": "1"})
    assert prepare(one) == prepare(other)


ADDRESSES = [
    '<a href="x">spambot</a>',
    '"Doe, Jane" <j@example.com>',
    "a@example.com, c@example.com",
    "a@example.com;c@example.com",
    "a@example.com\nBcc: x@example.com",
    "a@example.com\r\n",
    " a@example.com",
    "a@b",
    "a@b@example.com",
    "",
    "a" * 400 + "@example.com",
    "a\x00@example.com",
    "ana@exämple.com",
]


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_address_that_is_not_one_bare_mailbox_is_the_recipients_fault(address: str) -> None:
    refusal = refused(to=address)
    assert (refusal.code, refusal.result_class) == ("invalid_recipient", ResultClass.RECIPIENT)


SUBJECTS = ["", "Hi\r\nBcc: evil@example.com", "a\nb", "a\u2028b", "a\tb", "x" * 10_000, "a\x00b", "a\x85b", "a\ud800b"]


@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: repr(subject[:20]))
def test_a_subject_that_is_not_one_line_of_text_is_refused(subject: str) -> None:
    refusal = refused(subject=subject)
    assert (refusal.code, refusal.result_class) == ("invalid_subject", ResultClass.FIX_CONFIG)


@pytest.mark.parametrize("subject", ["Ωmega 👩‍💻", "non\u00a0breaking", "عربى", "x" * 998])
def test_a_subject_in_any_language_is_kept(subject: str) -> None:
    assert json.loads(prepare(replace(MESSAGE, subject=subject)))["subject"] == subject


@pytest.mark.parametrize(
    "sender", ["", "Reports", "a@example.com\nX: y", "a <b@example.com>, c@example.com", "<>", "x <y>"]
)
def test_a_sender_without_one_address_is_refused(sender: str) -> None:
    assert refused(sender=sender).code == "invalid_sender"
    assert refused(reply_to=sender).code == "invalid_reply_to"


@pytest.mark.parametrize(
    "headers",
    [
        {"Bcc": "x@example.com"},
        {"TO": "x@example.com"},
        {"X A": "1"},
        {"": "1"},
        {"X": "a\r\nBcc: x@example.com"},
        {"X\n": "1"},
        {"X-A": "1", "x-a": "2"},
        {"X": "y" * 1000},
    ],
)
def test_a_header_that_could_change_the_message_is_refused(headers: dict[str, str]) -> None:
    assert refused(headers=headers).code == "invalid_header"


@pytest.mark.parametrize(
    "tags",
    [
        {"intent": "report-ready/demo-001"},
        {"": "1"},
        {"a": ""},
        {"a": "b" * 257},
        {"a\n": "b"},
        {"a": "b\n"},
        {"a": "b\nc"},
    ],
)
def test_a_tag_outside_the_providers_alphabet_is_refused(tags: dict[str, str]) -> None:
    assert refused(tags=tags).code == "invalid_tag"


def test_more_tags_than_the_provider_takes_are_refused() -> None:
    assert refused(tags={f"t{number}": "1" for number in range(76)}).code == "invalid_tag"


def test_a_message_without_any_body_is_refused_and_one_with_either_is_not() -> None:
    assert refused(text="").code == "empty_body"
    assert refused(text="", html="").code == "empty_body"
    assert prepare(replace(MESSAGE, text="", html="<p>hi</p>"))
    assert prepare(replace(MESSAGE, text="hi", html=None))


def test_a_message_larger_than_the_provider_takes_is_refused() -> None:
    assert refused(text="x" * 40_000_001).code == "too_large"


def test_what_no_store_can_hold_is_made_visible_in_the_bodies() -> None:
    fields = json.loads(prepare(replace(MESSAGE, text="a\x00b\ud800c", html="<p>\x00\udfff</p>")))
    assert (fields["text"], fields["html"]) == ("a␀b\ufffdc", "<p>␀\ufffd</p>")


hostile = st.text(st.characters(codec=None, categories=None), max_size=60)


@settings(deadline=None)
@given(subject=hostile, text=hostile, to=hostile, sender=hostile, value=hostile)
def test_any_text_either_becomes_one_safe_message_or_is_refused_by_a_code(
    subject: str, text: str, to: str, sender: str, value: str
) -> None:
    tries = [
        replace(MESSAGE, subject=subject, text=text),
        replace(MESSAGE, to=to),
        replace(MESSAGE, sender=sender, headers={"X-Value": value}, tags={"t": value}),
        replace(MESSAGE, headers={value: "1"}, reply_to=sender),
    ]
    for message in tries:
        _safe_or_refused(message)


def _safe_or_refused(message: Message) -> None:
    try:
        body = prepare(message)
    except Unsendable:
        return
    fields = json.loads(body)
    assert len(fields["to"]) == 1
    assert "cc" not in fields
    assert "bcc" not in fields
    assert b"\x00" not in body
    for text in (fields["subject"], fields["from"], *fields.get("headers", {}).values()):
        assert "\n" not in text
        assert "\r" not in text

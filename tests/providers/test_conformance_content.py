"""What every adapter makes of a message: the same bytes each time, one recipient, and nothing smuggled (POI, SEC)."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from dataclasses import replace
from typing import Any

import pytest

from notifications.providers.attachment import Attachment
from notifications.providers.base import Message, Unsendable
from notifications.states import ResultClass
from tests.providers.attempts import MESSAGE
from tests.providers.candidates import CANDIDATES
from tests.providers.conformance import Candidate

each_candidate = pytest.mark.parametrize("candidate", CANDIDATES, ids=str)

FULL = replace(
    MESSAGE,
    sender='"Zoë, Reports" <reports@example.com>',
    subject="Résumé 报告 👩‍💻 is ready",
    text="First.\n.\n..dots\nFrom here\r\n\r\nQUIT\r\nlast",
    short="First.\n.\n报告\r\n\r\nTo: +15550001111&To=%2B15550001111",
    html="<p>报告</p>\n.\n",
    reply_to="help@example.com",
    headers={"X-B": "2", "X-A": "1"},
)


@each_candidate
@pytest.mark.parametrize("kind", [MESSAGE, FULL], ids=["plain", "full"])
def test_the_same_message_gives_the_same_bytes_for_its_one_recipient(candidate: Candidate, kind: Message) -> None:
    message = candidate.addressed(kind)
    first = candidate.open(9).prepare(message)
    assert candidate.open(9).prepare(replace(message, tags=dict(sorted(message.tags.items(), reverse=True)))) == first
    assert candidate.recipients(first) == [candidate.to]


@each_candidate
def test_another_generation_has_other_bytes(candidate: Candidate) -> None:
    """So that two messages of one notification can be told apart wherever they arrive."""
    again = replace(candidate.message, tags={**MESSAGE.tags, "generation": "2"})
    assert candidate.open(9).prepare(again) != candidate.open(9).prepare(candidate.message)


BREAKS = ("\r\n", "\n", "\r", "\x00", "\u2028", "\x85", "\ud800", "\x1b")


@each_candidate
@pytest.mark.parametrize("mark", BREAKS, ids=ascii)
@pytest.mark.parametrize(
    ("field", "code"),
    [("subject", "invalid_subject"), ("sender", "invalid_sender"), ("to", "invalid_recipient"), ("headers", "")],
)
def test_no_line_break_gets_into_a_header(candidate: Candidate, mark: str, field: str, code: str) -> None:
    smuggled: Any = f"Hi{mark}Bcc: evil@example.com"
    if field == "sender":
        smuggled += " <a@example.com>"
    if field == "headers":
        smuggled, code = {"X-Note": smuggled}, "invalid_header"
    with pytest.raises(Unsendable) as refusal:
        candidate.open(9).prepare(replace(candidate.message, **{field: smuggled}))
    assert refusal.value.code == code


@each_candidate
@pytest.mark.parametrize("name", ["Bcc", "cc", "TO", "Subject", "From", "Date", "Content-Type", "X:Y", "X Y", ""])
def test_no_header_replaces_one_of_the_messages_own(candidate: Candidate, name: str) -> None:
    with pytest.raises(Unsendable) as refusal:
        candidate.open(9).prepare(replace(candidate.message, headers={name: "x"}))
    assert refusal.value.code == "invalid_header"


ADDRESSES = (
    *('<a href="x">spambot</a>', '"Doe, Jane" <j@example.com>', "a@example.com, c@example.com"),
    *("a@example.com;c@example.com", "a@example.com\nBcc: x@example.com", "a@example.com> SIZE=1", "a@b"),
    *("", "a" * 400 + "@example.com", "a\x00@example.com", "a b@example.com", "<a@example.com>", "a@@example.com"),
    *("用户@example.com", "ana@exämple.com", "https://a@hooks.example.com/", "https://hooks.example.com/ x"),
    *(
        "+447700900123\n+15550001111",
        "+44 7700 9001",
        "00447700900123",
        "+447700900123,+15550001111",
        "\uff0b44770090012",
    ),
    *("123456789\n987654321", "12:34", "@acme news", "@", "0", "--1", "\u0661\u0662\u0663", "1" * 17),
)


@each_candidate
@pytest.mark.parametrize("address", ADDRESSES, ids=ascii)
def test_what_is_not_one_plain_address_is_the_recipients_fault(candidate: Candidate, address: str) -> None:
    with pytest.raises(Unsendable) as refusal:
        candidate.open(9).prepare(replace(candidate.message, to=address))
    assert (refusal.value.code, refusal.value.result_class) == ("invalid_recipient", ResultClass.RECIPIENT)


@each_candidate
def test_a_message_without_a_word_is_refused(candidate: Candidate) -> None:
    with pytest.raises(Unsendable) as refusal:
        candidate.open(9).prepare(replace(candidate.message, text="", html=None, short=""))
    assert refusal.value.code == "empty_body"


FILE = Attachment("Q3 报告.csv", "text/csv", b"a;b\r\n.\r\n1;2\r\n")


@each_candidate
def test_a_file_is_in_the_bytes_unchanged_or_is_not_taken(candidate: Candidate) -> None:
    """The engine hands none to an adapter that takes none: what takes some says how much."""
    provider = candidate.open(9)
    limit = provider.capabilities.attachment_limit
    whole = replace(candidate.message, attachments=(FILE,))
    said = provider.prepare(whole)
    shown = b64encode(FILE.content) in said or hashlib.sha256(FILE.content).hexdigest().encode() in said
    assert shown is (limit > 0)
    assert candidate.open(9).prepare(whole) == said
    other = replace(whole, attachments=(replace(FILE, content=b"other"),))
    assert (provider.prepare(other) != said) is (limit > 0)
    assert candidate.recipients(said) == [candidate.to]
    assert FILE.encoded_bytes == len(b64encode(FILE.content))

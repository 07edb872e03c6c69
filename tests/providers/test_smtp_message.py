"""A mail says what the message said, in plain short lines, the same bytes every time, and nothing more."""

from __future__ import annotations

import email
import re
from dataclasses import replace
from datetime import UTC, datetime
from email.header import decode_header, make_header
from email.message import EmailMessage
from email.policy import default
from email.utils import parseaddr

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from notifications.providers.base import Message, Unsendable
from notifications.providers.smtp_message import Letter, frozen_letter, read_letter
from tests.providers.attempts import MESSAGE


def letter(message: Message) -> Letter:
    read = read_letter(frozen_letter(message))
    assert read is not None
    return read


def read_mail(message: Message) -> EmailMessage:
    parsed = email.message_from_bytes(letter(message).mail, policy=default)
    assert isinstance(parsed, EmailMessage)
    assert parsed.defects == []
    return parsed


def test_the_bytes_are_exactly_these() -> None:
    """A change here changes nothing that is frozen, but two releases beside each other would make two mails."""
    message = replace(MESSAGE, html="<p>Ω</p>", reply_to="help@example.com", headers={"X-B": "2", "X-A": "1"})
    assert frozen_letter(message).decode("ascii").split("\r\n") == [
        *("MAIL FROM:<reports@example.com>", "RCPT TO:<ana@example.com>", ""),
        f"Message-ID: <{letter(message).id}@example.com>",
        "Date: Tue, 01 Dec 2026 06:00:00 +0000",
        'From: "Reports" <reports@example.com>',
        *("To: ana@example.com", "Subject: Your report is ready", "Reply-To: help@example.com", "X-A: 1", "X-B: 2"),
        *("Auto-Submitted: auto-generated", "MIME-Version: 1.0", "Content-Type: multipart/alternative;"),
        *(f' boundary="=_{letter(message).id}"', "", f"--=_{letter(message).id}"),
        *('Content-Type: text/plain; charset="utf-8"', "Content-Transfer-Encoding: quoted-printable", ""),
        *("Q3 is ready.", "", f"--=_{letter(message).id}"),
        *('Content-Type: text/html; charset="utf-8"', "Content-Transfer-Encoding: quoted-printable", ""),
        *("<p>=CE=A9</p>", "", f"--=_{letter(message).id}--", ""),
    ]


words = st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1, max_size=300)
texts = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=2000)


@settings(max_examples=150, deadline=None)
@given(subject=words, text=texts, html=st.none() | texts, name=words)
def test_whatever_it_says_is_read_back_and_no_line_is_long_or_foreign(
    subject: str, text: str, html: str | None, name: str
) -> None:
    if not text and not html:
        text = "."
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    message = replace(MESSAGE, subject=subject, text=text, html=html, sender=f'"{escaped}" <reports@example.com>')
    raw = letter(message).mail
    assert raw.isascii()
    assert re.search(rb"(?<!\r)\n|\r(?!\n)", raw) is None
    assert max(len(line) for line in raw.split(b"\r\n")) <= 998
    parsed = read_mail(message)
    assert parsed["Subject"] == subject
    assert (parsed["To"], len(parsed.get_all("To", []))) == ("ana@example.com", 1)
    assert [address.addr_spec for address in parsed["From"].addresses] == ["reports@example.com"]
    assert {"Bcc", "Cc", "Resent-To"}.isdisjoint(parsed)
    body = parsed.get_body(("plain",))
    if text:
        assert body is not None
        assert _lines(body.get_content()) == _lines(text.replace("\x00", "\u2400"))


def _lines(text: str) -> list[str]:
    return re.split(r"\r\n|\r|\n", text.rstrip("\r\n"))


@pytest.mark.parametrize(
    ("sender", "shown"),
    [
        ("reports@example.com", ""),
        ("Reports <reports@example.com>", "Reports"),
        ('"Doe, Jane" <reports@example.com>', "Doe, Jane"),
        ("Doe, Jane <reports@example.com>", "Doe, Jane"),
        ("Zoë 报告 <reports@example.com>", "Zoë 报告"),
        ("=?utf-8?q?evil?= <reports@example.com>", "=?utf-8?q?evil?="),
        (f"{'long ' * 60}<reports@example.com>", ("long " * 60).strip()),
    ],
)
def test_the_sender_is_shown_as_it_was_named(sender: str, shown: str) -> None:
    raw = email.message_from_bytes(letter(replace(MESSAGE, sender=sender)).mail)["From"]
    # Read by the older of the standard library's two ways: the newer keeps blanks between encoded words of a name.
    name, address = parseaddr(raw)
    assert str(make_header(decode_header(name))) == shown
    assert address == "reports@example.com"


def test_what_looks_like_an_encoded_word_is_shown_as_it_was_written() -> None:
    subject = "=?utf-8?b?QmNjOiBldmlsQGV4YW1wbGUuY29t?="
    assert read_mail(replace(MESSAGE, subject=subject))["Subject"] == subject


def test_a_long_header_for_software_stays_in_one_piece() -> None:
    link = f"<https://example.com/u/{'a' * 300}>"
    assert f"List-Unsubscribe: {link}\r\n".encode() in letter(replace(MESSAGE, headers={"List-Unsubscribe": link})).mail


def test_the_mark_is_of_all_that_the_message_is() -> None:
    others = (
        {"to": "bob@example.com"},
        {"subject": "Other"},
        {"text": "Other"},
        {"html": "<p></p>"},
        {"sender": "other@example.com"},
        {"tags": {"intent": "18", "generation": "1"}},
        {"prepared_at": datetime(2026, 12, 1, 6, 0, 1, tzinfo=UTC)},
    )
    marks = {letter(MESSAGE).id, *(letter(replace(MESSAGE, **other)).id for other in others)}
    assert len(marks) == len(others) + 1
    assert letter(replace(MESSAGE)).id in marks


@pytest.mark.parametrize("header", ["Message-ID", "message-id"])
def test_the_message_id_is_ours_to_set(header: str) -> None:
    with pytest.raises(Unsendable, match="invalid_header"):
        frozen_letter(replace(MESSAGE, headers={header: "<x@example.com>"}))


def test_a_message_that_nobody_dated_is_not_sent_with_a_guess() -> None:
    with pytest.raises(Unsendable, match="invalid_data"):
        frozen_letter(replace(MESSAGE, prepared_at=None))


def test_a_message_beyond_any_servers_size_is_refused_before_it_is_kept() -> None:
    with pytest.raises(Unsendable, match="too_large"):
        frozen_letter(replace(MESSAGE, text="x" * 10_000_001))


@pytest.mark.parametrize(
    "envelope",
    [
        b"MAIL FROM:<a@example.com>\r\nRCPT TO:<b@example.com>\r\nRCPT TO:<c@example.com>\r\n\r\n",
        b"MAIL FROM:<a@example.com>\r\nRCPT TO:<b@example.com> SIZE=1\r\n\r\n",
        b"MAIL FROM:<a@example.com>\nRCPT TO:<b@example.com>\r\n\r\n",
        b"MAIL FROM:<>\r\nRCPT TO:<b@example.com>\r\n\r\n",
        b"MAIL FROM:<a@example.com>\r\nRCPT TO:<b@exa mple.com>\r\n\r\n",
        b"",
    ],
)
def test_an_envelope_that_is_not_ours_is_not_spoken(envelope: bytes) -> None:
    assert read_letter(envelope + letter(MESSAGE).mail) is None

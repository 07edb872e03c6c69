"""One bare mailbox comes through; everything else is refused by a sentence that never repeats it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from notifications.policy.recipients import _PLAIN, InvalidAddress, _examined, mask, normalise_address


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("ana@example.com", "ana@example.com"),
        ("  ana@example.com \t", "ana@example.com"),
        ("Ana.Silva+x@Example.COM", "Ana.Silva+x@example.com"),
        ("o'neil@example.com", "o'neil@example.com"),
        ("ana@bücher.example.com", "ana@xn--bcher-kva.example.com"),
        ("a" * 64 + "@example.com", "a" * 64 + "@example.com"),
        ("ana@sub-domain.example.com", "ana@sub-domain.example.com"),
    ],
)
def test_a_bare_mailbox_is_trimmed_and_its_domain_written_in_lower_ascii(text: str, address: str) -> None:
    assert normalise_address(text) == address


REFUSED = [
    '<a href="x">spambot</a>',
    '"Doe, Jane" <j@example.com>',
    "Jane <j@example.com>",
    '"j k"@example.com',
    "a@example.com, c@example.com",
    "a@example.com;c@example.com",
    "a@example.com\nBcc: x@example.com",
    "a@example.com\r",
    "a b@example.com",
    "a@b",
    "a@example..com",
    "a@.example.com",
    "a@example.com.",
    "a@-x.example.com",
    "a@exam_ple.com",
    "a@127.0.0.1",
    "a@[127.0.0.1]",
    ".a@example.com",
    "a..b@example.com",
    "a.@example.com",
    "@acme.example.com",
    "a@",
    "a@@example.com",
    "a@b@example.com",
    "ana",
    "",
    "   ",
    None,
    7,
    b"a@example.com",
    ["a@example.com"],
    "a" * 65 + "@example.com",
    "a" * 400 + "@example.com",
    "a@" + "b" * 64 + ".com",
    "a@" + ".".join(["b" * 60] * 5),
    "аna@example.com",
    "a\x00@example.com",
    "a\u2028@example.com",
    "a\ud800@example.com",
    "a@exa\u200bmple.com",
    "mailto:a@example.com",
]


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: repr(text)[:40])
def test_anything_else_is_refused_by_a_sentence(text: object) -> None:
    with pytest.raises(InvalidAddress) as refusal:
        normalise_address(text)
    assert refusal.value.reason.endswith(".")
    assert not isinstance(text, str) or len(text) < 5 or text not in refusal.value.reason


@settings(deadline=None)
@given(st.text(max_size=80) | st.emails() | st.builds("{}@{}".format, st.text(max_size=70), st.text(max_size=70)))
def test_what_comes_through_is_stable_and_safe(text: str) -> None:
    try:
        address = normalise_address(text)
    except InvalidAddress:
        return
    assert normalise_address(address) == address
    assert address.isascii()
    assert address.isprintable()
    assert address.count("@") == 1
    assert len(address) <= 254
    assert not set(address) & set(' ,;:<>()"\\')


@pytest.mark.slow
@settings(deadline=None, max_examples=300)
@given(st.from_regex(_PLAIN, fullmatch=True))
def test_what_the_short_way_takes_the_long_one_gives_back_unchanged(address: str) -> None:
    assert _examined(address) == address == normalise_address(address)


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("jane@example.com", "j•••@e•••.com"),
        ("j@e.co.uk", "j•••@e•••.uk"),
        ("jane@localhost", "j•••@l•••"),
        ("jane", "j•••"),
        ("", "•••"),
        ("@", "•••@•••"),
        ("jane@example.<b>", "j•••@e•••.•••"),
        ("\x1bjane@example.com", "•••@e•••.com"),
    ],
)
def test_people_see_the_first_letters_only(address: str, shown: str) -> None:
    assert mask(address) == shown


@settings(deadline=None)
@given(st.emails())
def test_a_masked_address_holds_neither_name_nor_domain(address: str) -> None:
    local, _, domain = address.rpartition("@")
    shown = mask(address)
    assert len(local) < 2 or local not in shown
    assert domain not in shown

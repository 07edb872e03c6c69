"""An address that is called has one form only; everything else is refused by a sentence that never repeats it."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from notifications.policy.endpoints import address_for, called_address, is_called
from notifications.policy.recipients import InvalidAddress, mask
from notifications.providers.base import Unsendable
from notifications.providers.webhook_message import endpoint

TAKEN = (
    "https://hooks.example.com/in",
    "https://hooks.example.com",
    "https://hooks.example.com?shop=7",
    "https://hooks.example.com:8443/a/b;c=d,e/(x)!$&'*+~_.-?x=1&y=%C3%A9?z",
    "http://erp/in",
    "http://127.0.0.1:8000/",
    "https://[2001:db8::1]:65535/in",
    "https://xn--bcher-kva.example.com/",
)
REFUSED = (
    *("", " ", "shop.example.com/in", "//shop.example.com", "ftp://shop.example.com", "HTTPS://shop.example.com"),
    *("https://", "https:///in", "https://Shop.example.com", "https://shop..example.com", "https://.example.com"),
    *("https://-a.example.com", "https://a-.example.com", "https://shop.example.com.", "https://bücher.example.com"),
    *("https://user@shop.example.com", "https://user:pass@shop.example.com", "https://shop.example.com/@ana"),
    *("https://shop.example.com/#x", "https://shop.example.com/a b", "https://shop.example.com/%zz"),
    *("https://shop.example.com/%4", 'https://shop.example.com/"', "https://shop.example.com/\\in"),
    *("https://shop.example.com:0/", "https://shop.example.com:65536", "https://shop.example.com:/in"),
    *("https://shop.example.com:080", "https://shop.example.com:x", "https://[::1", "https://[x]/"),
    *("https://shop.example.com/\r\nHost: x", "https://shop.example.com/\n", "https://shop.example.com/\x00"),
    *("https://shop.example.com/é", "https://shop.example.com/\u0661", "https://a_b.example.com", "ana@example.com"),
    "https://shop.example.com/" + "a" * 1000,
)


@pytest.mark.parametrize("text", TAKEN)
def test_what_is_taken_is_kept_letter_by_letter(text: str) -> None:
    assert called_address(f" {text} ") == text == endpoint(text)


@pytest.mark.parametrize("text", REFUSED, ids=ascii)
def test_anything_else_is_refused_by_a_sentence_that_does_not_repeat_it(text: str) -> None:
    with pytest.raises(InvalidAddress) as refusal:
        called_address(text)
    assert refusal.value.reason.endswith(".")
    assert len(text) < 12 or text not in refusal.value.reason
    with pytest.raises(Unsendable):
        endpoint(text)


@pytest.mark.parametrize("value", [None, 7, b"https://hooks.example.com", ["https://hooks.example.com"]])
def test_what_is_no_text_is_no_address(value: object) -> None:
    with pytest.raises(InvalidAddress, match="must be text"):
        called_address(value)


WORDS = (
    "https://",
    "http",
    "a.b",
    "-",
    "/",
    "?",
    "#",
    "@",
    ":",
    "[",
    "]",
    "8",
    "65535",
    "%",
    "%41",
    ";",
    "é",
    ".",
    "x",
)
PARTS = st.lists(st.sampled_from(WORDS), max_size=9)


@given(PARTS.map("".join) | PARTS.map(lambda parts: "https://" + "".join(parts)) | st.text(max_size=60))
@example("https://[::1]:1?")
def test_the_intake_and_the_adapter_take_the_same(text: str) -> None:
    try:
        address = called_address(text)
    except InvalidAddress:
        with pytest.raises(Unsendable):
            endpoint(text.strip(" "))
        return
    assert endpoint(address) == address == called_address(address)


def test_a_channels_name_says_what_its_addresses_are() -> None:
    assert [is_called(channel) for channel in ("webhook", "webhook-erp", "email", "webhooks", "")] == [
        *(True, True, False, False, False)
    ]
    assert address_for("webhook-erp", "https://erp.example.com/") == "https://erp.example.com/"
    assert address_for("email", "ana@EXAMPLE.com") == "ana@example.com"
    for channel, address in (("webhook", "ana@example.com"), ("email", "https://erp.example.com/")):
        with pytest.raises(InvalidAddress):
            address_for(channel, address)


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("https://hooks.example.com/in?token=7", "https://h•••.com"),
        ("http://erp/in", "http://e•••"),
        ("https://hooks.example.com?token=7", "https://h•••.com"),
        ("https://user:pass@hooks.example.com/", "https://h•••.com"),
        ("javascript://example.com/in", "j•••"),
    ],
)
def test_people_see_no_path_of_it(address: str, shown: str) -> None:
    assert mask(address) == shown

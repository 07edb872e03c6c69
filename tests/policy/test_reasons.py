"""A reason is kept for ever: one rule for all doors that take one."""

from __future__ import annotations

import pytest

from notifications.policy.reasons import fault, is_personal, one_line


@pytest.mark.parametrize(
    "text",
    [
        "ask ana@example.com about it",
        "ana\uff20example\u3002com said so",
        "call +49 30 123456 first",
        "\uff0b8613800138000 said so",
    ],
)
def test_addresses_and_phone_numbers_are_noticed_as_every_keyboard_writes_them(text) -> None:
    assert is_personal(text)
    assert fault(text) == "personal"


@pytest.mark.parametrize("text", ["", "too short", "x" * 501, "a line that turns \u202e around"])
def test_what_is_too_short_too_long_or_unprintable_is_refused(text) -> None:
    assert fault(text) == "length"


@pytest.mark.parametrize(
    "text",
    [
        "x" * 10,
        "x" * 500,
        "Restored Tuesday's backup; 3 + 4 reports.",
        "\u4ece\u5468\u4e8c\u7684\u5907\u4efd\u4e2d\u6062\u590d\u6570\u636e\u5e93",
    ],
)
def test_a_plain_reason_is_kept(text) -> None:
    assert fault(text) is None


def test_line_breaks_become_blanks() -> None:
    assert one_line("  Restored\n\tfrom  a backup. ") == "Restored from a backup."
    assert one_line(None) == ""

"""Numbers that the verbs of `manage.py notify` take: what is out of bounds is refused with the bounds."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

import pytest

from notifications.management.commands.notify import VERBS, module_of
from tests.intake.notify_cli import notify

pytestmark = pytest.mark.django_db(databases=["default", "owner"])
LARGEST = "9,223,372,036,854,775,807"
WHY = ("--reason", "The shop's own client.")
# Verb with its number's name → what the refusal must say.
NUMBERS: dict[tuple[str, str], tuple[tuple[str, ...], str]] = {
    ("tail", "lines"): (("--lines",), "from 0 to 10,000"),
    ("outcomes", "after"): (("--after",), f"from 0 to {LARGEST}"),
    ("outcomes", "lines"): (("--lines",), f"from 1 to {LARGEST}"),
    ("runs", "run"): (("show",), f"from 1 to {LARGEST}"),
    ("resume", "pause"): (("--reason", "It is over by now."), f"from 1 to {LARGEST}"),
    ("endpoint", "after"): (("create", "shop", "--after"), f"from 0 to {LARGEST}"),
    ("demo", "give_up_after"): (("--give-up-after",), "from 1 to 3,600"),
    ("receipts", "most"): (("catch-up", "--most"), "from 1 to 100,000"),
    ("receipts", "hours"): (("catch-up", "--hours"), "above 0 and at most 720"),
    ("token", "per_minute"): (
        ("create", "shop", "--scope", "read", "--workspace", "", *WHY, "--per-minute"),
        "1 to 1,000,000",
    ),
    ("token", "expires_in_days"): (
        ("create", "shop", "--scope", "read", "--workspace", "", *WHY, "--expires-in-days"),
        "above 0 and at most 36500",
    ),
}


def numbers_of(verb: str) -> set[tuple[str, str]]:
    parser: Any = ArgumentParser()
    module_of(verb).add_arguments(parser)
    return {(verb, action.dest) for action in parser._actions if action.type in (int, float)}


def test_every_number_of_every_verb_stands_in_the_table() -> None:
    assert set[tuple[str, str]]().union(*(numbers_of(verb) for verb in VERBS)) == set(NUMBERS)


@pytest.mark.parametrize("given", ["-5", str(10**30)])
@pytest.mark.parametrize("number", NUMBERS, ids=" ".join)
def test_a_number_out_of_bounds_is_refused_with_its_bounds(number: tuple[str, str], given: str) -> None:
    words, allowed = NUMBERS[number]
    answer = notify(number[0], *words, given)
    assert (answer.code, answer.out) == (1, "")
    assert allowed in answer.err
    assert "Traceback" not in answer.err


def test_no_line_at_all_is_a_number_of_lines_for_tail() -> None:
    assert notify("tail", "-n", "0").out == ""
    assert notify("outcomes", "-n", "0").code == 1

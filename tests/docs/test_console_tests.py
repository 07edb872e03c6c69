"""docs/console-tests.md: thirty sentences, each with tests that exist in the file that it names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROWS = re.findall(r"^\| (\d+) \| ([^|]+) \| ([^|]+) \|$", (ROOT / "docs/console-tests.md").read_text(), re.MULTILINE)


def test_it_has_the_thirty_in_their_order() -> None:
    assert [int(number) for number, _said, _tests in ROWS] == list(range(1, 31))


@pytest.mark.parametrize(("number", "said", "tests"), ROWS, ids=[number for number, *_rest in ROWS])
def test_the_tests_of_a_sentence_exist(number: str, said: str, tests: str) -> None:
    named = re.findall(r"`([\w.]+)::(\w+)`", tests)
    assert named, f"{number}: {said}"
    assert tests.count("`") == 2 * len(named)
    for file, test in named:
        places = list((ROOT / "tests").rglob(file))
        assert any(f"def {test}(" in place.read_text() for place in places), f"{number}: {file} has no {test}"

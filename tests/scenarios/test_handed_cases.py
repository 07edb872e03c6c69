"""docs/handed-cases.md, docs/guarantees.md and docs/failure-windows.md name only tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROWS = re.findall(
    r"^\| (H-[A-Z]+-\d) \|.*\| (.+?) \| passes", (ROOT / "docs/handed-cases.md").read_text(), re.MULTILINE
)


@pytest.mark.parametrize(("case", "tests"), ROWS, ids=[case for case, _ in ROWS])
def test_the_tests_that_a_handed_case_names_exist(case: str, tests: str) -> None:
    named = re.findall(r"`([^`:]+)::(\w+)`", tests)
    assert named
    for path, test in named:
        assert f"def {test}(" in (ROOT / path).read_text(), f"{case}: {path} has no {test}"


def test_every_handed_case_that_a_delivery_test_names_is_in_the_table() -> None:
    texts = [
        path.read_text() for folder in ("delivery", "cluster") for path in (ROOT / "tests" / folder).glob("test_*.py")
    ]
    told = {case for text in texts for case in re.findall(r"H-[A-Z]+-\d", text)}
    assert told <= {case for case, _ in ROWS}


def test_the_safeguards_of_the_guarantees_are_shown_by_tests_that_exist() -> None:
    known = "".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    named = re.findall(r"`(test_\w+)`", (ROOT / "docs/guarantees.md").read_text())
    assert len(named) >= 16
    assert [test for test in named if f"def {test}(" not in known] == []


def test_every_failure_window_is_played_by_tests_that_exist() -> None:
    known = "".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    rows = re.findall(r"^\| ([^|]+) \| [^|]+ \| ([^|]+) \|$", (ROOT / "docs/failure-windows.md").read_text(), re.M)
    windows = {window: re.findall(r"`(test_\w+)`", tests) for window, tests in rows if window not in ("window", "--")}
    assert len(windows) >= 40
    assert [window for window, tests in windows.items() if not tests] == []
    named = {test for tests in windows.values() for test in tests}
    assert [test for test in named if f"def {test}(" not in known] == []

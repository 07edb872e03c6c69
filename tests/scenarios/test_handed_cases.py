"""docs/handed-cases.md, docs/guarantees.md and docs/failure-windows.md name only tests that exist."""

from __future__ import annotations

import re
from collections import defaultdict
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


# Each interruption that the design of delivery names, by the words of the page: none may drop out of it unseen.
WINDOWS = (
    "the worker dies before its claim commits", "the claim's COMMIT gets no answer",
    "it dies after the claim, before the connection", "refused, unknown host, no connection", "written, then reset",
    "it dies after the provider accepted", "answered, and the database is away", "answered, and its disk is full",
    "the lease runs out while the call runs", "a stale worker writes back", "frozen between claim and call",
    "frozen during the call", "a stall inside the claim", "409, the same request still runs",
    "409, other content under the key", "429, too fast", "429, the day's quota", "429, the month's quota",
    "5xx before or after acceptance", "the key's window is over, nothing known", "the window is over, with evidence",
    "the look-up finds it", "the look-up does not find it", "the look-up is not available",
    "the look-up lies, or sees another team's list", "accepted, and never confirmed", "two ids for one key",
    "receipts lost", "receipts doubled or shuffled", "receipts forged or replayed", "receipts too early",
    "a failover loses its tail, a backup is restored", "a host's clock is wrong, or steps", "many ticks at once",
    "a frozen cluster", "an orphaned cluster", "a powered-off host", "a host parted from the database",
    "a poison message", "two operators at once", "a double click", "a wrong address",
    "a deploy or a changed template between two attempts", "another site mode between two attempts",
)  # fmt: skip


def test_every_failure_window_is_played_by_tests_that_exist() -> None:
    rows = re.findall(r"^\| ([^|]+) \| [^|]+ \| ([^|]+) \|$", (ROOT / "docs/failure-windows.md").read_text(), re.M)
    windows = {window: re.findall(r"`(test_\w+)`", tests) for window, tests in rows if window not in ("window", "--")}
    assert set(WINDOWS) <= set(windows)
    assert [window for window, tests in windows.items() if not tests] == []
    # One of that name and no more: with two it would not be said which of them is meant.
    places = defaultdict(list)
    for path in (ROOT / "tests").rglob("test_*.py"):
        for name in re.findall(r"^(?:async )?def (test_\w+)\(", path.read_text(), re.M):
            places[name].append(path.name)
    named = {test for tests in windows.values() for test in tests}
    assert {test: places[test] for test in named if len(places[test]) != 1} == {}

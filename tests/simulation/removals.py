"""Removing safeguards one by one: which checks notice, at which schedule; and the table of it in the docs.

`make safeguards` runs this file's test over all of them and rewrites the table.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from tests.simulation import kept
from tests.simulation.database import Database
from tests.simulation.faults import Coverage
from tests.simulation.safeguards import SAFEGUARDS
from tests.simulation.schedule import play

pytestmark = pytest.mark.django_db(transaction=True)
# A removal must be noticed within as many schedules as each run of the tests plays.
LIMIT: Final = 300
PAGE: Final = Path(__file__).parents[2] / "docs" / "guarantees.md"
HEAD: Final = "| safeguard | removed: | caught by | at schedule |\n| -- | -- | -- | -- |\n"
_ROW: Final = re.compile(r"\| (.+) \| (.+) \| (`.+`) \| (\d+) \|")


class Catch(NamedTuple):
    """Which checks noticed, and at which schedule, counted from 1."""

    checks: str
    schedule: int


def caught(database: Database, number: int) -> Catch | None:
    """Play schedules without one safeguard until a promise is broken; None where none was within the limit."""
    one = SAFEGUARDS[number]
    with one.removal(database):
        for seed in range(LIMIT):
            outcome = play(database, seed, Coverage(), f"s{number}", restores=one.restores, weather=one.weather)
            # An error of our own would be seen in production too, but it is not the harm.
            checks = {one.check for one in outcome.violations} - {"unexpected_error"}
            if checks:
                return Catch(", ".join(f"`{check}`" for check in sorted(checks)), seed + 1)
    return None


@pytest.mark.parametrize("number", range(len(SAFEGUARDS)), ids=[one.name for one in SAFEGUARDS])
def test_each_removal_is_caught(simulated: Database, number: int) -> None:
    catch = caught(simulated, number)
    assert catch is not None, f"nothing noticed within {LIMIT} schedules that this is gone: {SAFEGUARDS[number].name}"
    (kept.run_folder() / f"removal-{number}.json").write_text(json.dumps(catch), encoding="utf-8")
    catches = _all_catches()
    if catches is not None:  # whichever process ends last writes the page
        write_table(catches)


def rows_of(page: str) -> list[tuple[str, str, str, str]]:
    """Give the rows of the page's table."""
    _, _, after = page.partition(HEAD)
    rows = []
    for line in after.splitlines():
        found = _ROW.fullmatch(line)
        if found is None:
            break
        rows.append((found[1], found[2], found[3], found[4]))
    return rows


def write_table(catches: list[Catch]) -> None:
    """Put what was found into the page, instead of the table that stands there."""
    page = PAGE.read_text(encoding="utf-8")
    before, head, after = page.partition(HEAD)
    assert head, f"{PAGE.name} has no table to replace"
    rest = "".join(line for line in after.splitlines(keepends=True) if not _ROW.fullmatch(line.rstrip("\n")))
    rows = [
        f"| {one.name} | {one.removed} | {catch.checks} | {catch.schedule} |\n"
        for one, catch in zip(SAFEGUARDS, catches, strict=True)
    ]
    PAGE.write_text(before + head + "".join(rows) + rest, encoding="utf-8")


def _all_catches() -> list[Catch] | None:
    paths = [kept.run_folder() / f"removal-{number}.json" for number in range(len(SAFEGUARDS))]
    if not all(path.exists() for path in paths):
        return None
    return [Catch(*json.loads(path.read_text(encoding="utf-8"))) for path in paths]

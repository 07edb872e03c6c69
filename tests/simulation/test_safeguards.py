"""Each safeguard is needed: without it the simulation finds harm. Three by turns here, all by `make safeguards`."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from notifications.providers.base import Request, SendResult
from tests.simulation import removals
from tests.simulation.database import Database
from tests.simulation.faults import Call, Coverage
from tests.simulation.provider import Adapter
from tests.simulation.removing import put
from tests.simulation.safeguards import SAFEGUARDS
from tests.simulation.schedule import play

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
BASE = Path(__file__).parents[2]


def by_turns(count: int) -> list[int]:
    """Choose by the text of what is guarded: each change of the core has its own three."""
    text = hashlib.sha256()
    for pattern in ("delivery/*.py", "receipts/*.py", "sql/*_v1.sql"):
        for path in sorted((BASE / "notifications").glob(pattern)):
            text.update(path.read_bytes())
    first = int.from_bytes(text.digest()[:4], "big")
    return sorted((first + place * (len(SAFEGUARDS) // count)) % len(SAFEGUARDS) for place in range(count))


@pytest.mark.parametrize("number", by_turns(3))
def test_what_a_safeguard_prevents_happens_without_it(simulated: Database, number: int) -> None:
    assert removals.caught(simulated, number) is not None, SAFEGUARDS[number].name


def test_a_lie_of_the_provider_would_be_seen_if_it_were_not_excused(simulated: Database) -> None:
    """Of all that the oracle looks at, this alone no safeguard of ours prevents: so it is shown by itself."""
    real = Adapter._handled

    def unexcused(self: Adapter, call: Call, request: Request) -> tuple[SendResult, float]:
        answer = real(self, call, request)
        self.world.lied_about.clear()
        return answer

    with put(Adapter, "_handled", unexcused):
        found: set[str] = set()
        for seed in range(removals.LIMIT):
            found |= {one.check for one in play(simulated, seed, Coverage(), "l").violations}
            if "false_acceptance" in found:
                break
    assert "false_acceptance" in found


def test_the_page_tells_of_each_safeguard_and_what_caught_its_removal() -> None:
    page = (BASE / "docs" / "guarantees.md").read_text(encoding="utf-8")
    rows = removals.rows_of(page)
    assert [row[:2] for row in rows] == [(one.name, one.removed) for one in SAFEGUARDS]
    assert all(1 <= int(schedule) <= removals.LIMIT for _, _, _, schedule in rows)

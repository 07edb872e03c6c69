"""What a run leaves: seeds that failed, to be replayed; counts of what was taken; and what caught each removal."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from tests.simulation.faults import Coverage
from tests.simulation.schedule import Outcome

SEEDS: Final = Path(__file__).parent / "seeds"


def keep_seed(outcome: Outcome) -> Path:
    """Write a failing seed to a file that the tests replay from now on: commit it with the mend."""
    SEEDS.mkdir(exist_ok=True)
    path = SEEDS / f"{outcome.weather}-{outcome.seed}.json"
    found = [f"{one.check}: {one.detail}" for one in outcome.violations]
    path.write_text(
        json.dumps({"seed": outcome.seed, "weather": outcome.weather, "found": found}, indent=2) + "\n",
        encoding="utf-8",
    )
    return path


def kept_seeds() -> list[tuple[int, str]]:
    """Give the seeds that failed once, and in which weather."""
    said = [json.loads(path.read_text(encoding="utf-8")) for path in SEEDS.glob("*.json")]
    return sorted((one["seed"], one["weather"]) for one in said)


def told(outcome: Outcome) -> str:
    """Give a failed schedule as text: what broke, what happened, and what the database and the provider tell."""
    broken = [f"{one.check}: {one.detail}" for one in outcome.violations]
    return "\n".join(
        [f"schedule {outcome.seed} ({outcome.weather})", *broken, "", *outcome.trace[-400:], "", *outcome.story]
    )


def run_folder() -> Path:
    """Give a folder that all processes of this test run share, and no other run."""
    folder = Path(os.environ["NOTIFYOPS_HOME"]) / "simulation"
    folder.mkdir(exist_ok=True)
    return folder


def keep_counts(chunk: int, coverage: Coverage) -> None:
    """Write one chunk's counts; whole or not at all, since another process may be reading."""
    path = run_folder() / f"chunk-{chunk}.json"
    counts = {"schedules": coverage.schedules, "steps": coverage.steps, "taken": coverage.taken}
    counts |= {"points": coverage.points, "doubts": coverage.doubts}
    path.with_suffix(".new").write_text(json.dumps(counts), encoding="utf-8")
    path.with_suffix(".new").rename(path)


def counts_of_all(chunks: int) -> Coverage | None:
    """Give the counts of all chunks together; None while one is missing."""
    paths = [run_folder() / f"chunk-{chunk}.json" for chunk in range(chunks)]
    if not all(path.exists() for path in paths):
        return None
    together = Coverage()
    for one in _read(paths):
        counters = (Counter(one[name]) for name in ("taken", "points", "doubts"))
        together.add(Coverage(one["schedules"], one["steps"], *counters))
    return together


def _read(paths: list[Path]) -> Iterator[dict[str, Any]]:
    for path in paths:
        yield json.loads(path.read_text(encoding="utf-8"))

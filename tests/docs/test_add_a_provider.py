"""Whoever follows "Add a provider" has an adapter that passes the suite."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from notifications.providers.kinds import Kind
from tests.providers import test_conformance as suite
from tests.providers import test_conformance_content as content
from tests.providers.attempts import MESSAGE
from tests.providers.conformance import SITUATIONS, Candidate

PAGE = Path(__file__).resolve().parents[2] / "docs" / "add-a-provider.md"


def followed() -> dict[str, Any]:
    """Run the page's blocks one after the other, as one file."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 2
    made: dict[str, Any] = {"__name__": "pigeons"}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), made)  # noqa: S102 - the page is ours
    return made


MADE = followed()
CANDIDATE: Candidate = MADE["CANDIDATE"]


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Know the kind, as the page's entry makes it known."""
    monkeypatch.setattr(suite, "kinds", lambda: {"pigeon": MADE["KIND"]})


def test_the_page_makes_a_kind_and_scripts_every_situation() -> None:
    assert isinstance(MADE["KIND"], Kind)
    assert {trial.situation for trial in CANDIDATE.trials} == set(SITUATIONS)


@pytest.mark.parametrize("trial", CANDIDATE.trials, ids=str)
def test_each_situation_passes(trial: Any) -> None:
    suite.test_each_situation_has_its_truth_and_its_code_by_one_attempt(asyncio.run, CANDIDATE, trial)


def test_the_rest_of_the_suite_passes() -> None:
    suite.test_what_condemns_the_recipient_and_what_the_account_are_told_apart(CANDIDATE)
    suite.test_nobody_at_the_port_is_not_sent(asyncio.run, CANDIDATE)
    suite.test_the_last_check_is_asked_once_and_before_the_service_has_the_message(CANDIDATE)
    suite.test_a_stop_passes_through_and_sends_nothing(asyncio.run, CANDIDATE)
    suite.test_the_capabilities_are_declared_and_agree(CANDIDATE)
    content.test_the_same_message_gives_the_same_bytes_for_its_one_recipient(CANDIDATE, MESSAGE)
    content.test_another_generation_has_other_bytes(CANDIDATE)
    for mark in content.BREAKS:
        content.test_no_line_break_gets_into_a_header(CANDIDATE, mark, "subject", "invalid_subject")

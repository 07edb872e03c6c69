"""The case's story says which account took a notification over, in both languages."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.utils import translation

from notifications.models import LogEntry
from reviews import story

ENTRY = LogEntry(
    seq=3,
    at=datetime(2026, 12, 1, tzinfo=UTC),
    kind="failed_over",
    from_state="retry",
    to_state="retry",
    attempt=1,
    generation=2,
    detail={"from": "resend", "to": "spare", "from_id": 1, "to_id": 2, "why": "outage"},
)


@pytest.mark.parametrize(
    ("language", "what", "aside"),
    [
        ("en", "Taken over by another account", "from resend to spare: nothing of it had left"),
        ("zh-hans", "由另一账户接手", "从 resend 到 spare：此前没有任何内容发出"),
    ],
)
def test_the_story_names_both_accounts(language: str, what: str, aside: str) -> None:
    with translation.override(language):
        (line,) = story.lines([ENTRY])
        assert (str(line.what), str(line.aside)) == (what, aside)

"""`notify explain`: the story in words, every entry and every suggestion, and a new key where there is one."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

from notifications.cli import seed
from notifications.states import EntryKind, NextAction, Outcome, State
from reviews.suggestions import NEXT_ACTIONS
from tests.intake.notify_cli import notify
from tests.reviews import cases

pytestmark = [pytest.mark.django_db(databases=["default", "owner"]), pytest.mark.role("owner")]
SQL = (Path(__file__).parents[2] / "notifications/sql/contract.sql").read_text("utf-8")
EXPLAIN = SQL[SQL.index("CREATE FUNCTION notifyops.explain(") :]
BODY = b'{"subject": "Q3"}'
ORDERED = seed.Step(EntryKind.RETRIED, {"to_state": State.RETRY, "delay_s": 0.0, "reason_code": "provider_recovered"})
ANEW = (
    *cases.SOFT,
    ORDERED,
    seed.Step(EntryKind.RE_PREPARED),
    seed.Step(EntryKind.CLAIMED, {"to_state": State.SENDING, "delay_s": 60.0, "body": BODY,
                                  "detail": {"sha256": hashlib.sha256(BODY).hexdigest()}}),
)  # fmt: skip


@pytest.mark.parametrize("kind", EntryKind)
def test_every_kind_of_entry_has_a_sentence(kind: EntryKind) -> None:
    assert re.search(rf"WHEN '{kind}'\s+THEN ", EXPLAIN)
    assert "replace(l.kind" not in EXPLAIN


@pytest.mark.parametrize("action", NextAction)
def test_the_first_suggestion_is_in_the_consoles_words(action: NextAction) -> None:
    found = re.search(rf"WHEN '{action}' THEN '([^']+)'", EXPLAIN)
    assert found
    said = str(NEXT_ACTIONS[action])
    assert found[1] == said[0].lower() + said[1:]


def test_a_new_key_is_named_where_it_begins_and_where_it_is_used() -> None:
    intent = cases.make_case(ANEW, "r-anew")
    told = notify("explain", intent.notification_id).out
    new = "prepared anew as generation 2, under the key report-ready/r-anew~g2"
    assert f"{new} (a second message to the provider, not a repeat)." in told
    assert "attempt 2 (manual) began on seed, under the key report-ready/r-anew~g2." in told
    assert "attempt 1 (auto) began on seed. pending" in told
    shown = notify("show", intent.notification_id).out
    assert re.search(r"^  generation +2$", shown, re.MULTILINE)
    assert re.search(r"claimed .* 2 +2\b", shown)


@pytest.mark.parametrize("steps", [cases.ABSENT, cases.SOFT, cases.WINDOW_OVER, cases.FOUND_TWICE, seed.lost_worker()])
def test_the_story_has_no_words_of_the_code_but_in_brackets(steps: tuple[seed.Step, ...]) -> None:
    for line in notify("explain", cases.make_case(steps).notification_id).out.splitlines():
        said = re.sub(r"\([^)]*\)", "", line.partition("now: ")[0].partition(": ")[2].partition(" → ")[0])
        assert not [kind for kind in EntryKind if "_" in kind and kind in said]
    asked = notify("explain", cases.make_case(cases.ABSENT).notification_id).out
    assert "suggested at first: ask the provider (query_provider)." in asked
    assert asked.endswith("suggested now: Retry: the provider was asked, and nothing forbids it.\n")


def test_outside_of_review_nothing_is_suggested() -> None:
    accepted = cases.make_case(seed.attempt(Outcome.ACCEPTED, None, State.ACCEPTED, http_status=200,
                                            provider_message_id="m-1"))  # fmt: skip
    assert "suggested" not in notify("explain", accepted.notification_id).out

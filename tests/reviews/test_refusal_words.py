"""A refusal on record says why, for every word that this code or the database's door can give."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from reviews import actions
from reviews.person import from_host
from reviews.refusal_words import REFUSALS
from reviews.refusals import NotAllowedNow
from tests.reviews import cases
from tests.reviews.cases import login, make_case, order

ROOT = Path(__file__).parents[2]
# Nobody's form leads there: these guard what workers and chores append.
NOT_A_PERSONS = {
    *("lease_live", "not_expired", "other_id", "not_due", "not_restored", "set_aside"),
    *("no_fallback", "was_there", "account_works"),
}


def said() -> set[str]:
    """Give the words of the code's refusals, and those of the door's rarer guards."""
    words = set()
    for path in (ROOT / "reviews").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.keyword) and node.arg == "word" and isinstance(node.value, ast.Constant):
                words.add(str(node.value.value))
            if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "word":
                words |= {str(node.value.value)} if isinstance(node.value, ast.Constant) else set()
    guards = (ROOT / "notifications/sql/barred_v1.sql").read_text(encoding="utf-8")
    return words | set(re.findall(r"THEN\s+'([a-z_]+)'", guards)) - NOT_A_PERSONS


def test_every_word_of_refusal_has_its_sentence() -> None:
    words = said()
    assert {"site_mode", "evidence_used", "not_permitted", "changed"} <= words
    assert sorted(words - set(REFUSALS)) == []


@pytest.mark.django_db(databases=["default", "owner"])
@pytest.mark.role("owner")
def test_the_page_and_the_terminal_say_why_somebody_was_refused() -> None:
    intent = make_case(cases.WINDOW_OVER)
    with pytest.raises(NotAllowedNow):
        actions.perform("adopt", intent.pk, order(intent, "evidence_found"), from_host())
    html = login("vera").get(f"/reviews/{intent.pk}/").content.decode()
    assert re.search(r"refused</span>.*?<p>The provider had not said what this needs\.</p>", html, re.DOTALL)

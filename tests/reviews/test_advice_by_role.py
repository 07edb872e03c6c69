"""Suggestion, mark and offered actions agree, for each kind of case and each kind of reader."""

from __future__ import annotations

import html as entities
import re
from typing import Any

import pytest

from notifications.cli import seed
from notifications.models import Intent
from notifications.policy.causes import action_of
from notifications.policy.cures import CURES
from notifications.states import EntryKind, Found, Known, NextAction, State
from reviews.suggestions import ASK_AND_WAIT, ASK_TO, NEXT_ACTIONS, SUGGESTIONS
from tests.reviews import cases
from tests.reviews.cases import login, make_case
from tests.reviews.deciding import decide

pytestmark = [pytest.mark.django_db(databases=["default", "owner"]), pytest.mark.role("owner")]
FOUND = (*cases.WINDOW_OVER, seed.evidence(Found.FOUND, "id-1"))
# The verb of each sentence; None: no verb of the console settles it yet, or somebody else's does.
VERBS: dict[str, str | None] = {
    **{str(said): verb for verb, said in SUGGESTIONS.items() if verb in ("retry", "adopt", "approve", "close", "wait")},
    str(SUGGESTIONS["mended"]): "retry",
    str(SUGGESTIONS["two_leads"]): None,
    str(NEXT_ACTIONS[NextAction.QUERY_PROVIDER]): "query",
    str(NEXT_ACTIONS[NextAction.RETRY_SAME_KEY]): "retry",
    str(NEXT_ACTIONS[NextAction.RETRY_NEW_KEY]): "retry",
    str(NEXT_ACTIONS[NextAction.ENQUEUE_ANEW]): "close",
    str(NEXT_ACTIONS[NextAction.CLOSE_DUPLICATE]): "close",
    str(NEXT_ACTIONS[NextAction.CORRECT_ADDRESS]): "correct",
    str(NEXT_ACTIONS[NextAction.FIX_CONFIG]): None,
    str(NEXT_ACTIONS[NextAction.FIX_CONTENT]): None,
    str(NEXT_ACTIONS[NextAction.FIND_CAUSE]): None,
    str(ASK_TO["correct"]): "wait",
    str(ASK_TO["approve"]): None,
    str(ASK_TO["adopt"]): None,
    str(ASK_AND_WAIT): "wait",
}
KINDS: dict[str, tuple[Any, dict[str, Any]]] = {
    **{name: (steps, {}) for name, steps in (
        ("unknown", cases.UNKNOWN), ("window over", cases.WINDOW_OVER), ("not sent", cases.NOT_SENT),
        ("recipient", cases.RECIPIENT), ("conflict", cases.CONFLICT), ("absent", cases.ABSENT),
        ("undecided", cases.UNDECIDED), ("found", FOUND), ("two messages", cases.FOUND_TWICE),
        ("bounced", cases.BOUNCED), ("complained", cases.COMPLAINED), ("suppressed", cases.SUPPRESSED),
        ("soft bounced", cases.SOFT), ("worker lost", seed.lost_worker()),
    )},
    "approval": ((), {"type": "report_approved"}),
}  # fmt: skip


def of_code(code: str) -> tuple[seed.Step, ...]:
    """Give what stopped before an attempt with one of our own codes."""
    facts = {"to_state": State.NEEDS_REVIEW, "code": code, "known": Known.INVALID}
    return (seed.Step(EntryKind.INVALID, facts | {"next_action": action_of(code) or NextAction.ASK_LEAD}),)


def page(intent: Intent, who: str) -> str:
    return entities.unescape(login(who).get(f"/reviews/{intent.pk}/").content.decode())


def check(intent: Intent, who: str) -> None:
    html = page(intent, who)
    found = re.search(r"Suggested</span> <b>([^<]*)</b>", html)
    assert found is not None, (who, intent.error_code)
    said = found[1]
    marked = re.findall(r'<h3 id="h-(\w+)">.*</svg> [^<]+ <span class="tag">recommended', html)
    offered = re.findall(r'<form method="post" action="/reviews/\d+/(\w+)" class="verb', html)
    if who == "vera":
        assert (marked, offered) == ([], [])
        assert said.startswith(("For others to decide: ", "Ask a lead")) or VERBS[said] is None, said
        return
    verb = VERBS[said]
    assert marked == ([verb] if verb else []), (who, intent.error_code, said)
    assert set(marked) <= set(offered), (who, intent.error_code, said)
    if who == "lena":
        assert "sk a lead" not in said
    for asked, words in ASK_TO.items():
        assert said != str(words) or asked not in offered


@pytest.mark.parametrize("who", ["olga", "lena", "vera"])
@pytest.mark.parametrize(("steps", "story"), KINDS.values(), ids=KINDS)
def test_what_is_suggested_is_marked_and_offered(steps: Any, story: dict[str, Any], who: str) -> None:
    check(make_case(steps, **story), who)


def test_so_it_is_for_every_code_that_stops_a_case() -> None:
    for code in sorted(CURES):
        intent = make_case(of_code(code))
        for who in ("olga", "lena", "vera"):
            check(intent, who)


def test_a_complaint_is_closed_by_whoever_may() -> None:
    intent = make_case(cases.COMPLAINED)
    for who in ("olga", "lena"):
        assert re.search(r'id="h-close">.*recommended', page(intent, who))
    row = login("olga").get(f"/reviews/?q={intent.notification_id}").content.decode()
    assert "ask_lead" not in row[row.index("<tbody") : row.index("</tbody>")]


def test_a_lead_is_told_to_take_over_and_an_operator_to_have_a_lead_do_it() -> None:
    intent = make_case()
    decide("take", intent, "bob_lead", text="")
    lead, operator = page(intent, "lena"), page(intent, "olga")
    assert "ask them, wait for it, or take it over first." in lead
    assert 'action="/reviews/' + f'{intent.pk}/take_over"' in lead
    assert "have a lead take it over" not in lead
    assert "ask them, wait for it, or have a lead take it over." in operator
    assert f'action="/reviews/{intent.pk}/take_over"' not in operator

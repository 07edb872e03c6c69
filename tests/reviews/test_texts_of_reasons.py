"""Where a text is required: the form's word and the server's rule are one, for each verb and each of its reasons."""

from __future__ import annotations

import re
from typing import Any

import pytest

from notifications.cli import seed
from notifications.models import Intent
from reviews.models import HOLDING, VERBS
from reviews.reasons import CODE_OPTIONAL, CODES
from tests.reviews import cases
from tests.reviews.cases import login, make_case, post

pytestmark = [pytest.mark.django_db(databases=["default", "owner"]), pytest.mark.role("owner")]
HELD: dict[str, Any] = {"type": "report_approved"}
# A case in which the verb is allowed: its steps, what else its story needs, and what was decided before.
ALLOWED: dict[str, tuple[str, Any, dict[str, Any], str]] = {
    "retry": ("retry", cases.NOT_SENT, {}, ""),
    "risky retry": ("retry", cases.ABSENT, {}, ""),
    "undo": ("undo", cases.NOT_SENT, {}, "retry"),
    "query": ("query", cases.WINDOW_OVER, {}, ""),
    "adopt": ("adopt", cases.FOUND_TWICE, {}, ""),
    "approve": ("approve", (), HELD, ""),
    "close": ("close", cases.NOT_SENT, {}, ""),
    "reopen": ("reopen", cases.NOT_SENT, {}, "close"),
    "note": ("note", cases.NOT_SENT, {}, ""),
    "decline": ("decline", (), HELD, ""),
    "correct": ("correct", cases.BOUNCED, {}, ""),
    "resend": ("resend", cases.UNDECIDED, {}, ""),
    "wait": ("wait", cases.NOT_SENT, {}, ""),
    "resume": ("resume", cases.NOT_SENT, {}, "wait"),
    "withdraw": ("withdraw", cases.NOT_SENT, {}, ""),
    "unblock": ("unblock", cases.BOUNCED, {}, ""),
}
FIRST = {
    "retry": {"reason_code": "provider_recovered"},
    "close": {"reason_code": "duplicate"},
    "wait": {"minutes": "15"},
}
# What a verb asks for beside reason and text.
MORE = {"correct": {"address": "bea@example.com"}, "wait": {"minutes": "15"}}
SENTENCE = "needs a text of 10 to 500 characters"


def form_of(client: Any, intent: Intent, verb: str) -> str:
    html = client.get(f"/reviews/{intent.pk}/").content.decode()
    found = re.search(rf'<form method="post" action="/reviews/\d+/{verb}".*?</form>', html, re.DOTALL)
    assert found is not None
    return found[0]


def test_every_verb_is_looked_at() -> None:
    assert {verb for verb, *_ in ALLOWED.values()} == set(VERBS) - set(HOLDING)


@pytest.mark.parametrize(("verb", "steps", "story", "before"), ALLOWED.values(), ids=ALLOWED)
def test_the_form_and_the_server_want_a_text_in_the_same_places(verb, steps, story, before) -> None:
    client = login("lena")
    codes = [*CODES[verb], *([""] if verb in CODE_OPTIONAL else [])]
    for code in codes:
        if verb == "adopt":  # the same message cannot be two cases
            steps = (*cases.WINDOW_OVER, *seed.contradiction(f"id-{code}", f"other-{code}"))
        intent = make_case(steps, **story)
        if before:
            assert post(client, intent, before, **FIRST[before]).status_code == 303
            intent = Intent.objects.get(pk=intent.pk)
        form = form_of(client, intent, verb)
        always = bool(re.search(r'<textarea name="reason"[^>]* required data-always', form))
        asks = f'value="{code}" data-text' in form
        shown = verb in ("undo", "correct") or not code or f'value="{code}"' in form
        if verb == "retry" and not shown:  # a reason that cannot pass here
            continue
        more = {"typed": intent.report_id} if verb == "resend" else MORE.get(verb, {})
        response = post(client, intent, verb, reason_code=code, confirmed="yes", **more)
        refused = SENTENCE in response.content.decode()
        assert shown
        if verb == "undo":  # its form is one button: neither reason nor text can be given there
            assert "<textarea" not in form
            continue
        assert refused == (always or asks), (verb, code)
        assert response.status_code == (422 if refused else 303), (verb, code)


@pytest.mark.parametrize("code", ["recipient_gone", "cannot_be_fixed", "test_data"])
def test_a_refusal_for_want_of_a_text_keeps_the_reason_that_was_chosen(code) -> None:
    client, intent = login("olga"), make_case()
    response = post(client, intent, "close", reason_code=code, reason="too short")
    html = response.content.decode()
    assert response.status_code == 422
    assert f'<option value="{code}" data-text selected>' in html
    assert ">too short</textarea>" in html
    assert Intent.objects.get(pk=intent.pk).state == "needs_review"

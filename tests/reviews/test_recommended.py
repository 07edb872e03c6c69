"""What a case suggests, what it marks as recommended, which reasons it offers, and what a refused form keeps."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from notifications.cli import seed
from notifications.models import Intent, LogEntry, Question
from notifications.states import Found
from reviews import actions, evidence
from reviews.models import Review
from reviews.person import from_host
from reviews.refusals import NotAllowedNow
from tests.reviews import cases
from tests.reviews.cases import login, make_case, order, owner, post
from tests.reviews.test_asking import sure

pytestmark = [pytest.mark.django_db(databases=["default", "owner"]), pytest.mark.role("owner")]
FOUND = (*cases.WINDOW_OVER, seed.evidence(Found.FOUND, "id-1"))
ABSENT_IN_WINDOW = (*cases.UNKNOWN, seed.evidence(Found.NOT_FOUND))
SEVERAL = ["code_fixed", "configuration_fixed", "other", "owner_asked", "provider_recovered"]


def page(intent: Intent, who: str = "lena") -> str:
    return login(who).get(f"/reviews/{intent.pk}/").content.decode()


def recommended(html: str) -> list[str]:
    return re.findall(r'<h3 id="h-(\w+)">.*</svg> [^<]+ <span class="tag">recommended', html)


def offered(html: str) -> list[str]:
    form = re.search(r'<form [^>]*id="retry".*?</form>', html, re.DOTALL)
    assert form is not None
    return sorted(re.findall(r'<option value="(\w+)"', form[0]))


def asked_just_now(intent: Intent) -> None:
    Question.objects.using(owner()).create(
        intent=intent, account_id=intent.account_id, about="person", asked_at=timezone.now(), since=timezone.now()
    )


TABLE: dict[str, tuple[Any, str, list[str]]] = {
    "unknown, not asked": (cases.WINDOW_OVER, "Ask the provider", ["query"]),
    "absent": (cases.ABSENT, "Retry: the provider was asked, and nothing forbids it", ["retry"]),
    "found": (FOUND, "Adopt the provider&#x27;s answer", ["adopt"]),
    "two messages": (cases.FOUND_TWICE, "", ["adopt"]),
    "in the window, not asked": (cases.UNKNOWN, "Ask the provider", ["query"]),
    "not sent": (cases.NOT_SENT, "", ["retry"]),
    "complained": (cases.COMPLAINED, "Close it with what you know", ["close"]),
    "bounced": (cases.BOUNCED, "Correct the address", ["correct"]),
}


@pytest.mark.parametrize(("steps", "said", "marked"), TABLE.values(), ids=TABLE)
def test_what_is_suggested_is_what_is_marked(steps: Any, said: str, marked: list[str]) -> None:
    html = page(make_case(steps))
    assert recommended(html) == marked
    if said:
        assert re.search(rf"Suggested</span> <b>{re.escape(said)}</b>", html)


def test_after_an_answer_that_proves_nothing_something_is_marked_all_the_same() -> None:
    for steps, marked in ((cases.UNKNOWN, ["retry"]), (cases.UNDECIDED, ["wait"])):
        intent = make_case(steps)
        asked_just_now(intent)
        assert recommended(page(intent)) == marked
        Question.objects.using(owner()).filter(intent=intent).update(wanted_at=timezone.now(), wanted_by="x")
        assert recommended(page(intent)) == []  # the answer is about to come: it decides


@pytest.mark.parametrize(
    ("steps", "codes"),
    [
        (cases.NOT_SENT, SEVERAL),
        (cases.UNKNOWN, SEVERAL),
        (ABSENT_IN_WINDOW, sorted([*SEVERAL, "evidence_not_sent"])),
        (cases.ABSENT, ["evidence_not_sent"]),
    ],
)
def test_a_retry_offers_the_reasons_that_can_pass(steps: Any, codes: list[str]) -> None:
    assert offered(page(make_case(steps))) == codes


def test_a_refused_form_keeps_what_was_typed_and_ticked_but_for_a_case_that_has_moved() -> None:
    intent, client = make_case(cases.ABSENT), login("olga")
    typed = {"reason_code": "evidence_not_sent", "reason": "short", "confirmed": "yes"}
    answer = post(client, intent, "retry", **typed)
    html = answer.content.decode()
    assert answer.status_code == 422
    assert re.search(r'name="confirmed" value="yes" required checked', html)
    assert re.search(r'<option value="evidence_not_sent" selected', html)
    cases.go_on(intent, seed.evidence(Found.NOT_FOUND))
    answer = post(client, intent, "retry", **typed | {"reason": "The provider has no such message."})
    assert answer.status_code == 409
    assert re.search(r'name="confirmed" value="yes" required>', answer.content.decode())


def test_the_other_forms_keep_what_was_typed_too() -> None:
    client, undecided, old = login("lena"), make_case(cases.UNDECIDED), make_case(cases.WINDOW_OVER)
    html = post(client, undecided, "resend", typed="not it", reason="x", confirmed="yes").content.decode()
    assert 'value="not it"' in html
    assert re.search(r'name="confirmed" value="yes" required checked', html)
    html = post(client, old, "withdraw", reason_code="privacy_request", reason="x", erase="yes").content.decode()
    assert re.search(r'name="erase" value="yes" checked', html)


@pytest.mark.parametrize("steps", [cases.UNKNOWN, cases.ABSENT])
def test_a_retry_of_erased_bytes_that_may_be_out_is_refused_at_the_order(steps: Any) -> None:
    intent = make_case(steps)
    assert "retry" in recommended(page(intent)) or offered(page(intent))
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE notifyops_private.notifications_prepared SET body = NULL, subject = NULL WHERE intent_id = %s",
            [intent.pk],
        )
    html = page(intent)
    assert f'action="/reviews/{intent.pk}/retry"' not in html
    assert "Its frozen message was erased, and an attempt may have been accepted" in html
    with pytest.raises(NotAllowedNow, match="the same bytes cannot go out again") as refused:
        actions.perform("retry", intent.pk, sure(intent), from_host())
    assert refused.value.word == "bytes_erased"
    assert not LogEntry.objects.filter(intent_id=intent.pk, kind="retried").exists()


def test_erased_bytes_of_what_was_not_sent_are_prepared_anew_by_a_retry() -> None:
    intent = make_case(cases.NOT_SENT)
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE notifyops_private.notifications_prepared SET body = NULL, subject = NULL WHERE intent_id = %s",
            [intent.pk],
        )
    actions.perform("retry", intent.pk, order(intent, "code_fixed"), from_host())
    assert Intent.objects.get(pk=intent.pk).state == "retry"


@pytest.mark.parametrize("steps", [cases.NOT_SENT, cases.UNKNOWN, ABSENT_IN_WINDOW], ids=["sent", "asked", "stale"])
def test_evidence_that_is_not_there_is_no_reason_on_any_way(steps: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the form does not offer gets onto the record by no hand-made form and from no terminal."""
    monkeypatch.setattr(evidence, "FRESH", timedelta(0))
    intent = make_case(steps)
    assert "evidence_not_sent" not in offered(page(intent))
    answer = post(login("olga"), intent, "retry", reason_code="evidence_not_sent")
    assert answer.status_code == 422
    assert "is a reason only where the provider has said so" in answer.content.decode()
    with pytest.raises(CommandError, match=r"choose another reason\. \(--reason-code\)"):
        call_command("review", "retry", intent.notification_id, "--reason-code", "evidence_not_sent")
    assert Review.objects.filter(intent=intent, outcome="done").count() == 0


def test_a_missing_reason_names_the_option_at_the_terminal() -> None:
    intent = make_case(cases.NOT_SENT)
    with pytest.raises(CommandError, match=r"Choose a reason: .*\(--reason-code\)"):
        call_command("review", "retry", intent.notification_id)

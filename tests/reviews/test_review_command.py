"""`manage.py review`: the same rules and the same record as the console's, from a terminal."""

from __future__ import annotations

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from notifications.models import Intent, LogEntry
from reviews.models import Review
from tests.reviews import cases
from tests.reviews.cases import make_case

pytestmark = [pytest.mark.django_db(databases=["default", "owner"]), pytest.mark.role("owner")]


def review(*words: str) -> str:
    out = StringIO()
    call_command("review", *words, stdout=out, stderr=out)
    return out.getvalue()


def as_json(*words: str) -> Any:
    return json.loads(review(*words, "--json"))


def test_the_list_is_the_queue_in_its_order_and_takes_its_filters() -> None:
    make_case(cases.NOT_SENT, "late")
    make_case(cases.UNKNOWN, "soon")
    assert [row["report_id"] for row in as_json("list")] == ["soon", "late"]
    assert [row["report_id"] for row in as_json("list", "--code", "not_sent.refused")] == ["late"]
    assert "report-ready/late" in review("list", "--known", "not_sent")
    assert as_json("list", "--type", "report_once") == []


def test_a_cut_off_list_says_how_many_there_are() -> None:
    for _ in range(3):
        make_case()
    assert "2 of 3 cases; --limit shows more." in review("list", "--limit", "2")


def test_a_case_is_shown_by_its_id_with_what_may_be_done() -> None:
    make_case(cases.WINDOW_OVER, "r-1", workspace="acme")
    shown = as_json("show", "acme/report-ready/r-1", "--workspace", "acme")
    assert shown["allowed"] == ["query", "close", "wait", "withdraw", "note"]
    assert "needs evidence" in shown["forbidden"]["retry"]
    assert shown["recipient"] == "a•••@e•••.com"
    assert "forbidden" in review("show", "acme/report-ready/r-1", "--workspace", "acme")


def test_a_decision_is_recorded_under_the_host_and_printed_as_one_line() -> None:
    intent = make_case(report_id="r-1")
    line = review("retry", "report-ready/r-1", "--reason-code", "provider_recovered")
    assert line.strip() == "report-ready/r-1: Retry queued: one attempt, by the next free worker. State: retry."
    actor = Review.objects.get(intent_id=intent.pk).actor
    assert actor.startswith("cli:")
    assert LogEntry.objects.filter(intent_id=intent.pk, kind="retried", actor=actor).exists()
    assert as_json("undo", str(intent.pk))["state"] == "needs_review"


def test_closing_and_reopening_from_a_terminal_needs_reasons_as_everywhere() -> None:
    intent = make_case(report_id="r-1")
    with pytest.raises(CommandError, match="Choose a reason: delivered_elsewhere"):
        review("close", "report-ready/r-1")
    assert as_json("close", "report-ready/r-1", "--reason-code", "duplicate")["state"] == "closed"
    with pytest.raises(CommandError, match="needs a text"):
        review("reopen", "report-ready/r-1", "--reason-code", "other")
    review("reopen", "report-ready/r-1", "--reason-code", "other", "--reason", "It was no duplicate at all.")
    assert Intent.objects.get(pk=intent.pk).state == "needs_review"


def test_what_is_forbidden_is_refused_with_the_missing_precondition_and_recorded() -> None:
    intent = make_case(cases.BOUNCED, "r-1")
    with pytest.raises(CommandError, match="the same address fails again"):
        review("retry", "report-ready/r-1", "--reason-code", "owner_asked")
    assert Review.objects.get(intent_id=intent.pk).outcome == "refused"


def test_a_version_that_is_gone_is_refused() -> None:
    intent = make_case(report_id="r-1")
    with pytest.raises(CommandError, match="The case changed"):
        review("close", "report-ready/r-1", "--reason-code", "duplicate", "--seq", str(intent.seq - 1))


@pytest.mark.parametrize("words", [("show", "nobody/knows"), ("close", "123456789", "--reason-code", "duplicate")])
def test_an_unknown_key_is_a_sentence(words) -> None:
    with pytest.raises(CommandError, match="There is no such notification; check its ID and workspace"):
        review(*words)


def test_a_key_of_another_workspace_is_named_with_its_place() -> None:
    make_case(cases.NOT_SENT, "r-1", workspace="acme")
    key = Intent.objects.get().notification_id
    with pytest.raises(CommandError, match="there is one with --workspace 'acme'"):
        review("show", key)
    assert "r-1" in review("show", key, "--workspace", "acme")


@pytest.mark.parametrize(
    "words", [("list", "--limit", "0"), ("list", "--known", "maybe"), ("list", "--window", "wide")]
)
def test_a_filter_that_cannot_be_read_is_refused(words) -> None:
    with pytest.raises(CommandError, match="--"):
        review(*words)


def test_the_help_of_the_list_says_what_a_search_finds(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        call_command("review", "list", "--help")
    told = " ".join(capsys.readouterr().out.split())
    assert "--q Q only what has an ID or report ID that begins so" in told
    assert "only this q" not in told

"""`manage.py review` take, release, next, log, stats and views: the console's own functions, from a terminal."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from reviews.models import Hold, Review, SavedView
from reviews.person import from_host
from tests.reviews import cases
from tests.reviews.cases import make_case
from tests.reviews.deciding import decide

pytestmark = [pytest.mark.django_db(databases=["default", "owner"]), pytest.mark.role("owner")]


def review(*words: str) -> str:
    out = io.StringIO()
    call_command("review", *words, stdout=out, stderr=out)
    return out.getvalue()


def as_json(*words: str) -> Any:
    return json.loads(review(*words, "--json"))


def test_a_case_is_taken_given_back_and_taken_over_from_a_terminal() -> None:
    intent = make_case(report_id="r-1")
    assert "Taken: the case is yours" in review("take", "report-ready/r-1")
    assert Hold.objects.get().holder == from_host().identity
    assert "Given back" in review("release", "report-ready/r-1")
    assert not Hold.objects.exists()
    decide("take", intent, "olga", text="")
    with pytest.raises(CommandError, match="you may take it over, with a reason"):
        review("take", "report-ready/r-1")
    with pytest.raises(CommandError, match="olga has taken this case"):
        review("close", "report-ready/r-1", "--reason-code", "duplicate")
    review("take_over", "report-ready/r-1", "--reason", "The incident cannot wait for Olga.")
    assert Hold.objects.get().holder == from_host().identity
    review("close", "report-ready/r-1", "--reason-code", "duplicate")


def test_next_goes_through_the_filter_and_ends_with_exit_code_1() -> None:
    make_case(cases.NOT_SENT, "late")
    make_case(cases.UNKNOWN, "soon")
    assert as_json("next")["notification_id"] == "report-ready/soon"
    with pytest.raises(CommandError, match="No free case matches"):
        review("next", "--known", "unknown")
    assert "report-ready/late: Taken" in review("next")
    with pytest.raises(CommandError, match="cannot be read"):
        review("next", "--known", "perhaps")


def test_the_list_leaves_out_what_others_have() -> None:
    intent = make_case()
    decide("take", intent, "olga", text="")
    assert as_json("list") == []
    assert len(as_json("list", "--taken", "any")) == 1
    assert len(as_json("list", "--kind", "not_sent", "--taken", "others")) == 1


def test_the_log_is_printed_as_lines_json_and_csv() -> None:
    intent = make_case(report_id="r-1")
    decide("note", intent, "olga", text="+49 is where the call came from.")
    decide("close", intent, "olga", "duplicate", text="")
    assert [row["action"] for row in as_json("log")] == ["close", "note"]
    assert "olga: Close report-ready/r-1, Duplicate" in review("log", "--verb", "close")
    rows = list(csv.DictReader(io.StringIO(review("log", "--csv").lstrip("\ufeff"))))
    assert rows[1]["reason"] == "'+49 is where the call came from."
    with pytest.raises(CommandError, match="There is no such verb"):
        review("log", "--verb", "lose")


def test_figures_are_told() -> None:
    make_case()
    told = as_json("stats")
    assert told["codes"] == {"not_sent.refused": "1"}
    assert told["days"][-1]["came"] == 1
    assert "under 1 hour" in review("stats")


def test_views_are_listed_saved_and_deleted() -> None:
    assert "Saved as “Nobody knows”" in review("views", "save", "Nobody knows", "--query", "known=unknown", "--share")
    assert SavedView.objects.get().is_shared
    assert [one["name"] for one in as_json("views")] == ["Nobody knows"]
    review("views", "delete", "Nobody knows")
    assert not SavedView.objects.exists()
    with pytest.raises(CommandError, match="no such view"):
        review("views", "delete", "Nobody knows")
    with pytest.raises(CommandError, match="cannot be read"):
        review("views", "save", "Bad", "--query", "known=perhaps")
    assert not Review.objects.exists()

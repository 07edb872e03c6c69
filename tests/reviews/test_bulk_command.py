"""`manage.py review bulk` and `groups`: the pages' functions from a terminal."""

from __future__ import annotations

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from reviews.bulk.models import BulkRun
from reviews.models import Review
from tests.reviews import cases
from tests.reviews.bulk_cases import carried, make_cases
from tests.reviews.cases import make_case

pytestmark = pytest.mark.django_db(transaction=True)


def review(*argv: str) -> str:
    out = StringIO()
    call_command("review", *argv, stdout=out)
    return out.getvalue()


def answer(*argv: str) -> Any:
    return json.loads(review(*argv, "--json"))


@pytest.mark.slow
def test_plan_start_show_and_steer() -> None:
    make_cases(3)
    make_case(cases.BOUNCED)
    found = answer("bulk", "plan", "--verb", "close", "--code", "not_sent.refused")
    assert (found["state"], found["total"], found["eligible"]) == ("planned", 3, 3)
    number = str(found["number"])
    assert "bulk start" in review("bulk", "show", number)
    with pytest.raises(CommandError, match="does not exist here"):
        review("bulk", "start", number, "--reason-code", "code_fixed")
    started = answer("bulk", "start", number, "--reason-code", "duplicate", "--rate", "50")
    assert (started["state"], started["outcomes"]) == ("running", {"left": 3})
    assert started["ordered_by"].startswith("cli:")
    assert answer("bulk", "pause", number)["state"] == "running"  # it stops before its next step
    carried(BulkRun.objects.get())
    assert answer("bulk", "show", number)["state"] == "paused"
    assert answer("bulk", "resume", number)["state"] == "running"
    carried(BulkRun.objects.get())
    ended = answer("bulk", "show", number)
    assert (ended["state"], ended["outcomes"]) == ("done", {"closed": 3})
    assert "there is nothing to cancel" in review("bulk", "cancel", number)
    assert {row.actor for row in Review.objects.all()} == {started["ordered_by"]}


def test_one_case_by_its_id_and_what_is_left_out_with_its_reason() -> None:
    bounced, good = make_case(cases.BOUNCED), make_case()
    found = answer("bulk", "plan", "--verb", "retry", "--key", bounced.notification_id, "--key", str(good.pk))
    assert (found["total"], found["eligible"], sum(found["excluded"].values())) == (2, 1, 1)
    assert found["risks"] == {"none": 1, "low": 0}


def test_bad_numbers_and_filters_are_sentences() -> None:
    for argv in (("bulk", "show", "7"), ("bulk", "cancel", "7"), ("bulk", "plan", "--verb", "retry", "--known", "x"),
                 ("bulk", "plan", "--verb", "retry", "--code", "none")):  # fmt: skip
        with pytest.raises(CommandError):
            review(*argv)
    assert not BulkRun.objects.exists()


def test_groups_say_how_many_and_how_old() -> None:
    assert "Nothing needs review." in review("groups")
    make_cases(2)
    make_case(cases.UNKNOWN)
    rows = answer("groups")
    assert [(row["code"], row["cases"]) for row in rows] == [("not_sent.refused", "2"), ("unknown.deadline", "1")]
    assert "not_sent.refused" in review("groups")

"""`notify status` beside what people do."""

from __future__ import annotations

import pytest

from tests.intake.notify_cli import notify
from tests.reviews.cases import NOT_SENT, make_case
from tests.reviews.deciding import decide, now

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_retry_that_is_undone_is_no_second_failure() -> None:
    case = make_case(NOT_SENT)
    decide("retry", case, code="provider_recovered")
    decide("undo", now(case), code="clicked_by_mistake")
    found = notify("status", "--json").document["per_minute"]
    assert (found["failed"], found["unknown"], found["held"]) == (1, 0, 0)

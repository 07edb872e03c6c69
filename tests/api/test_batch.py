"""Many at once: all or none, or each for itself."""

from __future__ import annotations

import pytest

from notifications.models import Intent
from tests.api.callers import caller, wish

pytestmark = pytest.mark.django_db(databases=["default", "owner"])
GOOD = [wish(f"r-{n}") for n in range(3)]
BAD = [wish("r-0"), wish("r-1", recipient="nobody"), wish("r-2", options={"workspace": "other"}), wish("r-3")]


def test_all_writes_all_and_a_repeat_says_that_it_is_one() -> None:
    shop = caller()
    done = shop.post("/intents/batch", {"mode": "all", "items": GOOD})
    assert (done.status, done.document["created"]) == (201, 3)
    assert [one["intent"]["notification_id"] for one in done.document["results"]] == [
        f"report-ready/r-{n}" for n in range(3)
    ]
    again = shop.post("/intents/batch", {"mode": "all", "items": GOOD})
    assert (again.status, again.document["existing"], again.headers["Idempotent-Replay"]) == (200, 3, "true")
    more = shop.post("/intents/batch", {"mode": "all", "items": [*GOOD, wish("r-9")]})
    assert (more.status, more.document["created"], "Idempotent-Replay" in more.headers) == (201, 1, False)


def test_all_writes_nothing_where_one_is_refused_and_names_it() -> None:
    answer = caller().post("/intents/batch", {"mode": "all", "items": BAD[:2]})
    assert (answer.status, answer.code) == (400, "invalid_recipient")
    assert answer.document["detail"].startswith("item 2: ")
    foreign = caller().post("/intents/batch", {"mode": "all", "items": [GOOD[0], BAD[2]]})
    assert (foreign.status, foreign.code) == (403, "workspace_refused")
    assert not Intent.objects.exists()


def test_each_writes_what_it_can_and_tells_of_each_by_its_position() -> None:
    shop = caller()
    shop.post("/intents", wish("r-3", data={"title": "Another"}))
    done = shop.post("/intents/batch", {"mode": "each", "items": [*BAD, wish("r-0")]})
    assert done.status == 201
    told = done.document["results"]
    assert [one["status"] for one in told] == [201, 400, 403, 422, 200]
    assert [one["position"] for one in told] == [1, 2, 3, 4, 5]
    assert [one["problem"] and one["problem"]["code"] for one in told] == [
        None, "invalid_recipient", "workspace_refused", "key_reused", None,
    ]  # fmt: skip
    assert told[3]["problem"]["existing"] == "report-ready/r-3"
    assert {name: done.document[name] for name in ("created", "existing", "refused")} == {
        "created": 1, "existing": 1, "refused": 3,
    }  # fmt: skip
    assert Intent.objects.count() == 2


@pytest.mark.parametrize("body", [{"mode": "some", "items": GOOD}, {"mode": "all", "items": []}, {"mode": "all"}, []])
def test_a_batch_that_is_none_is_refused(body: object) -> None:
    assert caller().post("/intents/batch", body).code == "invalid"


def test_more_than_a_thousand_are_refused() -> None:
    items = [wish(f"r-{n}") for n in range(1001)]
    assert caller().post("/intents/batch", {"mode": "each", "items": items}).code == "invalid"
    assert not Intent.objects.exists()

"""Which rule strikes which request, how often, and what is not a rule."""

from __future__ import annotations

from typing import Any

import pytest

from notifications.sandbox.app import RunningSandbox
from notifications.sandbox.refusals import Misused
from tests.sandbox.callers import call, order, send


def statuses(sandbox: RunningSandbox, count: int, key: str = "k") -> list[int]:
    return [send(sandbox, f"{key}-{number}").status for number in range(count)]


def test_a_rule_strikes_once_unless_told(sandbox: RunningSandbox) -> None:
    sandbox.fault(stage="before_accept", kind="status", status=503)
    assert statuses(sandbox, 3) == [503, 200, 200]


def test_times_and_skip_choose_which_requests_are_struck(sandbox: RunningSandbox) -> None:
    sandbox.fault(stage="before_accept", kind="status", status=503, skip=1, times=2)
    assert statuses(sandbox, 5) == [200, 503, 503, 200, 200]


def test_times_null_strikes_for_ever_until_the_rules_are_cleared(sandbox: RunningSandbox) -> None:
    sandbox.fault(stage="before_accept", kind="status", status=503, times=None)
    assert statuses(sandbox, 5) == [503] * 5
    sandbox.order("DELETE", "faults")
    assert statuses(sandbox, 2) == [200, 200]


def test_the_pattern_is_searched_in_method_path_and_key(sandbox: RunningSandbox) -> None:
    sandbox.fault(stage="before_accept", kind="status", status=503, match="POST /emails .*demo-001$", times=None)
    assert send(sandbox, "report-ready/demo-001").status == 503
    assert send(sandbox, "report-ready/demo-0011").status == 200
    assert call(sandbox, "GET", "/emails").status == 200
    sandbox.fault(stage="before_accept", kind="status", status=500, match="^GET /emails")
    assert call(sandbox, "GET", "/emails").status == 500


def test_the_body_can_choose_as_well(sandbox: RunningSandbox) -> None:
    sandbox.fault(stage="before_accept", kind="status", status=503, body_match="vera@", times=None)
    assert send(sandbox, "a", to="vera@example.com").status == 503
    assert send(sandbox, "b").status == 200


def test_the_first_matching_rule_wins_and_the_next_takes_over(sandbox: RunningSandbox) -> None:
    sandbox.fault(stage="before_accept", kind="status", status=503)
    sandbox.fault(stage="before_accept", kind="status", status=500)
    assert statuses(sandbox, 3) == [503, 500, 200]


def test_a_delay_lets_the_next_rule_strike_the_same_request(sandbox: RunningSandbox) -> None:
    sandbox.fault(stage="before_accept", kind="delay", seconds=0.01, times=None)
    sandbox.fault(stage="before_accept", kind="status", status=503)
    assert statuses(sandbox, 2) == [503, 200]


def test_chance_repeats_with_its_seed(sandbox: RunningSandbox) -> None:
    runs = []
    for run in range(2):
        sandbox.order("DELETE", "faults")
        sandbox.fault(stage="before_accept", kind="status", status=503, probability=0.5, seed=7, times=None)
        runs.append(statuses(sandbox, 20, key=f"run-{run}"))
    assert runs[0] == runs[1]
    assert set(runs[0]) == {200, 503}


def test_what_a_rule_has_done_can_be_read(sandbox: RunningSandbox) -> None:
    sandbox.fault(stage="before_accept", kind="status", status=503, match="demo")
    send(sandbox, "demo")
    send(sandbox, "other")
    (rule,) = order(sandbox, "GET", "faults").json["faults"]
    assert (rule["kind"], rule["stage"], rule["match"], rule["hits"], rule["status"]) == (
        "status",
        "before_accept",
        "demo",
        1,
        503,
    )


def test_binary_options_can_be_read_too(sandbox: RunningSandbox) -> None:
    assert order(sandbox, "POST", "faults", {"kind": "raw", "bytes_b64": "AAECAw=="}).status == 200
    (rule,) = order(sandbox, "GET", "faults").json["faults"]
    assert rule["bytes_b64"] == "AAECAw=="


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ({}, "fault kind None"),
        ({"kind": "explode"}, "Known: bad_json, close"),
        ({"kind": ["close"]}, "fault kind"),
        ({"kind": "close", "stage": "later"}, "no stage 'later'"),
        ({"kind": "close", "seconds": 3}, "knows no ['seconds']"),
        ({"kind": "close", "match": "("}, "'match'"),
        ({"kind": "close", "match": 5}, "'match'"),
        ({"kind": "close", "times": -1}, "'times'"),
        ({"kind": "close", "times": True}, "'times'"),
        ({"kind": "close", "skip": "2"}, "'skip'"),
        ({"kind": "close", "probability": 2}, "'probability'"),
        ({"kind": "close", "seed": "x"}, "'seed'"),
        ({"kind": "delay", "seconds": -1}, "'seconds'"),
        ({"kind": "status", "status": 99}, "'status'"),
        ({"kind": "status", "headers": "x"}, "'headers'"),
        ({"kind": "status", "headers": [["A"]]}, "'headers'"),
        ({"kind": "status", "headers": {"A": "b\r\nC: d"}}, "line break"),
        ({"kind": "status", "body_b64": "%"}, "base64"),
    ],
)
def test_what_is_not_a_rule_is_refused_with_a_sentence(
    sandbox: RunningSandbox, rule: dict[str, Any], said: str
) -> None:
    heard = order(sandbox, "POST", "faults", rule)
    assert heard.status == 422
    assert said in heard.json["error"]
    with pytest.raises(Misused):
        sandbox.order("POST", "faults", rule)
    assert sandbox.order("GET", "faults") == {"faults": []}

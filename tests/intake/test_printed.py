"""What the terminal prints for a person: times with their zone, workspaces once, keys as they are."""

from __future__ import annotations

import re

import pytest

from notifications import doctor
from tests.intake.notify_cli import notify

pytestmark = pytest.mark.django_db(databases=["default", "owner"])

_TIME = re.compile(r"\b\d{4}-\d\d-\d\d \d\d:\d\d(?::\d\d)?( UTC|Z)?")


def enqueue(report_id: str, *options: str) -> None:
    answer = notify("enqueue", "report_approved", report_id, "ana@example.com", "--data", '{"title": "Q3"}', *options)
    assert answer.code == 0, answer.err


@pytest.mark.parametrize("verb", [("show", "report-approved/r-1"), ("explain", "report-approved/r-1"), ("tail",)])
def test_every_printed_time_names_its_zone(verb: tuple[str, ...]) -> None:
    enqueue("r-1")
    found = [match[1] for match in _TIME.finditer(notify(*verb).out)]
    assert found
    assert None not in found


def test_tail_names_a_workspace_once() -> None:
    enqueue("r-1", "--workspace", "acme")
    enqueue("r-2", "--workspace", "acme", "--notification-id", "mine")
    printed = [line.split()[2] for line in notify("tail").out.splitlines()]
    assert printed == ["acme/report-approved/r-1", "acme:mine"]


def test_what_is_told_of_a_check_adds_up_to_the_whole_range_where_numbers_are_missing() -> None:
    enqueue("r-1")
    first, last = doctor.id_range()
    # Numbers before the first one and between are empty, as after a recovery that leaves many out.
    parts = list(doctor.chunks(first - 1_000, last, 1))
    assert sum(covered for _, _, covered in parts) == last - first + 1_001
    assert len(parts) == 2


def test_a_key_with_the_types_underscore_is_told_from_the_right_one() -> None:
    enqueue("r-1")
    for verb in ("show", "explain"):
        answer = notify(verb, "report_approved/r-1")
        assert answer.code == 1
        assert 'there is "report-approved/r-1": a key has the type with - for _.' in answer.err


def test_the_underscore_of_a_report_id_stays_and_nobody_elses_is_named() -> None:
    enqueue("q3-2026")
    assert "there is" not in notify("show", "report_approved/q3_2026").err
    enqueue("q3_2026")
    assert 'there is "report-approved/q3_2026"' in notify("show", "report_approved/q3_2026").err
    enqueue("r-1", "--workspace", "acme")
    err = notify("show", "acme/report_approved/r-1", "--workspace", "acme").err
    assert 'there is "acme/report-approved/r-1"' in err

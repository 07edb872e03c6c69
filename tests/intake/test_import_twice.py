"""`notify import`: a file that asks for one notification twice, with other content, is found at the check."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from notifications.cli.import_twice import Seen
from notifications.models import Intent
from notifications.outbox import Item
from notifications.outbox_wire import wire_form
from tests.intake.notify_cli import notify
from tests.intake.test_import import record, written

pytestmark = pytest.mark.django_db(databases=["default", "owner"])


def test_every_bad_line_is_reported_at_once_and_with_each_the_same_ones_are(tmp_path: Path) -> None:
    lines = (record("r-1"), "{", record("r-2", recipient="nobody"), record("r-1", data={"title": "Q4"}), record("r-1"))
    path = written(tmp_path / "a.jsonl", *lines)
    answer = notify("import", path, "--json")
    assert [one["line"] for one in answer.document["rejected"]] == [2, 3, 4]
    assert 'line 4: notification "report-ready/r-1" exists with other content: line 1 of this file has it' in answer.err
    assert Intent.objects.count() == 0
    each = notify("import", path, "--each", "--json")
    assert [one["line"] for one in each.document["rejected"]] == [2, 3, 4]
    assert (each.document["created"], each.document["existing"]) == (1, 1)


SAME: tuple[dict[str, Any], ...] = (
    {},
    {"options": {"priority": "urgent", "locale": "en", "not_before": "2030-01-01T00:00:00Z"}},
    {"recipient": " ana@EXAMPLE.com "},
    {"options": {"channel": "email"}},
    {"options": {"notification_id": "another"}},
)
OTHER: tuple[dict[str, Any], ...] = (
    {"data": {"title": "Q4"}},
    {"recipient": "bea@example.com"},
    {"options": {"actor": "user:ana"}},
    {"options": {"expires_at": "2030-01-01T00:00:00Z"}},
    {"options": {"notification_id": "another", "actor": "user:ana"}},
)
APART: tuple[dict[str, Any], ...] = (
    {"report_id": "r-2", "data": {"title": "Q4"}},
    {"options": {"workspace": "acme"}, "data": {"title": "Q4"}},
    {"options": {"notification_id": "another", "supersedes": "report-ready/r-1"}, "data": {"title": "Q4"}},
)


def item(changed: dict[str, Any]) -> Item:
    given = record("r-1") | changed
    return Item(given["notification_type"], given["report_id"], given["recipient"], given["data"],
                given.get("options", {}))  # fmt: skip


@pytest.mark.parametrize(("changed", "clashes"),
                         [*((one, False) for one in (*SAME, *APART)), *((one, True) for one in OTHER)])  # fmt: skip
def test_the_check_and_the_database_judge_alike(tmp_path: Path, changed: dict[str, Any], clashes: bool) -> None:
    seen = Seen()
    assert seen.clash(1, wire_form(item({}))) == ""
    assert bool(seen.clash(2, wire_form(item(changed)))) is clashes
    # The database alone, a file after the other.
    notify("import", written(tmp_path / "one.jsonl", record("r-1")))
    answer = notify("import", written(tmp_path / "two.jsonl", record("r-1") | changed))
    assert ("exists with other content" in answer.err) is clashes


def test_one_time_in_two_forms_is_the_same_wish() -> None:
    seen = Seen()
    for number, text in enumerate(("2030-01-01T00:00:00Z", "2030-01-01 01:00:00+01:00"), start=1):
        assert seen.clash(number, wire_form(item({"options": {"expires_at": text}}))) == ""


def test_no_more_is_held_than_the_limit() -> None:
    seen = Seen(most=2)
    for number in range(1, 4):
        assert seen.clash(number, wire_form(item({"report_id": f"r-{number}"}))) == ""
    other = {"data": {"title": "Q4"}}
    assert seen.clash(4, wire_form(item({"report_id": "r-1"} | other)))
    assert seen.clash(5, wire_form(item({"report_id": "r-3"} | other))) == ""

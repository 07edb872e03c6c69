"""Attachments through the other doors: HTTP, the command line, and files of many."""

from __future__ import annotations

import csv
import json
from io import StringIO
from pathlib import Path
from typing import Any, cast

import pytest

from notifications import runs
from notifications.cli.import_lines import read
from notifications.cli.import_run import Bar, Import, Tally, batches
from notifications.models import Blob, Content
from tests.api.callers import caller, wish
from tests.intake.attaching import LINK, PDF, attached, linked
from tests.intake.notify_cli import Answer, notify

pytestmark = pytest.mark.django_db(databases=["default", "owner"])


def enqueue(*more: str) -> Answer:
    return notify("enqueue", "report_ready", "demo-001", "ana@example.com", "--data", '{"title": "Q3"}', *more)


def test_http_takes_and_shows_them_and_never_a_name() -> None:
    shop = caller()
    body = wish(options={"attachments": [attached()]})
    made = shop.post("/intents", body)
    assert (made.status, shop.post("/intents", body).status) == (201, 200)
    told = shop.get(f"/intents/{made.document['id']}")
    shown = {"place": 1, "media_type": "application/pdf", "size": len(PDF), "sha256": attached()["sha256"]}
    assert told.document["attachments"] == [shown | {"is_here": True}]
    assert "q3.pdf" not in told.text
    other = shop.post("/intents", wish(options={"attachments": [linked(name="q4.pdf")]}))
    assert (other.status, other.code) == (422, "key_reused")


@pytest.mark.parametrize(
    ("given", "status", "field"),
    [
        (attached(size="26"), 400, "options.attachments.0.size"),
        (attached(colour="red"), 400, "options.attachments.0.colour"),
        (attached(name="q3.txt"), 400, "options.attachments[0].media_type"),
        (attached(url=LINK), 400, "options.attachments[0]"),
        (linked(size=25_000_001), 413, "options.attachments"),
    ],
)
def test_http_says_what_is_wrong_with_one(given: dict[str, Any], status: int, field: str) -> None:
    answer = caller().post("/intents", wish(options={"attachments": [given]}))
    assert (answer.status, answer.document["field"].removeprefix("body.")) == (status, field)
    assert Content.objects.count() == 0


def test_the_command_line_attaches_files_of_this_machine_and_elsewhere(tmp_path: Path) -> None:
    here, named = tmp_path / "Q3 报告.csv", tmp_path / "named.json"
    here.write_bytes(b"a;b\r\n")
    named.write_text(json.dumps([linked()]))
    assert enqueue("--attach", str(here), "--attachments", f"@{named}").code == 0
    kept = Content.objects.get().attachments or []
    assert [(one["name"], one["media_type"]) for one in kept] == [
        ("Q3 报告.csv", "text/csv"),
        ("q3.pdf", "application/pdf"),
    ]
    assert bytes(Blob.objects.get().content) == b"a;b\r\n"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--attach", "/nowhere/a.pdf"), "cannot be read"),
        (("--attachments", "{"), "is not JSON"),
        (("--attachments", "{}"), "must be a JSON list"),
        (("--attachments", '[{"name": "a.pdf"}]'), "media_type must be a string"),
    ],
)
def test_the_command_line_says_what_is_wrong(words: tuple[str, ...], sentence: str) -> None:
    answer = enqueue(*words)
    assert (answer.code, sentence in answer.err, Content.objects.count()) == (1, True, 0)


def test_a_file_of_many_may_attach_by_line(tmp_path: Path) -> None:
    plain = {"notification_type": "report_ready", "recipient": "ana@example.com", "data": {"title": "Q3"}}
    lines = [
        plain | {"report_id": f"r-{n}", "options": {"attachments": [one]}}
        for n, one in enumerate((attached(), linked()))
    ]
    source = tmp_path / "many.jsonl"
    source.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert notify("import", str(source)).out == "2 created, 0 were there already, 0 rejected\n"
    assert notify("import", str(source)).out == "0 created, 2 were there already, 0 rejected\n"
    table = tmp_path / "many.csv"
    cell = json.dumps([linked()]).replace('"', '""')
    table.write_text(
        f'notification_type,report_id,recipient,data.title,attachments\nreport_ready,r-1,ana@example.com,Q3,"{cell}"\n'
    )
    assert notify("import", str(table)).out == "0 created, 1 was there already, 0 rejected\n"


def test_a_file_that_names_other_attachments_for_the_same_key_is_refused_before_anything_is_written(
    tmp_path: Path,
) -> None:
    plain = {"notification_type": "report_ready", "recipient": "ana@example.com", "data": {"title": "Q3"}}
    lines = [
        plain | {"report_id": "r-1", "options": {"attachments": [one]}}
        for one in (attached(), linked(), attached(name="q4.pdf"), attached(name="a/b.pdf"))
    ]
    source = tmp_path / "many.jsonl"
    source.write_text("".join(json.dumps(line) + "\n" for line in lines))
    told = notify("import", str(source), "--json").document["rejected"]
    assert [one["line"] for one in told] == [3, 4]
    assert "exists with other content" in told[0]["reason"]
    assert Content.objects.count() == 0


def test_a_file_of_large_lines_is_written_few_at_a_time() -> None:
    """In one call the database takes 268 MB: a thousand lines with an invoice each can be more."""
    plain = {"notification_type": "report_ready", "report_id": "r-1", "recipient": "ana@example.com"}
    long, short = (json.dumps(plain | {"data": {"title": "x" * size}}) + "\n" for size in (7_000_000, 10))
    source = StringIO(long * 5 + short * 1001)
    one = Import(source, "jsonl", Tally(), cast("runs.Running", None), cast("Bar", None))
    one.tally.reject(next(read(StringIO(long), "jsonl")), "bad")
    numbers = [[line.number for line in batch] for batch in batches(one, behind=2)]
    assert [(batch[0], len(batch)) for batch in numbers] == [(3, 2), (5, 1000), (1005, 2)]


def test_a_cell_holds_as_much_as_may_be_attached(tmp_path: Path) -> None:
    table = tmp_path / "large.csv"
    with table.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["notification_type", "report_id", "recipient", "data.title", "attachments"])
        rows.writerow(["report_ready", "r-1", "ana@example.com", "Q3", json.dumps([attached(bytes(1_000_000))])])
    assert notify("import", str(table)).out == "1 created, 0 were there already, 0 rejected\n"

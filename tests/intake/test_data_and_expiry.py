"""`--data` from a file or standard input, and what has expired before it is enqueued."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from notifications.models import Content, Intent
from tests.intake.notify_cli import notify

pytestmark = pytest.mark.django_db(databases=["default", "owner"])
GOOD = ("enqueue", "report_ready", "demo-001", "ana@example.com", "--data")
PAST, TO_COME = "2020-01-01T00:00:00Z", "2099-01-01T00:00:00Z"


def test_data_comes_from_a_file_as_with_curl(tmp_path: Path) -> None:
    path = tmp_path / "data.json"
    path.write_text('\ufeff{"title": "Q3 – 报告"}\n', "utf-8")
    assert notify(*GOOD, f"@{path}").code == 0
    assert Content.objects.get().data == {"title": "Q3 – 报告"}
    assert "Q3 – 报告" in notify("preview", "report_ready", "--data", f"@{path}").out


def test_data_comes_from_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO('{"title": "Q3"}'))
    assert notify(*GOOD, "@-").code == 0
    assert Content.objects.get().data == {"title": "Q3"}


@pytest.mark.parametrize("verb", [GOOD, ("preview", "report_ready", "--data")])
@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "cannot be read: no such file or directory. Write --data @FILE, or @- to read stdin."),
        (b"\xff\xfe", "is not UTF-8 text."),
        (b"title: Q3", """@FILE that holds one; @- reads stdin."""),
        (b"[" * 100_000, "--data is not JSON: "),
    ],
)
def test_a_file_that_will_not_do_is_a_sentence(
    tmp_path: Path, verb: tuple[str, ...], content: bytes | None, said: str
) -> None:
    path = tmp_path / "data.json"
    if content is not None:
        path.write_bytes(content)
    answer = notify(*verb, f"@{path}")
    assert (answer.code, answer.out) == (1, "")
    assert said in answer.err
    assert not Intent.objects.exists()


def test_what_is_no_json_is_answered_with_the_forms_of_data() -> None:
    for given in ("data.json", "{title", "@"):
        answer = notify(*GOOD, given)
        assert answer.code == 1
        assert "@FILE" in answer.err


def test_what_has_expired_already_is_owed_and_said_to_be_too_late() -> None:
    late = notify(*GOOD, '{"title": "Q3"}', "--expires-at", PAST)
    assert (late.code, late.out) == (0, "report-ready/demo-001: created, pending\n")
    assert late.err.startswith(
        "It expired at 2020-01-01 00:00:00 UTC already: it is cancelled as expired, and not sent. "
    )
    again = notify(*GOOD, '{"title": "Q3"}', "--expires-at", PAST, "--json")
    assert (again.document["created"], "It expired at" in again.err) == (False, True)


def test_what_expires_later_or_never_is_said_without_a_remark() -> None:
    assert notify(*GOOD, '{"title": "Q3"}', "--expires-at", TO_COME).err == ""
    assert notify("enqueue", "report_ready", "demo-002", "ana@example.com", "--data", '{"title": "Q3"}').err == ""


def test_an_import_counts_what_has_expired_already(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    ends = (PAST, TO_COME, "2020-01-01T00:00:00+00:00", None)
    records = [
        {
            "notification_type": "report_ready",
            "report_id": f"r-{place}",
            "recipient": "ana@example.com",
            "data": {"title": "Q3"},
            "options": {"expires_at": end} if end else {},
        }
        for place, end in enumerate(ends)
    ]
    path.write_text("".join(json.dumps(one) + "\n" for one in records), "utf-8")
    answer = notify("import", str(path))
    assert (answer.code, answer.out) == (0, "4 created, 0 were there already, 0 rejected\n")
    assert (
        answer.err == "2 lines have an expires_at that is over: what they owe is cancelled as expired, and not sent.\n"
    )

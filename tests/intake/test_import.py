"""`notify import`: every line checked first, all or none; twice adds nothing; what is rejected is kept."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from notifications.cli.import_lines import FIELDS, OPTION_NAMES
from notifications.models import Content, Intent
from tests.intake.notify_cli import notify

pytestmark = [pytest.mark.django_db(databases=["default", "owner"]), pytest.mark.slow]
ROOT = Path(__file__).parents[2]


def record(report_id: str, **changed: Any) -> dict[str, Any]:
    good = {"notification_type": "report_ready", "report_id": report_id, "recipient": "ana@example.com"}
    return {**good, "data": {"title": "Q3"}, **changed}


def written(path: Path, *records: dict[str, Any] | str) -> str:
    lines = [one if isinstance(one, str) else json.dumps(one) for one in records]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(path)


def test_a_file_is_imported_once_however_often_it_is_given(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", *(record(f"r-{n}") for n in range(2500)), "", "  ")
    assert notify("import", path).out == "2500 created, 0 were there already, 0 rejected\n"
    again = notify("import", path, "--json")
    assert again.document == {"created": 0, "existing": 2500, "rejected": [], "rejected_file": None}
    assert Intent.objects.count() == 2500
    assert not (tmp_path / "a.jsonl.rejected").exists()


BAD = {
    "{": "not JSON",
    "[]": "not a JSON object",
    '"text"': "not a JSON object",
    '{"a": NaN}': "no number in JSON",
    "[" * 100_000: "not JSON",
    '{"report_id": "a", "report_id": "b"}': "stands there twice",
    json.dumps(record("x", to="b")): "unknown field to",
    json.dumps(record("x", recipient="nobody")): "e-mail address",
    json.dumps(record("x", recipient=None)): "recipient is missing",
    json.dumps(record("x", data={})): "data.title is missing",
    json.dumps(record("x", data=[1])): "data must be a mapping",
    json.dumps(record("x", options=[])): "options must be a JSON object",
    json.dumps(record("x", options={"expire_at": "y"})): "unknown option expire_at",
    json.dumps(record("x", notification_type="no_such")): "unknown notification type",
    json.dumps(record("x", notification_type=["a"])): "unknown notification type",
    json.dumps(record(7)): "report_id is a int",  # type: ignore[arg-type]
}


def test_one_bad_line_stops_all_and_each_is_reported_and_kept_as_it_was(tmp_path: Path) -> None:
    path = written(tmp_path / "b.jsonl", record("r-1"), *BAD, record("r-2"))
    answer = notify("import", path)
    assert (answer.code, answer.out) == (1, f"0 created, 0 were there already, {len(BAD)} rejected\n")
    assert Intent.objects.count() == 0
    reported = [line for line in answer.err.splitlines() if line.startswith("line ")]
    for number, (line, sentence) in enumerate(zip(reported, BAD.values(), strict=True), start=2):
        assert line.startswith(f"line {number}: ")
        assert sentence in line
    assert "give --each" in answer.err
    kept = tmp_path / "b.jsonl.rejected"
    assert kept.read_text("utf-8").splitlines() == list(BAD)
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600


def test_with_each_the_good_lines_are_imported(tmp_path: Path) -> None:
    notify("import", written(tmp_path / "first.jsonl", record("taken")))
    path = written(
        tmp_path / "c.jsonl", record("r-1"), "{", record("taken", recipient="bea@example.com"), record("r-2")
    )
    answer = notify("import", path, "--each", "--json")
    assert answer.code == 1
    assert (answer.document["created"], answer.document["existing"]) == (2, 0)
    assert [one["line"] for one in answer.document["rejected"]] == [2, 3]
    assert "exists with other content" in answer.document["rejected"][1]["reason"]
    assert len((tmp_path / "c.jsonl.rejected").read_text().splitlines()) == 2


def test_a_refusal_by_the_database_rolls_the_whole_import_back(tmp_path: Path) -> None:
    notify("import", written(tmp_path / "first.jsonl", record("r-1200", data={"title": "Q4"})))
    path = written(tmp_path / "d.jsonl", *(record(f"r-{n}") for n in range(1201)))
    answer = notify("import", path)
    assert answer.code == 1
    assert 'line 1201: notification "report-ready/r-1200" exists with other content' in answer.err
    assert Intent.objects.count() == 1


def test_csv_takes_a_column_for_each_value_in_the_types_own_form(tmp_path: Path) -> None:
    path = tmp_path / "e.csv"
    path.write_text(
        "\ufeffnotification_type,report_id,recipient,data.title,workspace,priority,data.note\r\n"
        'report_ready,r-1,ana@example.com,"Q3, ""final""\r\nsecond line",acme,bulk,\r\n'
        "\r\n"
        "report_ready,r-2,ana@example.com,007,,,more\r\n",
        encoding="utf-8",
        newline="",
    )
    assert notify("import", str(path)).out.startswith("2 created")
    first, second = Content.objects.order_by("intent__report_id")
    assert (first.data, first.intent.workspace) == ({"title": 'Q3, "final"\r\nsecond line'}, "acme")
    assert (second.data, second.intent.workspace) == ({"title": "007", "note": "more"}, "")


def test_csv_lines_are_counted_as_an_editor_does_and_kept_with_the_header(tmp_path: Path) -> None:
    path = tmp_path / "f.csv"
    header = "notification_type,report_id,recipient,data\n"
    bad = ["report_ready,r-2,nobody,{}\n", "report_ready,r-3\n", "report_ready,r-4,ana@example.com,[1]\n"]
    path.write_text(
        header + 'report_ready,r-1,ana@example.com,"{""title"": ""a\\nb""}"\n' + "".join(bad), encoding="utf-8"
    )
    answer = notify("import", str(path), "--each")
    assert [line.split(":")[0] for line in answer.err.splitlines()[:3]] == ["line 3", "line 4", "line 5"]
    assert (tmp_path / "f.csv.rejected").read_text() == header + "".join(bad)
    assert Intent.objects.count() == 1


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "it does not name notification_type"),
        (b"notification_type,report_id\n", "it does not name recipient"),
        (b"notification_type,report_id,recipient,recipient\n", "names a column twice"),
        (b"notification_type,report_id,recipient,tilte\n", 'unknown column "tilte"'),
        (b'notification_type,report_id,recipient\nreport_ready,r,"a"b\n', "Line 2 is not CSV"),
        (b"notification_type,report_id,recipient\xff\nreport_ready,r,ana@example.com\n", "not UTF-8"),
    ],
)
def test_a_csv_file_that_cannot_be_read_says_how_to_mend_it(tmp_path: Path, content: bytes, sentence: str) -> None:
    path = tmp_path / "g.csv"
    path.write_bytes(content)
    answer = notify("import", str(path))
    assert (answer.code, answer.out) == (1, "")
    assert sentence in answer.err


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_bytes_that_are_no_text_concern_their_line_and_are_kept_as_they_are(tmp_path: Path, form: str) -> None:
    head = b"notification_type,report_id,recipient,data.title\n" if form == "csv" else b""
    good, bad = (
        (b"report_ready,r-1,ana@example.com,Q3\n", b"report_ready,r-2,ana@example.com,\xff\xfe\n")
        if form == "csv"
        else (json.dumps(record("r-1")).encode() + b"\n", json.dumps(record("r-2")).encode()[:-1] + b"\xe9}\n")
    )  # fmt: skip
    path = tmp_path / f"h.{form}"
    path.write_bytes(head + good + bad)
    place = 1 + min(bad.index(byte) for byte in (b"\xff", b"\xe9") if byte in bad)
    answer = notify("import", str(path))
    assert (answer.code, Intent.objects.count()) == (1, 0)
    assert f"line {2 + bool(head)}: byte {place} (0x{bad[place - 1]:02x}) is not UTF-8" in answer.err
    assert notify("import", str(path), "--each").out.startswith("1 created")
    assert (tmp_path / f"h.{form}.rejected").read_bytes() == head + bad


def test_a_file_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    assert "no such file" in notify("import", str(tmp_path / "none")).err
    assert "is a directory" in notify("import", str(tmp_path)).err


@pytest.mark.django_db(transaction=True, databases=["default", "owner"])
def test_standard_input_is_imported_and_its_rejected_lines_are_kept(
    transactional_db: None,
    process_env: Callable[[str], dict[str, str]],
    tmp_path: Path,
    database_url: Callable[[str], str],
) -> None:
    def piped(text: bytes) -> subprocess.CompletedProcess[bytes]:
        command = [sys.executable, str(ROOT / "manage.py"), "notify", "import", "-", "--each"]
        return subprocess.run(
            command, input=text, env=process_env("owner"), cwd=tmp_path, capture_output=True, timeout=60, check=False
        )

    ended = piped(b'{"bad": 1}\n' + json.dumps(record("r-1", data={"title": "\ud800 \0 ok"})).encode() + b"\n")
    assert (ended.returncode, ended.stdout) == (1, b"1 created, 0 were there already, 1 rejected\n"), ended.stderr
    assert b"line 1: unknown field bad" in ended.stderr
    assert (tmp_path / "stdin.rejected").read_bytes() == b'{"bad": 1}\n'
    assert Content.objects.get().data == {"title": "\ufffd \ufffd ok"}
    assert b"not UTF-8" in piped(b"\xff\xfe").stderr


@pytest.mark.django_db(transaction=True)
def test_two_files_with_the_same_lines_in_reverse_are_imported_at_once(tmp_path: Path) -> None:
    """Each file is several batches of one transaction, so that only taking turns keeps the two from a deadlock."""
    records = [record(f"r-{n}") for n in range(3500)]
    paths = [written(tmp_path / "a.jsonl", *records), written(tmp_path / "b.jsonl", *records[::-1])]

    def imported(path: str) -> Any:
        try:
            return notify("import", path, "--json").document
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        counts = list(pool.map(imported, paths))
    assert sorted((count["created"], count["existing"]) for count in counts) == [(0, 3500), (3500, 0)]
    assert Intent.objects.count() == 3500


def test_the_help_names_every_field_and_its_examples_are_imported(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert notify("import", "--help").code == 0
    said = capsys.readouterr().out
    assert [name for name in (*FIELDS, *sorted(OPTION_NAMES)) if name not in said] == []
    examples = [line.strip() for line in said.splitlines() if line.startswith("  ") and "r-1" in line]
    heading = next(line.strip() for line in said.splitlines() if line.strip().startswith("notification_type,"))
    (tmp_path / "a.jsonl").write_text(examples[0])
    (tmp_path / "a.csv").write_text("\n".join((heading, examples[1])))
    # Both forms of the example mean the same notification.
    assert notify("import", str(tmp_path / "a.jsonl")).out.startswith("1 created, 0 were")
    assert notify("import", str(tmp_path / "a.csv")).out.startswith("0 created, 1 was")


def test_a_commands_terminal_gets_sentences_and_the_log_its_error(
    transactional_db: None, process_env: Callable[[str], dict[str, str]], tmp_path: Path
) -> None:
    """As a process of its own: only there is the log set up as it is for people."""
    home = tmp_path / "home"
    (home / "logs").mkdir(parents=True)
    done = subprocess.run(
        [sys.executable, str(ROOT / "manage.py"), "notify", "import", written(tmp_path / "bad.jsonl", "{")],
        env=process_env("owner") | {"NOTIFYOPS_HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert [line for line in done.stderr.splitlines() if line.startswith("{")] == []
    assert done.stderr.startswith("line 1: it is not JSON")
    logged = [json.loads(line) for line in (home / "logs" / "commands.log").read_text("utf-8").splitlines()]
    assert [(line["action"], line["level"]) for line in logged] == [("run_failed", "error")]

"""How runs end badly: a state and a word of the product, never the name of a class."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.db import DatabaseError, InterfaceError

from notifications import run_ends
from notifications.cli import import_run
from notifications.models import Run
from tests.intake.notify_cli import notify


@pytest.mark.parametrize(
    ("error", "end"),
    [
        (ValueError("ana@example.com"), ("failed", "internal_error")),
        (DatabaseError(), ("failed", "database_failed")),
        (InterfaceError(), ("failed", "database_failed")),
        (BrokenPipeError(), ("failed", "host_failed")),
        (MemoryError(), ("failed", "host_failed")),
        (SystemExit(), ("interrupted", "stopped_by_hand")),
        (run_ends.GaveUp("rejected"), ("failed", "rejected")),
    ],
)
def test_a_run_ends_with_a_word_of_the_product(error: BaseException, end: tuple[str, str]) -> None:
    assert run_ends.ending(error) == end


@pytest.mark.django_db(databases=["default", "owner"], transaction=True)
def test_a_file_that_cannot_be_read_ends_its_run_as_a_bad_file(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('notification_type,report_id,recipient\nreport_ready,r,"a"b\n', "utf-8")
    answer = notify("import", str(path))
    assert (answer.code, answer.out) == (1, "")
    assert answer.err.startswith("Line 2 is not CSV: ")
    assert list(Run.objects.values_list("state", "code")) == [("failed", "bad_file")]
    assert "failed (bad_file)" in notify("runs").out


@pytest.mark.django_db(databases=["default", "owner"], transaction=True)
def test_a_mistake_of_the_program_is_no_name_of_a_class(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def mistaken(*_given: object) -> None:
        raise ValueError("ana@example.com")

    monkeypatch.setattr(import_run, "checked", mistaken)
    path = tmp_path / "a.jsonl"
    path.write_text("{}\n", "utf-8")
    with pytest.raises(ValueError, match="ana@example.com"):
        notify("import", str(path))
    assert list(Run.objects.values_list("state", "code")) == [("failed", "internal_error")]

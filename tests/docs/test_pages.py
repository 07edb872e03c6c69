"""The pages of the docs that repeat code or database say what these say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.db import connections

from notifications.outbox_wire import Options
from tests.docs.printed import diagram, moves_table

DOCS = Path(__file__).parents[2] / "docs"


def page(name: str) -> str:
    return (DOCS / name).read_text("utf-8")


def first_cells(text: str) -> list[str]:
    """Give the words in backticks that begin the rows of a table."""
    return re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)


def section(text: str, heading: str) -> str:
    found = re.search(rf"^## {re.escape(heading)}.*?\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert found, heading
    return found[1]


def test_the_state_machine_is_the_codes() -> None:
    text = page("state-machine.md")
    assert diagram() in text
    assert moves_table() in text


def test_every_guards_word_is_explained() -> None:
    folder = DOCS.parent / "notifications" / "sql"
    door = "".join((folder / f"{name}.sql").read_text("utf-8") for name in ("append_v1", "barred_v1"))
    words = set(re.findall(r"(?:THEN|ELSE) '(\w+)'", door)) - {"sending", "manual", "auto", "not_sent"}
    explained = set(re.findall(r"`(\w+)`", section(page("state-machine.md"), "Guards")))
    assert words - explained - {"accepted", "needs_review"} == set()


@pytest.mark.django_db(databases=["default", "owner"])
@pytest.mark.parametrize("view", ["intents", "attempts", "log"])
def test_every_column_of_a_public_view_is_described_in_its_order(view: str) -> None:
    with connections["default"].cursor() as cursor:
        cursor.execute(f"SELECT * FROM notifyops.{view} LIMIT 0")
        columns = [column[0] for column in cursor.description]
    assert first_cells(section(page("schema.md"), f"View `notifyops.{view}`")) == columns


@pytest.mark.django_db(databases=["default", "owner"])
def test_every_public_function_is_described_with_its_arguments() -> None:
    with connections["default"].cursor() as cursor:
        cursor.execute(
            "SELECT p.proname || '(' || coalesce((SELECT string_agg(a.name, ', ' ORDER BY a.place)"
            " FROM unnest(p.proargnames) WITH ORDINALITY AS a(name, place) WHERE a.place <= p.pronargs), '') || ')'"
            " FROM pg_proc p WHERE p.pronamespace = 'notifyops'::regnamespace"
        )
        functions = {row[0] for row in cursor.fetchall()}
    assert set(re.findall(r"^\| `(\w+\([\w, ]*\))` \|", page("schema.md"), re.MULTILINE)) == functions


def test_every_option_of_enqueue_is_described() -> None:
    described = re.findall(
        r"`(\w+)`", " ".join(re.findall(r"^\| (`\w+`(?:, `\w+`)*) \|", page("enqueue.md"), re.MULTILINE))
    )
    assert set(Options.__annotations__) <= set(described)


def test_links_between_pages_lead_somewhere() -> None:
    for name in ("enqueue.md", "schema.md", "state-machine.md", "glossary.md"):
        for target in re.findall(r"\]\(([\w.-]+\.md)\)", page(name)):
            assert (DOCS / target).exists(), f"{name} → {target}"

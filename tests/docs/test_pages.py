"""The pages of the docs that repeat code or database say what these say."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import pytest
from django.db import connections

from notifications import run_ends
from notifications.cli import import_file, seed
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
    door = "".join((folder / f"{name}.sql").read_text("utf-8") for name in ("append_v1", "barred_v1", "again_v1", "ways_out"))
    no_guards = {"sending", "manual", "auto", "not_sent", "unknown", "none", "own", "elsewhere", "disputed"}
    words = set(re.findall(r"(?:THEN|ELSE) '(\w+)'", door)) - no_guards
    explained = set(re.findall(r"`(\w+)`", section(page("state-machine.md"), "Guards")))
    assert words - explained - {"accepted", "needs_review"} == set()


@pytest.mark.django_db(databases=["default", "owner"])
@pytest.mark.parametrize("view", ["intents", "attempts", "log", "attachments"])
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


_CALLED = (
    # notify enqueue TYPE REPORT TO --data '…', and the same words as arguments of SQL, Python or JavaScript.
    r"enqueue report_ready (?P<report>[\w-]+) (?P<to>\S+) --data '(?P<data>[^']*)'",
    r"""['"]report_ready['"],\s*['"](?P<report>[\w-]+)['"],\s*['"](?P<to>[^'"]+)['"],\s*(?P<data>[^}]*\})""",
    r"""report_id\W{1,10}(?P<report>[\w-]+)['"]\W+(?:to|recipient)\W{1,18}(?P<to>[^'"]+)['"],\s*\W?data\W{1,16}(?P<data>[^}\]]*[}\]])""",
)


def test_whoever_follows_all_pages_reuses_no_key_with_other_content() -> None:
    """It would be NO422 on the second page."""
    found: dict[str, set[tuple[str, str]]] = defaultdict(set)
    pages = [*sorted(DOCS.glob("*.md")), DOCS.parent / "README.md"]
    text = "\n".join(one.read_text("utf-8") for one in pages)
    uses = 0
    for pattern in _CALLED:
        for use in re.finditer(pattern, text):
            words = tuple(re.findall(r"\w+", use["data"]))
            if "@" in use["to"]:  # else it is there to be refused
                found[use["report"]].add((use["to"], " ".join(word for word in words if word != "Jsonb")))
                uses += 1
    assert uses >= 12
    assert {report: contents for report, contents in found.items() if len(contents) > 1} == {}
    assert not set(found) & {story.report_id for story in seed.stories()}


def test_links_between_pages_lead_somewhere() -> None:
    for path in (*DOCS.glob("*.md"), DOCS.parent / "README.md"):
        for target, anchor in re.findall(r"\]\((?!https?:)([\w./-]*)(?:#([\w-]+))?\)", path.read_text("utf-8")):
            other = path.parent / target if target else path
            assert other.exists(), f"{path.name} → {target}"
            assert not anchor or anchor in anchors(other.read_text("utf-8")), f"{path.name} → {target}#{anchor}"


def anchors(text: str) -> set[str]:
    """Give what GitHub makes of the headings."""
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


def test_the_codes_of_bad_ends_of_runs_are_all_described() -> None:
    """Those that are raised in the code, and those of errors that no run foresees."""
    sources = [*(DOCS.parent / "notifications").rglob("*.py"), *(DOCS.parent / "reviews").rglob("*.py")]
    raised = {code for path in sources for code in re.findall(r'GaveUp\("(\w+)"', path.read_text("utf-8"))}
    named = {run_ends.STOPPED_BY_HAND, run_ends.DATABASE_FAILED, run_ends.HOST_FAILED, run_ends.INTERNAL_ERROR}
    rows = re.findall(r"^\| `(?:failed|interrupted)` \| `(\w+)` \|", page("write-a-run.md"), re.MULTILINE)
    assert sorted(rows) == sorted({*raised, *named, import_file.BAD_FILE, "process_lost"})

"""Every sentence that a template or a module marks for translation stands in the Chinese catalogues."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.utils.translation import templatize
from django.utils.translation.trans_real import DjangoTranslation

ROOT = Path(__file__).parents[2]
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
MODULES = sorted(path for name in ("notifications", "reviews") for path in (ROOT / name).rglob("*.py"))
MARKS = {"_", "gettext", "gettext_lazy", "gettext_noop", "ngettext", "ngettext_lazy", "pgettext", "pgettext_lazy"}
CALL = re.compile(r"""\b[np]?gettext\((?:[^()'"]|'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")*\)""")
# Django says these in its own catalogue.
DJANGOS = {"Log in", "Log out", "Username", "Password"}


def marked(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.func.id not in MARKS:
            continue
        place = 1 if node.func.id.startswith("pgettext") else 0
        if len(node.args) > place and isinstance(node.args[place], ast.Constant):
            yield str(node.args[place].value)  # type: ignore[attr-defined]


def of_template(text: str) -> Iterator[str]:
    # templatize turns all but the marked sentences into X and B; what is left are calls on lines of their own.
    for call in re.findall(
        r"\b(?:n|p)?gettext\((?:[^()'\"]|'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\")*\)", templatize(text)
    ):
        yield from marked(ast.parse(re.sub(r"\bu(?=['\"])", "", call).strip()))


@pytest.fixture(scope="module")
def chinese() -> set[str]:
    catalogue: Any = DjangoTranslation("zh-hans")
    return {key if isinstance(key, str) else key[0] for each in catalogue._catalog._catalogs for key in each if key}


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.relative_to(ROOT / "templates").as_posix())
def test_every_sentence_of_a_template_is_translated(chinese, path) -> None:
    said = set(of_template(path.read_text(encoding="utf-8")))
    assert sorted(said - chinese - DJANGOS) == []


def test_every_sentence_of_the_code_is_translated(chinese) -> None:
    missing = {
        f"{path.relative_to(ROOT)}: {sentence}"
        for path in MODULES
        for sentence in marked(ast.parse(path.read_text(encoding="utf-8")))
        if sentence not in chinese
    }
    assert sorted(missing) == []


def test_the_search_finds_sentences_at_all() -> None:
    said = {sentence for path in TEMPLATES for sentence in of_template(path.read_text(encoding="utf-8"))}
    assert len(said) > 100
    assert "Skip to content" in said

"""Styles of a message's HTML stand in its elements when it is frozen, and nothing is read from elsewhere for them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.template import engines

from notifications.delivery import prepare
from notifications.delivery.inlined import with_styles
from notifications.types import REPORT_READY, NotificationType

STYLED = (
    "<style>p { color: red } a:hover { color: blue } @media (max-width: 600px) { p { color: green } }</style>"
    '<p style="margin: 0">{{ title }} <a href="https://example.com/?a=1&amp;b=2">there</a></p>'
)


@pytest.fixture
def kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[NotificationType]:
    """Give a type whose HTML has styles."""
    engine: Any = engines["django"]
    monkeypatch.setattr(engine.engine, "dirs", [str(tmp_path), *engine.engine.dirs])
    folder = tmp_path / "styled"
    folder.mkdir()
    for name, text in {"subject.txt": "Q3", "body.txt": "{{ title }}", "body.html": STYLED}.items():
        (folder / name).write_text(text)
    for loader in engine.engine.template_loaders:
        if hasattr(loader, "reset"):
            loader.reset()
    prepare._sources.cache_clear()
    yield replace(REPORT_READY, template="styled")
    prepare._sources.cache_clear()


def test_rules_stand_in_the_elements_and_data_stays_text(kind: NotificationType) -> None:
    html = prepare.render(kind, {"title": "<style>p{color:pink}</style><b>"}, report_id="r-1").html
    assert html is not None
    found = re.search(r'<p style="([^"]*)"', html)
    assert found
    assert sorted(rule.strip() for rule in found[1].split(";") if rule.strip()) == ["color: red", "margin: 0"]
    assert "&lt;style&gt;p{color:pink}&lt;/style&gt;&lt;b&gt;" in html
    assert 'href="https://example.com/?a=1&amp;b=2"' in html
    assert "@media (max-width" in html
    assert "hover" in html
    again = prepare.render(kind, {"title": "<style>p{color:pink}</style><b>"}, report_id="r-1").html
    assert again == html


def test_html_without_styles_stays_as_it_was_written() -> None:
    for html in ("<p>a</p>", '<p STYLE="x">&nbsp;</p>', "", "<p>unclosed <b>"):
        assert with_styles(html) is html


def test_no_sheet_is_read_from_elsewhere(tmp_path: Path) -> None:
    sheet = tmp_path / "a.css"
    sheet.write_text("p { color: pink }")
    for place in (str(sheet), f"file://{sheet}", "http://127.0.0.1:9/a.css"):
        html = f'<link rel="stylesheet" href="{place}"><style>@import "{place}"; b {{ color: red }}</style><p>x</p>'
        assert "pink" not in with_styles(html)


@pytest.mark.parametrize("rules", ["p{color:", "}}}", "p[{x:y}", "\u2028{}", "p{color:url(javascript:x)}"])
def test_broken_rules_stop_no_message(rules: str) -> None:
    assert "x</p>" in with_styles(f"<style>{rules}</style><p>x</p>")

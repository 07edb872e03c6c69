"""Icons: the sprite holds what pages name and nothing else; each stands beside a word, and nobody needs to see it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from reviews import icons, words
from reviews.bulk import words as bulk_words
from reviews.models import VERBS
from reviews.templatetags.console import badge, icon
from reviews.words import Badge
from tests.reviews.cases import login, make_case

BASE = Path(__file__).resolve().parents[2]
SPRITE = (BASE / "static" / "icons.svg").read_text(encoding="utf-8")
SHAPES = set(re.findall(r'<symbol id="([a-z0-9-]+)"', SPRITE))
# Of badges: the tone follows the icon.
_NAMED = re.compile(r'"([a-z0-9-]+)", "(?:good|warn|bad|busy|calm)"')


def named() -> set[str]:
    templates = "".join(path.read_text(encoding="utf-8") for path in (BASE / "templates").rglob("*.html"))
    code = "".join(path.read_text(encoding="utf-8") for path in (BASE / "reviews").rglob("*.py"))
    tables = {*icons.VERBS.values(), *icons.NEXT_ACTIONS.values(), *icons.RISKS.values()}
    return {*re.findall(r'{% icon "([^"]+)" %}', templates), *_NAMED.findall(code), *tables}


def test_the_sprite_holds_each_shape_that_is_named_and_no_other() -> None:
    assert named() - SHAPES == set()
    assert SHAPES - named() == set()


def test_the_sprite_names_its_version_and_its_licence_stands_beside_it() -> None:
    assert re.match(r"<!-- Icons of Lucide \d+\.\d+\.\d+ ", SPRITE)
    assert "ISC License" in (BASE / "static" / "icons-licence.txt").read_text(encoding="utf-8")
    assert "style" not in SPRITE, "the content policy forbids it"


def test_every_badge_has_a_shape_of_the_sprite_and_a_word() -> None:
    tables = [value for module in (words, bulk_words) for value in vars(module).values() if isinstance(value, dict)]
    badges = [one for table in tables for one in table.values() if isinstance(one, Badge)]
    assert len(badges) > 40
    assert [one for one in badges if one.icon not in SHAPES or not str(one.word)] == []


def test_every_decision_has_its_icon() -> None:
    assert set(VERBS) <= set(icons.VERBS)


def test_an_icon_is_hidden_from_who_hears_the_page_and_has_a_size_without_the_style_sheet() -> None:
    shown = str(badge(words.STATES["accepted"]))
    assert 'aria-hidden="true"' in shown
    assert shown.endswith("</svg>Accepted by provider</span>")
    assert 'width="16" height="16"' in str(icon("check"))


@pytest.mark.django_db(databases=["default", "owner"])
@pytest.mark.role("owner")
def test_no_sign_of_a_font_stands_for_an_icon_any_more() -> None:
    intent = make_case()
    pages = [login("lena").get(path).content.decode() for path in ("/reviews/", f"/reviews/{intent.pk}/")]
    assert re.findall("[✓✕⊘◷⇢↻■○≠↩⚑◇⏸⏻◆◉◍]", "".join(pages)) == []

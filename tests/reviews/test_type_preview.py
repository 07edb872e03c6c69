"""The preview of a type's messages in the admin: nothing is sent, kept or run."""

from __future__ import annotations

import html as markup
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, TypedDict

import pytest
from django.db import connection, transaction
from django.template import engines

from notifications import preview as previews
from notifications.cli.seed import rejected
from notifications.delivery import render
from notifications.models import NotificationTypeRow
from notifications.states import NextAction
from notifications.types import REPORT_READY, NotificationType, registry
from notifyops.headers import policy
from tests.reviews.cases import login, make_case

pytestmark = pytest.mark.django_db(databases=["default", "owner"], transaction=True)
PAGE = "/admin/notifications/notificationtyperow/report_ready/preview/"


class Everything(TypedDict):
    title: str
    count: int
    urgent: bool
    names: list[str]
    more: dict[str, str]


def show(data: Any, locale: str = "", report_id: str = "r-77", who: str = "lena") -> Any:
    text = data if isinstance(data, str) else json.dumps(data)
    return login(who).post(PAGE, {"values": text, "locale": locale, "report_id": report_id})


def of(answer: Any, name: str) -> str:
    found = re.search(rf'id="{name}"[^>]*>(.*?)</(?:dd|pre|p|ul)>', answer.content.decode(), re.DOTALL)
    assert found, name
    return markup.unescape(found[1])


@pytest.fixture
def folder(tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Give a folder of templates that the type of this test is rendered from."""
    engine: Any = engines["django"]
    monkeypatch.setattr(engine.engine, "dirs", [str(tmp_path), *engine.engine.dirs])
    monkeypatch.setitem(registry._types, "report_ready", replace(REPORT_READY, template="mine"))
    (tmp_path / "mine").mkdir()
    yield tmp_path / "mine"
    forget()


def forget() -> None:
    """Let the next message be rendered from what the files hold now."""
    for loader in engines["django"].engine.template_loaders:  # type: ignore[attr-defined]
        if hasattr(loader, "reset"):
            loader.reset()
    render._sources.cache_clear()


def write(folder: Path, subject: str = "Hello", body: str = "Text", html: str | None = None) -> None:
    (folder / "subject.txt").write_text(subject)
    (folder / "body.txt").write_text(body)
    if html is not None:
        (folder / "body.html").write_text(html)
    forget()


def test_it_opens_with_a_made_up_message_and_shows_what_is_typed() -> None:
    first = login("lena").get(PAGE)
    assert "Example of title" in of(first, "text")
    answer = show({"title": "Q3 <b>"})
    assert answer.status_code == 200
    assert "Q3 <b>" in of(answer, "text")
    assert "r-77" in of(answer, "text")
    assert "Q3 <b>" not in answer.content.decode(), "what a template gives is text here"
    assert "No warnings" in of(answer, "warnings")
    assert answer["Cache-Control"].startswith("max-age=0")


def test_each_language_has_its_own_templates() -> None:
    assert of(show({"title": "Q3"}), "subject") != of(show({"title": "Q3"}, "zh-hans"), "subject")


def test_warnings_are_in_the_readers_language(folder: Path) -> None:
    write(folder, subject="x" * 90, body="{{ nobody }}")
    told = login("lena").get(PAGE, headers={"Accept-Language": "zh-hans"})
    warnings = of(told, "warnings")
    assert "主题有 90 个字符" in warnings
    assert "模板输出 nobody" in warnings
    assert "most inboxes" not in warnings


def test_the_html_part_stands_in_a_frame_that_may_run_nothing(folder: Path) -> None:
    evil = '<script>alert(1)</script><img src=x onerror="alert(2)"><a href="javascript:alert(3)">x</a>"></iframe>'
    write(folder, html=evil)
    answer = show({"title": "Q3"})
    page = answer.content.decode()
    frame = re.search(r"<iframe([^>]*)></iframe>", page)
    assert frame
    assert 'sandbox=""' in frame[1]
    kept = re.search(r'srcdoc="([^"]*)"', frame[1])
    assert kept
    assert markup.unescape(kept[1]) == evil
    assert "<script>alert" not in page
    assert 'onerror="' not in page
    given = {part.strip() for part in answer["Content-Security-Policy"].split(";")}
    assert given == {part.strip() for part in policy().split(";")}


def test_warnings_name_what_is_missing_too_long_or_left_empty(folder: Path) -> None:
    write(folder, subject="x" * 79, body=" {{ titel }}{% for one in names %}{{ one }}{{ forloop.counter }}{% endfor %}",
          html="{% with a=title %}<p>{{ a }} {{ report_id }}</p>{% endwith %}")  # fmt: skip
    said = of(show({"title": "Q3", "odd": 1}), "warnings")
    assert "the templates print titel" in said
    assert "no text part" in said
    assert "most inboxes show 78" in said
    assert "data.odd" in said
    assert "forloop" not in said
    assert "print a," not in said
    write(folder, subject="", body="")
    said = of(show({"title": "Q3"}), "warnings")
    assert "the subject is empty" in said


@pytest.mark.parametrize(
    ("data", "sentence"),
    [("{", "no JSON object"), ("[1]", "no JSON object"), ({}, "wants title: string"), ({"title": 3}, "title: string")],
)
def test_bad_data_is_refused_with_a_sentence(data: Any, sentence: str) -> None:
    answer = show(data)
    assert answer.status_code == 422
    assert sentence in markup.unescape(answer.content.decode())


def test_a_template_that_fails_says_its_fault_and_not_what_was_typed(folder: Path) -> None:
    write(folder, body="{% load nothing_such %}")
    answer = show({"title": "CANARY-TEXT"})
    assert answer.status_code == 422
    assert "TemplateSyntaxError" in answer.content.decode()
    assert "CANARY-TEXT" not in of(answer, "fault")


def test_nothing_is_written_or_sent_by_looking() -> None:
    client = login("lena")
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION READ ONLY")
        assert client.get(PAGE).status_code == 200
        transaction.set_rollback(True)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION READ ONLY")
        answer = client.post(PAGE, {"values": '{"title": "Q3"}', "locale": "", "report_id": "r-1"})
        assert answer.status_code == 200
        transaction.set_rollback(True)


@pytest.mark.parametrize("who", ["vera", "olga", "sam"])
def test_who_has_no_business_there_sees_nothing(who: str) -> None:
    assert login(who).get(PAGE).status_code == 403


def test_an_unknown_type_is_404_and_one_that_left_the_code_too() -> None:
    NotificationTypeRow.objects.using("owner").create(name="old_type", channel="email", enabled=False)
    for name in ("nothing", "old_type"):
        assert login("lena").get(PAGE.replace("report_ready", name)).status_code == 404


def test_samples_fit_any_schema() -> None:
    kind = NotificationType(name="everything", template="x", data=Everything)
    assert kind.problems(previews.sample(kind)) == []


def test_a_case_that_the_type_caused_links_its_templates() -> None:
    steps = rejected("invalid_data", 422, NextAction.FIX_CONFIG)
    intent = make_case(steps)
    assert f'href="{PAGE}"' in login("lena").get(f"/reviews/{intent.pk}/").content.decode()
    assert PAGE not in login("olga").get(f"/reviews/{intent.pk}/").content.decode()

"""Simplified Chinese is complete, also for the sentences of codes that a pure file holds."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.utils import translation

from notifications.policy.codes import OWN_CODES, SERVICE_NAMES
from reviews import hints

CATALOGUES = sorted(
    path for depth in ("*", "*/*") for path in Path().glob(f"{depth}/locale/zh_Hans/LC_MESSAGES/django.po")
)


@pytest.mark.parametrize("code", sorted(OWN_CODES))
def test_every_code_of_ours_has_its_sentence_in_chinese(code) -> None:
    with translation.override("zh-hans"):
        assert re.search("[\u4e00-\u9fff]", hints.meaning(code))


def test_no_message_is_left_untranslated_or_doubtful() -> None:
    assert len(CATALOGUES) == 3
    for catalogue in CATALOGUES:
        text = catalogue.read_text(encoding="utf-8")
        entries = text.split("\n\n")[1:]
        assert [entry for entry in entries if re.search(r'msgstr(\[0\])? ""\Z', entry.strip())] == []
        assert "#, fuzzy" not in text
        assert catalogue.with_suffix(".mo").is_file()


@pytest.mark.parametrize("name", sorted(SERVICE_NAMES))
def test_every_answer_of_a_mail_service_is_said_in_both_languages(name) -> None:
    code = f"postmark.422.{name}"
    assert hints.meaning(code) == SERVICE_NAMES[name]
    assert hints.cure(code)
    with translation.override("zh-hans"):
        assert re.search("[\u4e00-\u9fff]", hints.meaning(code))
        assert re.search("[\u4e00-\u9fff]", hints.label(code))

"""One thing has one name in Chinese too: each term of the glossary is translated by the same word everywhere."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
CATALOGUES: Final = sorted(
    path for ours in ("notifications", "reviews") for path in (ROOT / ours).glob("**/zh_Hans/LC_MESSAGES/django.po")
)
TERMS: Final = {
    "cases?": "事项",
    "providers?": "服务商",
    "attempts?": "尝试",
    "leads?": "组长",
    "templates?": "模板",
    "queue": "队列",
    "retry": "重试",
    "workers?": "工作进程",
    "notifications?": "通知",
    "approve": "批准",
    "receipts?": "回执",
}
# Names that a term had beside its own.
NEVER: Final = ("案例", "个案", "此案", "请负责人")
# Where Chinese leaves the thing unsaid, or the English word means something else.
EXCUSED: Final = (
    "Your account does not have the permission to decide cases together",
    "Your account may not decide cases together",
    "Your account may not see or do this",
    "Given back: anybody can take the case.",
)


def entries(path: Path) -> list[tuple[str, str]]:
    found = []
    for block in re.split(r"\n\s*\n", path.read_text(encoding="utf-8")):
        english, chinese = (said(block, name) for name in ("msgid", r"msgstr(?:\[0\])?"))
        if english:
            found.append((english, chinese))
    return found


def said(block: str, name: str) -> str:
    found = re.search(rf'^{name} ((?:"(?:\\.|[^"\\])*"\s*)+)', block, re.MULTILINE)
    return "".join(re.findall(r'"((?:\\.|[^"\\])*)"', found[1])) if found else ""


@pytest.mark.parametrize(("english", "chinese"), TERMS.items(), ids=TERMS.values())
def test_a_term_is_translated_by_one_word(english: str, chinese: str) -> None:
    every = [entry for path in CATALOGUES for entry in entries(path)]
    about = [
        entry
        for entry in every
        if re.search(rf"\b{english}\b", entry[0], re.IGNORECASE) and not entry[0].startswith(EXCUSED)
    ]
    assert about
    assert [entry for entry in about if chinese not in entry[1]] == []


def test_no_term_has_a_second_name() -> None:
    every = [entry for path in CATALOGUES for entry in entries(path)]
    assert len(every) > 500
    assert [entry for entry in every if any(word in entry[1] for word in NEVER)] == []

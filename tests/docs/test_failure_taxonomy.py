"""The failure taxonomy says of every code what the code says. To write its table anew: NOTIFYOPS_TEST_WRITE_DOCS=1."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from django.utils import translation

from notifications.policy import causes, codes
from notifications.policy.causes import Cause, cause_of
from notifications.providers import resend_errors
from notifications.states import NextAction, ResultClass
from reviews import hints

PAGE: Final = Path(__file__).parents[2] / "docs" / "failure-taxonomy.md"
BEGIN, END = "<!-- begin: written by tests/docs -->\n", "<!-- end -->\n"
# What each cause comes to a person with, where it is no refusal for good (those are in causes.ACTIONS).
OTHERWISE: Final = {
    Cause.DOUBT: NextAction.QUERY_PROVIDER,
    Cause.TRANSPORT: NextAction.RETRY_SAME_KEY,
    Cause.SECOND: NextAction.CLOSE_DUPLICATE,
}
# A question's ends are no codes of a case: they stand in evidence.md.
OWN: Final = [code for code in codes.OWN_CODES if code not in codes.LOOKUP_CODES]


def rows() -> Iterator[tuple[str, str, str, str, str]]:
    for code in OWN:
        cause = cause_of(code)
        yield code, cause or "", hints.meaning(code), suggested(cause), hints.cure(code)
    for row in resend_errors.ROWS:
        code = f"resend.{row.status}.{row.name}"
        in_doubt = row.result_class in (ResultClass.IN_FLIGHT, ResultClass.CONFLICT)
        cause = Cause.DOUBT if in_doubt else cause_of(code)
        yield code, cause or "", row.meaning, suggested(cause), hints.cure(code)


def suggested(cause: Cause | None) -> str:
    action = causes.ACTIONS.get(cause) or OTHERWISE.get(cause) if cause else None
    return f"`{action}`" if action else "–"


def table() -> str:
    lines = ["| code | cause | meaning | suggested | cure |", "| -- | -- | -- | -- | -- |"]
    order = list(Cause)
    listed = sorted(rows(), key=lambda row: (order.index(Cause(row[1])) if row[1] else len(order)))
    lines += [f"| `{code}` | {cause} | {said} | {action} | {cure} |" for code, cause, said, action, cure in listed]
    return "\n".join(lines) + "\n"


def test_the_page_is_the_codes() -> None:
    with translation.override("en"):
        wanted_table = table()
    written = PAGE.read_text("utf-8")
    head, _, rest = written.partition(BEGIN)
    foot = rest.partition(END)[2]
    wanted = f"{head}{BEGIN}{wanted_table}{END}{foot}"
    if os.environ.get("NOTIFYOPS_TEST_WRITE_DOCS"):
        PAGE.write_text(wanted, "utf-8")
    assert written == wanted, "docs/failure-taxonomy.md tells something else; see the head of this file"


@pytest.mark.parametrize("code", OWN)
def test_every_code_has_a_cause_a_meaning_and_a_cure(code: str) -> None:
    assert cause_of(code) is not None
    assert hints.meaning(code)
    assert hints.cure(code)


def test_every_cause_is_told_apart() -> None:
    told = set(re.findall(r"^\| `(\w+)` \| [^|]{20,} \| [^|]+ \|$", PAGE.read_text("utf-8"), re.MULTILINE))
    assert told == {str(cause) for cause in Cause}

"""Reading Resend's list for messages that nobody here remembers: after a restore, page by page, newest first."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import datetime
from typing import Final

from yarl import URL

from notifications.providers.base import Listed, ListedPage
from notifications.providers.http import Answer, Failure
from notifications.providers.paced import Calls
from notifications.providers.resend_scan import BEFORE, Mail, json_object, read_page, tags_of

_LIST_BYTES: Final = 2_000_000
_MAIL_BYTES: Final = 8_000_000
PAGE: Final = 100
Unknown = Callable[[Sequence[str]], Awaitable[set[str]]]


async def census(
    calls: Calls, url: URL, *, since: datetime, cursor: str, unknown: Unknown
) -> AsyncIterator[ListedPage]:
    """Give the pages after `cursor` down to `since`; of the mails that are `unknown` by their ids, the tags.

    Ends early, without `done`, where the time or the rate of `calls` is over or the list cannot be read: `code` says
    why where it was no matter of time. Each page is whole: go on after its cursor.
    """
    while True:
        answer = await calls.get(
            url.with_query({"limit": str(PAGE)} | ({"after": cursor} if cursor else {})), _LIST_BYTES
        )
        if answer is None:
            return
        page = read_page(answer.body) if isinstance(answer, Answer) and answer.status == 200 else None
        if page is None or (page.has_more and (not page.mails or page.mails[-1].id == cursor)):
            read = isinstance(answer, Answer) and answer.status in (200, 422)  # 422: the cursor is gone from the list
            yield ListedPage((), "" if read else cursor, code="lookup.malformed" if read else refusal(answer))
            return
        young = [mail for mail in page.mails if mail.created_at >= since - BEFORE]
        strange = await unknown([mail.id for mail in young])
        listed = await _with_tags(calls, url, young, strange)
        if listed is None:
            return
        done = not page.has_more or len(young) < len(page.mails)
        cursor = page.mails[-1].id if page.mails else cursor
        yield ListedPage(tuple(listed), cursor, done=done, known=len(young) - len(strange))
        if done:
            return


async def _with_tags(calls: Calls, url: URL, mails: Sequence[Mail], unknown: set[str]) -> list[Listed] | None:
    """Read the tags of those; None where the time was over, or an answer was none."""
    chosen = [mail for mail in mails if mail.id in unknown]
    answers = await asyncio.gather(*(calls.get(url / mail.id, _MAIL_BYTES) for mail in chosen))
    listed = []
    for mail, answer in zip(chosen, answers, strict=True):
        if not isinstance(answer, Answer) or answer.status not in (200, 404):
            return None
        if answer.status == 200:
            listed.append(Listed(mail.id, mail.created_at, tags_of(json_object(answer.body)) or {}))
    return listed


def refusal(answer: Answer | Failure) -> str:
    """Give why an answer is none: a word for each thing that somebody can mend."""
    if isinstance(answer, Failure) or answer.status >= 500:
        return "lookup.unreachable"
    if answer.status == 429:
        return "lookup.rate_limited"
    restricted = json_object(answer.body).get("name") == "restricted_api_key" and answer.status == 401
    return "lookup.restricted_key" if restricted else "lookup.refused"

"""Asking Resend "did you get this?": by id, and by one bounded scan of its list that answers many questions.

Source: resend.com/docs/api-reference/emails/list-emails and retrieve-email, /docs/api-reference/pagination (read
2026-09). Needs a key with full access: one that may only send is refused with 401 restricted_api_key.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from ssl import SSLContext
from typing import Final

from notifications.providers.base import ListedPage, LookupBudget, LookupQuery, LookupResult
from notifications.providers.http import Answer, Failure, Transport
from notifications.providers.paced import CONNECTIONS, Calls
from notifications.providers.resend import CAPABILITIES, emails_url, headers
from notifications.providers.resend_census import Unknown, census, refusal
from notifications.providers.resend_scan import (
    BEFORE,
    Mail,
    Page,
    Scan,
    Sought,
    is_id,
    json_object,
    read_page,
    sought,
    status_of,
    tags_of,
    time_of,
)
from notifications.states import Found

PAGE: Final = 100
# Questions that were asked as one scan; each hundred may have a hundred newer mails of others before it.
_PAGES_EACH: Final = 2
# A list of a hundred mails with long subjects; one mail with its HTML.
_LIST_BYTES: Final = 2_000_000
_MAIL_BYTES: Final = 8_000_000


class ResendLookup:
    """What one account can be asked. `base_url` is the API's or the sandbox's; `api_key` has full access."""

    capabilities = CAPABILITIES

    def __init__(
        self,
        *,
        base_url: str,
        api_key: str,
        user_agent: str = "notifyops/1.0",
        timeout_s: float = 10.0,
        ssl: SSLContext | None = None,
    ) -> None:
        """Check the settings; no connection is made. Raises ValueError with a sentence, and never the key in it."""
        self._url = emails_url(base_url)
        self._timeout_s = timeout_s
        self._transport = Transport(headers=headers(api_key, user_agent), connections=CONNECTIONS, ssl=ssl)

    async def lookup(self, queries: Sequence[LookupQuery], budget: LookupBudget) -> AsyncIterator[LookupResult]:
        """Answer the questions as they are decided: those with an id first, then all others by one scan."""
        calls = Calls(self._transport, budget, self._timeout_s)
        refused, doubt = await self._check_witness(calls, budget)
        if refused is not None:
            for query in queries:
                yield LookupResult(query.ref, Found.UNAVAILABLE, "none", refused)
            return
        wanted: list[Sought] = []
        for query in queries:
            one = sought(query)
            if query.provider_id is None and one is not None:
                wanted.append(one)
                continue
            found = await self._by_id(calls, query, one)
            if found is None:
                return
            if found.answer is Found.NOT_FOUND and one is not None:
                # Under its own id it is not there; under another one, which its tags tell of, it may be.
                wanted.append(one)
                continue
            yield _seen(found, doubt)
        async for result in self._scan(calls, wanted, budget):
            yield _seen(result, doubt)

    async def listed(
        self,
        since: datetime,
        cursor: str,
        unknown: Unknown,
        budget: LookupBudget,
    ) -> AsyncIterator[ListedPage]:
        """Give what was taken since then, newest first, from after `cursor`; of those that are `unknown`, the tags.

        Nothing where the key is known to be blind, or the clocks apart: a list that lacks ours is not read for ours.
        """
        calls = Calls(self._transport, budget, self._timeout_s)
        refused, doubt = await self._check_witness(calls, budget)
        if refused or doubt:
            yield ListedPage((), cursor, code=refused or doubt)
            return
        pages = census(calls, self._url, since=since, cursor=cursor, unknown=unknown)
        async for page in pages:
            yield page

    async def close(self) -> None:
        """Give back the sockets."""
        await self._transport.close()

    async def _check_witness(self, calls: Calls, budget: LookupBudget) -> tuple[str | None, str | None]:
        """Give why nothing can be asked at all, and why no absence is to be believed: another account, or clock."""
        witness = budget.witness
        if witness is None:  # the asker knows of none, and believes no absence before something is found
            return None, None
        if not is_id(witness):  # it cannot be asked for, and so shows nothing
            return None, "lookup.no_witness"
        answer = await calls.get(self._url / witness, _MAIL_BYTES)
        if answer is None:
            return None, "lookup.other_account"
        if isinstance(answer, Failure) or (answer.status != 200 and not _is_absent(answer)):
            return refusal(answer), None
        fields = json_object(answer.body)
        if fields.get("id") != witness:
            return None, "lookup.other_account"
        return None, None if _is_dated(fields.get("created_at"), budget.taken) else "lookup.clock_apart"

    async def _by_id(self, calls: Calls, query: LookupQuery, one: Sought | None) -> LookupResult | None:
        """Ask for one message by its id; None where the time is over."""
        mail_id = query.provider_id
        if mail_id is None:
            return LookupResult(query.ref, Found.UNAVAILABLE, "none", "lookup.erased")
        if not is_id(mail_id):
            return LookupResult(query.ref, Found.INCONCLUSIVE, "none", "lookup.malformed")
        answer = await calls.get(self._url / mail_id, _MAIL_BYTES)
        if answer is None:
            return None
        if isinstance(answer, Failure) or (answer.status != 200 and not _is_absent(answer)):
            return LookupResult(query.ref, Found.UNAVAILABLE, "id", refusal(answer))
        if answer.status != 200:
            code = None if query.settled else "lookup.not_settled"
            return LookupResult(query.ref, Found.INCONCLUSIVE if code else Found.NOT_FOUND, "id", code)
        fields = json_object(answer.body)
        tags = tags_of(fields)
        if fields.get("id") != mail_id:
            return LookupResult(query.ref, Found.INCONCLUSIVE, "id", "lookup.malformed")
        if one is not None and tags is not None and not tags.items() >= one.tags.items():
            return LookupResult(query.ref, Found.INCONCLUSIVE, "id", "lookup.unproven")
        return LookupResult(query.ref, Found.FOUND, "id", ids=(mail_id,), status=status_of(fields))

    async def _scan(self, calls: Calls, wanted: list[Sought], budget: LookupBudget) -> AsyncIterator[LookupResult]:
        """Read the list from its newest mail down, until it has passed the time of every question."""
        scan, cursor, seen = Scan(wanted, budget.as_of), "", set[str]()
        for _ in range(budget.pages + _PAGES_EACH * len(wanted) // PAGE if wanted else 0):
            answer = await calls.get(self._url.with_query({"limit": str(PAGE)} | _after(cursor)), _LIST_BYTES)
            page = read_page(answer.body) if isinstance(answer, Answer) and answer.status == 200 else None
            if page is None or _goes_round(page, seen):
                for result in scan.cut_short(*_why_cut(answer)):
                    yield result
                return
            if await self._confirm(calls, scan, scan.candidates(page)):
                decided = scan.passed() if page.has_more else scan.ended()
            else:
                decided = scan.cut_short(*_why_cut(calls.limited))
            for result in decided:
                yield result
            if scan.is_done:
                return
            cursor = page.mails[-1].id
            seen.add(cursor)
        for result in scan.cut_short(Found.INCONCLUSIVE, "lookup.page_cap"):
            yield result

    async def _confirm(self, calls: Calls, scan: Scan, mails: list[Mail]) -> bool:
        """Look at each mail that may be ours; give whether time and rate were enough for all of them."""
        answers = await asyncio.gather(*(calls.get(self._url / mail.id, _MAIL_BYTES) for mail in mails))
        for mail, answer in zip(mails, answers, strict=True):
            if answer is not None:
                fields = json_object(answer.body) if isinstance(answer, Answer) and answer.status == 200 else {}
                scan.confirm(mail, fields if fields.get("id") == mail.id else None)
        return None not in answers and calls.limited is None


def _after(cursor: str) -> dict[str, str]:
    return {"after": cursor} if cursor else {}


def _goes_round(page: Page, seen: set[str]) -> bool:
    """Say whether the list leads nowhere: more is promised, and no new mail stands at the page's end."""
    return page.has_more and (not page.mails or page.mails[-1].id in seen)


def _why_cut(answer: Answer | Failure | None) -> tuple[Found | None, str]:
    """Give what the questions get that a broken-off scan leaves open; nothing where only our time was over."""
    if answer is None:
        return None, ""
    if isinstance(answer, Answer) and answer.status in (200, 422):  # 422: the cursor is gone from the list
        return Found.INCONCLUSIVE, "lookup.malformed"
    return Found.UNAVAILABLE, refusal(answer)


def _is_absent(answer: Answer) -> bool:
    """Say whether the API itself says that there is no such message; any server can say 404."""
    return answer.status == 404 and json_object(answer.body).get("name") == "not_found"


def _is_dated(created_at: object, taken: tuple[datetime, datetime] | None) -> bool:
    """Say whether the provider's time of a message fits ours; one that cannot be read contradicts nothing."""
    at = time_of(created_at)
    return taken is None or at is None or taken[0] - BEFORE <= at <= taken[1] + BEFORE


def _seen(result: LookupResult, doubt: str | None) -> LookupResult:
    """Believe no absence where the witness made it doubtful."""
    if doubt is None or result.answer is not Found.NOT_FOUND:
        return result
    return LookupResult(result.ref, Found.INCONCLUSIVE, result.method, doubt)

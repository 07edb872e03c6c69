"""Asking Twilio "did you get this?": by id, and by one list for each number, which answers all questions about it.

The list is not filtered by DateSent: what still waits at the provider has none, and would be missing. Source:
twilio.com/docs/messaging/api/message-resource, "Read multiple Message resources" (read 2026-11).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from typing import Final

from yarl import URL

from notifications.providers.base import LookupBudget, LookupQuery, LookupResult
from notifications.providers.http import Answer, Failure, Transport
from notifications.providers.paced import CONNECTIONS, Calls
from notifications.providers.resend_census import refusal
from notifications.providers.resend_scan import BEFORE
from notifications.providers.twilio import CAPABILITIES, Login, is_sid, json_object, messages_url
from notifications.providers.twilio_scan import Pages, Sought, sought, status_of, time_of
from notifications.states import Found

PAGE: Final = 200
# Two hundred texts of 1,600 characters, with all that stands around them; and one.
_LIST_BYTES: Final = 2_000_000
_ONE_BYTES: Final = 65_536


class TwilioLookup:
    """What one account can be asked, with a login that may read its messages."""

    capabilities = CAPABILITIES

    def __init__(self, *, base_url: str, secret: str, timeout_s: float = 10.0) -> None:
        """Check the settings; no connection is made. Raises ValueError with a sentence, and never the secret in it."""
        login = Login.of(secret)
        self._url = messages_url(base_url, login.account)
        self._timeout_s = timeout_s
        self._transport = Transport(headers=login.headers(), connections=CONNECTIONS)

    async def lookup(self, queries: Sequence[LookupQuery], budget: LookupBudget) -> AsyncIterator[LookupResult]:
        """Answer the questions as they are decided: those with an id first, then number by number."""
        calls = Calls(self._transport, budget, self._timeout_s)
        refused, doubt = await self._check_witness(calls, budget)
        if refused is not None:
            for query in queries:
                yield LookupResult(query.ref, Found.UNAVAILABLE, "none", refused)
            return
        by_number: dict[str, list[Sought]] = defaultdict(list)
        for query in queries:
            one = sought(query)
            if query.provider_id is None and one is not None:
                by_number[one.to].append(one)
                continue
            found = await self._by_id(calls, query)
            if found is None:
                return
            yield _seen(found, doubt)
        left = budget.pages + len(by_number)
        for wanted in by_number.values():
            results, left = await self._by_number(calls, wanted, budget, left)
            for result in results:
                yield _seen(result, doubt)

    async def close(self) -> None:
        """Give back the sockets."""
        await self._transport.close()

    async def _check_witness(self, calls: Calls, budget: LookupBudget) -> tuple[str | None, str | None]:
        """Give why nothing can be asked at all, and why no absence is to be believed: another account, or clock."""
        if budget.witness is None:  # the asker believes no absence before something is found
            return None, None
        if not is_sid(budget.witness):
            return None, "lookup.no_witness"
        answer = await calls.get(self._one(budget.witness), _ONE_BYTES)
        if answer is None or (isinstance(answer, Answer) and _is_absent(answer)):
            return None, "lookup.other_account"
        if isinstance(answer, Failure) or answer.status != 200:
            return refusal(answer), None
        fields = json_object(answer.body)
        if fields.get("sid") != budget.witness:
            return None, "lookup.other_account"
        at, taken = time_of(fields.get("date_created")), budget.taken
        is_dated = taken is None or at is None or taken[0] - BEFORE <= at <= taken[1] + BEFORE
        return None, None if is_dated else "lookup.clock_apart"

    async def _by_id(self, calls: Calls, query: LookupQuery) -> LookupResult | None:
        """Ask for one message by its id; None where the time is over."""
        sid = query.provider_id
        if sid is None:
            return LookupResult(query.ref, Found.UNAVAILABLE, "none", "lookup.erased")
        if not is_sid(sid):
            return LookupResult(query.ref, Found.INCONCLUSIVE, "none", "lookup.malformed")
        answer = await calls.get(self._one(sid), _ONE_BYTES)
        if answer is None:
            return None
        if isinstance(answer, Answer) and _is_absent(answer):
            code = None if query.settled else "lookup.not_settled"
            return LookupResult(query.ref, Found.INCONCLUSIVE if code else Found.NOT_FOUND, "id", code)
        if isinstance(answer, Failure) or answer.status != 200:
            return LookupResult(query.ref, Found.UNAVAILABLE, "id", refusal(answer))
        fields = json_object(answer.body)
        if fields.get("sid") != sid:
            return LookupResult(query.ref, Found.INCONCLUSIVE, "id", "lookup.malformed")
        return LookupResult(query.ref, Found.FOUND, "id", ids=(sid,), status=status_of(fields))

    async def _by_number(
        self, calls: Calls, wanted: Sequence[Sought], budget: LookupBudget, left: int
    ) -> tuple[list[LookupResult], int]:
        """Read one number's list; give the answers (none where only the time was over), and the pages that are left."""
        pages, query, seen = Pages(wanted), {"To": wanted[0].to, "PageSize": str(PAGE)}, set[str]()
        while left > 0:
            left -= 1
            answer = await calls.get(self._url.with_query(query), _LIST_BYTES)
            if answer is None:
                return [], 0
            if isinstance(answer, Failure) or answer.status != 200:
                return _all(wanted, Found.UNAVAILABLE, refusal(answer)), left
            fields = json_object(answer.body)
            items, following = fields.get("messages"), fields.get("next_page_uri")
            if not isinstance(items, list) or not (following is None or isinstance(following, str)):
                return _all(wanted, Found.INCONCLUSIVE, "lookup.malformed"), left
            if pages.add(items) or not following:
                return list(pages.results(budget.as_of)), left
            if following in seen or (query := _query_of(following)).get("To") != wanted[0].to:
                return _all(wanted, Found.INCONCLUSIVE, "lookup.malformed"), left
            seen.add(following)
        return _all(wanted, Found.INCONCLUSIVE, "lookup.page_cap"), left

    def _one(self, sid: str) -> URL:
        return self._url.with_path(self._url.path.removesuffix(".json") + f"/{sid}.json")


def _query_of(address: str) -> dict[str, str]:
    """Give the questions of the list's next page: of its address nothing else is used."""
    try:
        return dict(URL(address).query)
    except ValueError:
        return {}


def _is_absent(answer: Answer) -> bool:
    """Say whether the API itself says that there is no such message; any server can say 404."""
    return answer.status == 404 and json_object(answer.body).get("code") == 20404


def _all(wanted: Sequence[Sought], answer: Found, code: str) -> list[LookupResult]:
    return [LookupResult(one.query.ref, answer, "scan", code) for one in wanted]


def _seen(result: LookupResult, doubt: str | None) -> LookupResult:
    """Believe no absence where the witness made it doubtful."""
    if doubt is None or result.answer is not Found.NOT_FOUND:
        return result
    return LookupResult(result.ref, Found.INCONCLUSIVE, result.method, doubt)

"""The provider's reading API, answered from its ledger; and what watches that absence is said only where it is true.

Production's own look-up runs over it, with its paging, its pace and its witness: only the wire is played.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

from notifications.providers.base import Capabilities, ListedPage, LookupBudget, LookupQuery, LookupResult
from notifications.providers.http import Answer, Failure
from notifications.providers.resend import CAPABILITIES
from notifications.providers.resend_census import Unknown
from notifications.providers.resend_lookup import ResendLookup
from notifications.states import DeliveryStatus, Found
from tests.simulation.courier import Courier
from tests.simulation.database import at
from tests.simulation.faults import Look
from tests.simulation.provider import Absence, Acceptance, SimulatedProvider, Underway

# The list may lack what is younger (docs/guarantees.md, assumption 5); the clocks may differ by that much.
SETTLES_S: Final = 120.0
MOST_APART_S: Final = 300.0
LOST: Final = Failure(handed=False, code="not_sent.deadline")


@dataclass(slots=True)
class Reading:
    """One host's way to the reading API. `foreign`: its key is another team's, which sees nothing of ours."""

    provider: SimulatedProvider
    courier: Courier
    foreign: bool
    hidden: set[int]
    spare: bool = False

    async def get(self, url: URL, *, timeout_s: float, limit: int) -> Answer | Failure:
        """Read once, as production's transport does."""
        scheduler = self.provider.scheduler
        look = scheduler.plan.look()
        await scheduler.turn("look call")
        answer = self._answer(url, look)
        takes_s = scheduler.rng.choice((8.0, 9.5, 12.0) if look is Look.SLOW else (0.0, 0.1, 0.5))
        await asyncio.sleep(min(takes_s, timeout_s))
        await scheduler.turn("look answer")
        return LOST if look is Look.LOST or takes_s > timeout_s else answer

    async def close(self) -> None:
        """Nothing is open."""

    def _answer(self, url: URL, look: Look) -> Answer:
        if look is Look.FAILED:
            return _says(500, {"name": "application_error"})
        if look is Look.LIMITED:
            return _says(429, {"name": "rate_limit_exceeded"})
        shown = [] if self.foreign and not self.provider.scheduler.plan.calm else list(self._shown(look))
        _, _, wanted = url.path.rpartition("/emails")
        found: Any = self._page(url, shown) if not wanted else self._mail(wanted.strip("/"), shown)
        if found is None:
            return _says(404 if wanted else 422, {"name": "not_found"})
        return _says(200, "<html>" if look is Look.MALFORMED else found)

    def _shown(self, look: Look) -> Iterator[Acceptance]:
        """Give what the API shows now, newest first; the youngest may still be missing."""
        dice, now = self.provider.scheduler.rng, self.provider.scheduler.now
        for mail in sorted(self.provider.accepted, key=lambda one: (one.at, one.message_id), reverse=True):
            if mail.is_spare != self.spare:
                continue
            if now - mail.at < SETTLES_S and dice.random() < 0.5:
                continue
            if look is Look.HIDES and dice.random() < 0.5:
                self.hidden.add(mail.intent)
                continue
            yield mail

    def _page(self, url: URL, shown: list[Acceptance]) -> dict[str, Any] | None:
        after = url.query.get("after")
        ids = [mail.message_id for mail in shown]
        if after is not None and after not in ids:
            return None
        first = 0 if after is None else ids.index(after) + 1
        size = self.provider.scheduler.rng.choice((2, 4, 100))
        return {"data": [self._fields(mail) for mail in shown[first:][:size]], "has_more": len(shown) > first + size}

    def _mail(self, wanted: str, shown: list[Acceptance]) -> dict[str, Any] | None:
        for mail in shown:
            if mail.message_id == wanted:
                tags = [{"name": name, "value": value} for name, value in mail.sent["tags"].items()]
                return self._fields(mail) | {"tags": tags}
        return None

    def _fields(self, mail: Acceptance) -> dict[str, Any]:
        seen = self.courier.seen_of(mail)
        return {
            "id": mail.message_id,
            "to": [mail.sent["to"]],
            "subject": mail.sent["subject"],
            "created_at": at(mail.at, self.courier.start).isoformat(),
            "last_event": seen[-1].type.removeprefix("email.") if seen else "queued",
        }


@dataclass(slots=True)
class Watched:
    """Production's look-up. What it says is compared with the ledger; whose absence was a lie is noted."""

    provider: SimulatedProvider
    courier: Courier
    said: dict[int, set[DeliveryStatus]]
    foreign: bool
    spare: bool = False
    capabilities: Capabilities = CAPABILITIES

    async def lookup(self, queries: Sequence[LookupQuery], budget: LookupBudget) -> AsyncIterator[LookupResult]:
        asked = {query.ref: query for query in queries}
        began_at, hidden = self.provider.scheduler.now, set[int]()
        async for result in self._real(hidden).lookup(queries, budget):
            if result.answer is Found.FOUND:
                self.said.setdefault(result.ref, set()).add(result.status)
            elif result.answer is Found.NOT_FOUND:
                self._judge(asked[result.ref], began_at, hidden)
            yield result

    def listed(self, since: datetime, cursor: str, unknown: Unknown, budget: LookupBudget) -> AsyncIterator[ListedPage]:
        """Give the list as it is after a restore; what it hides is a lie."""
        return self._real(self.provider.lied_about).listed(since, cursor, unknown, budget)

    async def close(self) -> None:
        """Nothing is open."""

    def _real(self, hidden: set[int]) -> ResendLookup:
        real = ResendLookup(base_url="http://127.0.0.1", api_key="re_simulated")
        real._transport = Reading(  # type: ignore[assignment]
            self.provider, self.courier, self.foreign, hidden, self.spare
        )
        return real

    def _judge(self, query: LookupQuery, began_at: float, hidden: set[int]) -> None:
        """Compare an absence with what was accepted, or written, before it was asked for."""
        # Of what a restored database has forgotten no bytes are there.
        tags = json.loads(query.body)["tags"] if query.body else query.tags
        intent, generation = int(tags["intent"]), int(tags["generation"])
        messages: list[Acceptance | Underway] = [*self.provider.accepted, *self.provider.on_the_way]
        theirs = [
            one.written_at
            for one in messages
            if (one.intent, one.generation) == (intent, generation) and one.written_at <= began_at
        ]
        if not theirs:
            return
        scheduler = self.provider.scheduler
        apart = abs(scheduler.database_off_by_s) > MOST_APART_S
        stepped = scheduler.stepped_at >= self.provider.first_heard[intent]
        underway = any(one.at > one.written_at + SETTLES_S for one in self.provider.accepted if one.intent == intent)
        slow = underway or any(one.intent == intent for one in self.provider.on_the_way)
        if intent in hidden or apart or stepped or (slow and min(theirs) <= began_at - SETTLES_S):
            self.provider.lied_about.add(intent)
        else:
            moment = at(scheduler.now + scheduler.database_off_by_s, self.courier.start)
            detail = f"written at {theirs}, asked at {began_at}"
            self.provider.absences.append(Absence(intent, moment, detail))


def _says(status: int, body: Any) -> Answer:
    text = body if isinstance(body, str) else json.dumps(body)
    return Answer(status, CIMultiDictProxy(CIMultiDict[str]()), text.encode())

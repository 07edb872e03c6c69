"""A workplace with two accounts, of which the second takes over from the first."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from notifications.delivery.failover import fail_over
from notifications.delivery.shop import Account, Shop
from notifications.providers.base import SendResult
from notifications.states import Outcome, Phase, ResultClass
from tests.delivery.adapters import ACCEPTED, Scripted
from tests.delivery.workplace import WORKER, Workplace, connected

SENDER = "Acme <spare@example.com>"
BAD_KEY = SendResult(Outcome.REJECTED, ResultClass.FIX_CONFIG, "test.403.key", Phase.ANSWER_READ, http_status=403)
QUOTA = SendResult(Outcome.NOT_SENT, ResultClass.QUOTA, "test.429.daily_quota", Phase.ANSWER_READ, http_status=429)
_SPARE = """
INSERT INTO notifyops_private.notifications_provideraccount (name, kind, channel, sender, api_key_ref)
VALUES ('spare', 'resend', 'email', %s, '') RETURNING id
"""
_NAME = (
    "UPDATE notifyops_private.notifications_provideraccount SET fallback_id = %s, fallback_after_s = %s WHERE id = %s"
)
_OPEN = """
INSERT INTO notifyops_private.notifications_circuit (account_id, open_until, reason, code)
VALUES (%s, notifyops_private.clock_v1() + interval '1 hour', 'outage', 'test.down')
ON CONFLICT (account_id) DO UPDATE SET open_until = excluded.open_until, reason = 'outage'
"""


@dataclass
class Two:
    """Both accounts, their adapters, and the shop of a loop that can use both."""

    place: Workplace
    spare: int
    first: Scripted
    second: Scripted
    shop: Shop

    def hand_over(self, shop: Shop | None = None, worker: str = WORKER) -> bool:
        """Do what a loop does every few seconds."""
        used = shop or self.shop
        used.troubled.add(self.place.account)

        async def scene() -> bool:
            async with await connected(self.place.dsn()) as connection:
                return await fail_over(connection, used, worker=worker)

        more: bool = self.place.play(scene())
        return more

    def open(self, account: int) -> None:
        """Let the account not be called for an hour."""
        self.place.sql(_OPEN, account)

    def called(self) -> tuple[list[str], list[str]]:
        """Give the keys under which each account was called."""
        return [one.key for one in self.first.calls], [one.key for one in self.second.calls]


def two(place: Workplace, *answers: Any, spare: Any = ACCEPTED, after_s: float = 10.0) -> Two:
    """Make the second account, and a shop in which the first one answers so."""
    ((number,),) = place.sql(_SPARE, SENDER)
    place.sql(_NAME, number, after_s, place.account)
    first, second = Scripted(list(answers) or [ACCEPTED]), Scripted([spare])
    shop = place.shop(first)
    shop.accounts[place.account] = replace(shop.accounts[place.account], fallback=number)
    shop.accounts[number] = Account(number, "spare", SENDER, second, shop.rules.timeout_s)
    return Two(place, number, first, second, shop)

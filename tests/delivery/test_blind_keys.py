"""After a restore a look-up key that is blind frees nothing, and what the list shows is not forgotten again."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from notifications.providers.base import ListedPage
from notifications.providers.resend_lookup import ResendLookup
from notifications.sandbox.app import RunningSandbox, running_sandbox
from notifications.states import Found
from reviews.refusals import NotAllowedNow
from tests.delivery.asking import DAY, KEY, Told, evidence, says, witnessed
from tests.delivery.recovering import forgotten_send, opened, recovered, round_of_questions, tended, trouble
from tests.delivery.workplace import Workplace
from tests.intake.notify_cli import notify
from tests.reviews.deciding import decide

pytestmark = [pytest.mark.django_db(transaction=True, databases=["default", "owner"]), pytest.mark.slow]


@pytest.fixture
def other_team() -> Iterator[RunningSandbox]:
    with running_sandbox() as sandbox:
        yield sandbox


class Shallow(Told):
    """A look-up that cannot say, of an account whose list is read whole."""

    def __init__(self, place: Workplace, answer: Found, code: str) -> None:
        super().__init__(says(answer, code=code).answer)
        self._real = looking(place, place.sandbox.full_key)

    async def listed(self, *asked: Any) -> AsyncIterator[ListedPage]:
        async for page in self._real.listed(*asked):
            yield page

    async def close(self) -> None:
        await self._real.close()


def looking(place: Workplace, key: str, url: str = "") -> ResendLookup:
    return ResendLookup(base_url=url or place.sandbox.url, api_key=key, timeout_s=5)


def twice_sent(place: Workplace) -> int:
    """Give one that waits here in its first generation, of which a second one was sent in the lost time."""
    intent = place.enqueue()
    forgotten_send(place, intent, generation=2)
    place.later(2 * DAY)
    return intent


def stands(place: Workplace, intent: int) -> tuple[str, str | None]:
    row = place.intent(intent)
    return row.state, row.error_code


@pytest.mark.parametrize(
    ("blind", "answer"),
    [
        ("sending", ("unavailable", "lookup.restricted_key")),
        ("revoked", ("unavailable", "lookup.refused")),
        ("other team", ("inconclusive", "lookup.other_account")),
    ],
)
def test_a_blind_key_frees_nothing_and_the_list_is_read_again_by_one_that_sees(
    place: Workplace, other_team: RunningSandbox, blind: str, answer: tuple[str, str]
) -> None:
    witnessed(place)
    intent = twice_sent(place)
    keys = {
        "sending": (place.sandbox.sending_key, ""),
        "revoked": ("re_nobody_knows_this_one_any_more", ""),
        "other team": (other_team.full_key, other_team.url),
    }
    recovered(place, looking(place, *keys[blind]), ago_s=2 * DAY + 600)
    assert evidence(place, intent) == [answer]
    assert stands(place, intent) == ("needs_review", "restored")
    (read,) = [one for one in notify("recover", "--json").document["lists"] if one["account"] == "resend"]
    assert (read["read"], read["code"]) == (False, answer[1])
    assert trouble(place) is None
    assert place.turn() == []

    place.later(61)
    round_of_questions(place)
    assert stands(place, intent) == ("needs_review", "forgotten_message")
    place.turn()
    assert place.sandbox.ledger(KEY).accepted == 0


def test_a_list_that_shows_nothing_of_ours_is_no_list_of_a_new_account(
    place: Workplace, other_team: RunningSandbox
) -> None:
    """No message is known that the account has taken: the key may be another team's."""
    intent = twice_sent(place)
    recovered(place, looking(place, other_team.full_key, other_team.url), ago_s=2 * DAY + 600)
    assert evidence(place, intent) == [("inconclusive", "lookup.no_witness")]
    assert [one["code"] for one in notify("recover", "--json").document["lists"] if one["account"] == "resend"] == [
        "lookup.no_witness"
    ]
    place.later(61)
    round_of_questions(place)
    assert stands(place, intent) == ("needs_review", "forgotten_message"), "read again, from its top"


@pytest.mark.parametrize(
    ("answer", "code"), [(Found.UNAVAILABLE, "lookup.restricted_key"), (Found.INCONCLUSIVE, "lookup.page_cap")]
)
def test_what_the_list_shows_of_the_known_generation_bars_a_second_one_and_is_asked_by_its_id(
    place: Workplace, answer: Found, code: str
) -> None:
    """The list is read farther back than a scan, and by whichever key was there when it was read."""
    witnessed(place)
    intent = place.enqueue()
    mail = forgotten_send(place, intent)
    place.later(2 * DAY)
    shallow = Shallow(place, answer, code)
    recovered(place, shallow, ago_s=2 * DAY + 600)
    assert evidence(place, intent) == [(answer.value, code)]
    assert shallow.asked[-1][-1].provider_id == mail
    assert (stands(place, intent), trouble(place)) == (("needs_review", "restored"), None)
    for verb, more in (("retry", {"code": "provider_recovered"}), ("resend", {"typed": "demo-001"})):
        with pytest.raises(NotAllowedNow, match="forgotten here"):
            decide(verb, place.intent(intent), "lena", confirmed=True, shift_s=place.shift_s, **more)
    place.later(61)
    round_of_questions(place)
    row = place.intent(intent)
    assert (row.state, row.provider_message_id) == ("accepted", mail)
    assert notify("recover", "--json").document["unknown_here"] == []
    place.turn()
    assert place.sandbox.ledger(KEY).accepted == 1


def test_a_no_against_what_the_list_has_shown_frees_nothing(place: Workplace) -> None:
    witnessed(place)
    intent = place.enqueue()
    forgotten_send(place, intent)
    opened(place, 900)
    tended(place)
    place.later(130)
    round_of_questions(place, Shallow(place, Found.NOT_FOUND, ""))
    tended(place)
    assert stands(place, intent) == ("needs_review", "restored")
    assert place.turn() == []

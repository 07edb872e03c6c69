"""The panel “Protection” is true in every state: what the key brought, and a clock only where one runs."""

from __future__ import annotations

import html as entities
import re
from typing import Any

import pytest

from notifications.cli import seed
from notifications.models import Intent
from notifications.states import DeliveryStatus, EntryKind, Found, Known, NextAction, Outcome, State
from tests.reviews import cases
from tests.reviews.cases import go_on, login, make_case
from tests.reviews.deciding import decide, now

pytestmark = [pytest.mark.django_db(databases=["default", "owner"]), pytest.mark.role("owner")]

UNKNOWN_ONCE = seed.attempt(Outcome.UNKNOWN, "unknown.deadline", State.RETRY)
THEN_ACCEPTED = (*UNKNOWN_ONCE, *seed.accepted(7))
RUNS = (seed.Step(EntryKind.CLAIMED),)
BY_RECEIPT = (
    *cases.UNKNOWN,
    seed.Step(
        EntryKind.SETTLED,
        {"to_state": State.ACCEPTED, "delivery_status": DeliveryStatus.DELIVERED, "detail": {"says": "delivered"},
         "provider_message_id": "id-9"},
    ),
)  # fmt: skip
ONE, NO_CLOCK = "attempt 1 was accepted", ""
NOT_STARTED, OPEN, CLOSED = "the key's clock has not started", " UTC in ", "window closed"
FOUND = (*cases.UNKNOWN, seed.evidence(Found.FOUND, "id-1"))

# what happened → what was accepted, and what of a clock
TABLE: dict[str, tuple[tuple[seed.Step, ...], str, str]] = {
    "before any attempt": ((), "nothing was sent under this key yet", NOT_STARTED),
    "an attempt runs": (RUNS, "attempt 1 runs now, and its answer is awaited", NOT_STARTED),
    "one runs after an unknown one": ((*UNKNOWN_ONCE, *RUNS), "attempt 1 may have been accepted", OPEN),
    "accepted": (cases.ACCEPTED, ONE, NO_CLOCK),
    "delivered": (cases.DELIVERED, ONE, NO_CLOCK),
    "bounced": (cases.BOUNCED, ONE, NO_CLOCK),
    "soft bounced": (cases.SOFT, ONE, NO_CLOCK),
    "complained": (cases.COMPLAINED, ONE, NO_CLOCK),
    "suppressed": (cases.SUPPRESSED, ONE, NO_CLOCK),
    "unknown, then accepted": (THEN_ACCEPTED, "attempt 2 was accepted", NO_CLOCK),
    "unknown in the window": (cases.UNKNOWN, "attempts 1, 2, 3 may each have been accepted", OPEN),
    "unknown past it": (cases.WINDOW_OVER, "attempt 3 may have been accepted", CLOSED),
    "worker lost": (seed.lost_worker(), "attempt 1 may have been accepted", OPEN),
    "absent": (cases.ABSENT, "attempt 3 may have been accepted", CLOSED),
    "found, not adopted": (FOUND, "attempts 1, 2, 3 may each have been accepted", OPEN),
    "not sent": (cases.NOT_SENT, "none: no attempt was accepted", NOT_STARTED),
    "refused": (cases.RECIPIENT, "none: no attempt was accepted", NOT_STARTED),
    "conflict": (cases.CONFLICT, "an earlier request with this key was accepted, with other content", NO_CLOCK),
    "settled by a receipt": (BY_RECEIPT, "yes: a receipt of the provider says so", NO_CLOCK),
}


def panel(intent: Intent) -> dict[str, list[str]]:
    html = entities.unescape(login("vera").get(f"/reviews/{intent.pk}/").content.decode())
    section = html[html.index('id="h-protection"') : html.index('id="answers"')]
    found: dict[str, list[str]] = {}
    for name, said in re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", section, re.DOTALL):
        found.setdefault(name, []).append(re.sub(r"<svg.*?</svg>|<[^>]*>", "", said, flags=re.DOTALL).strip())
    return found


def check(said: dict[str, list[str]], accepted: str, clock: str) -> None:
    assert said["Accepted under this key"][0].partition(" · ")[0] == accepted
    if clock == NO_CLOCK:
        assert "Safe until" not in said
    else:
        assert clock in said["Safe until"][0], said


@pytest.mark.parametrize(("steps", "accepted", "clock"), TABLE.values(), ids=TABLE)
def test_the_panel_is_true_of(steps: Any, accepted: str, clock: str) -> None:
    check(panel(make_case(steps)), accepted, clock)


def test_what_a_person_adopted_counts_as_accepted_and_needs_no_clock() -> None:
    intent = make_case(FOUND)
    decide("adopt", intent, code="evidence_found")
    said = panel(now(intent))
    check(said, "yes, by the provider's answer, which a person adopted", NO_CLOCK)
    assert " · " in said["Accepted under this key"][0]


@pytest.mark.parametrize("verb", ["close", "wait"])
def test_a_decision_that_sends_nothing_changes_nothing_of_it(verb: str) -> None:
    intent = make_case(cases.BOUNCED)
    decide(verb, intent, code="cannot_be_fixed" if verb == "close" else "", minutes=15)
    check(panel(now(intent)), ONE, NO_CLOCK)


def test_a_new_generation_begins_anew_and_names_what_is_out_under_the_key_before() -> None:
    intent = make_case(cases.SOFT)
    assert "Under an earlier key" not in panel(intent)
    decide("retry", intent, code="provider_recovered")
    go_on(now(intent), seed.Step(EntryKind.RE_PREPARED, {"code": "soft_bounced"}))
    said = panel(now(intent))
    check(said, "nothing was sent under this key yet", NOT_STARTED)
    assert said["Under an earlier key"] == [ONE]
    assert said["Provider key"][0].endswith("~g2")


def test_the_queue_names_no_window_of_what_was_accepted_after_all() -> None:
    complained = seed.receipt(DeliveryStatus.COMPLAINED, Known.COMPLAINED, NextAction.ASK_LEAD)
    for steps, clock in (((*THEN_ACCEPTED, complained), "no window"), (cases.UNKNOWN, " UTC")):
        intent = make_case(steps)
        assert intent.safe_until is not None
        row = login("vera").get(f"/reviews/?q={intent.notification_id}").content.decode()
        cell = re.search(r'data-label="Safe until">(.*?)</td>', row, re.DOTALL)
        assert cell is not None
        assert clock in cell[1]


def test_a_panel_in_chinese_has_no_english_word() -> None:
    client = login("vera")
    client.post("/i18n/setlang/", {"language": "zh-hans"})
    html = client.get(f"/reviews/{make_case(cases.BOUNCED).pk}/").content.decode()
    assert "第 1 次尝试已被接受" in html

"""Five journeys from the page that an alert links to, to a decision on record: how many interactions each takes.

An interaction is a click or a key that commands: a shortcut, a choice, Tab, Enter. Texts that a person has to think out
(an address, an explanation, a number to type off) are counted apart. The seconds are the machine's: from asking for the
page until the answer stands there, with no time to read or think; they are printed, and asserted nowhere.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.db import connections
from playwright.sync_api import Page, expect

from notifications.cli import seed
from notifications.models import ConfigRevision, Intent, ProviderAccount
from notifications.states import NextAction, Outcome, State
from reviews.bulk.models import BulkRun
from reviews.models import Review
from tests.browser.console_site import Chromium, log_in
from tests.browser.test_pictures import keep
from tests.reviews import cases
from tests.reviews.bulk_cases import make_cases
from tests.reviews.cases import make_case, make_person

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
# What console.md promises, alert to decision.
MOST = 3
SAID = "Asked the owner of the report."
WRONG = seed.rejected("resend.403.validation_error", 403, NextAction.FIX_CONFIG)
CLOSING = seed.attempt(Outcome.UNKNOWN, "unknown.deadline", State.NEEDS_REVIEW, window_s=600.0,
                       next_action=NextAction.QUERY_PROVIDER)  # fmt: skip


@dataclass
class Hand:
    """A person at the page; counts what is done there."""

    page: Page
    interactions: list[str] = field(default_factory=list)
    texts: int = 0

    def press(self, key: str, to: str = "") -> None:
        """Press a key that commands; `to`: the focus must then stand there."""
        self.interactions.append(key)
        self.page.keyboard.press(key)
        if to:
            expect(self.page.locator(to)).to_be_focused()

    def click(self, name: str) -> None:
        """Click a link or a button."""
        self.interactions.append(f"click “{name}”")
        self.page.locator("main").get_by_text(name).first.click()

    def choose(self, place: str, code: str) -> None:
        """Choose from a list with the mouse."""
        self.interactions.append(f"choose {code}")
        self.page.select_option(place, code)

    def point(self, place: str) -> None:
        """Click a field or a button."""
        self.interactions.append(f"click {place}")
        self.page.click(place)

    def write(self, text: str, into: str) -> None:
        """Write where the focus stands."""
        expect(self.page.locator(into)).to_be_focused()
        self.texts += 1
        self.page.keyboard.type(text)


Steps = Callable[[Hand], None]


def play(chromium: Chromium, site: str, who: str, start: str, steps: Steps) -> tuple[Hand, float]:
    """Log in, open what the alert links to, do the steps; give what was done and the seconds."""

    def go(page: Page) -> tuple[Hand, float]:
        log_in(page, site, who)
        hand = Hand(page)
        began = time.monotonic()
        page.goto(site + start)
        steps(hand)
        took = time.monotonic() - began
        keep(page, f"journey-{start.strip('/').replace('/', '-')}")
        return hand, took

    return chromium.run(go, viewport={"width": 1280, "height": 800})


def tell(record_property: Any, name: str, hand: Hand, seconds: float) -> None:
    """Hand the figures to the end of the run, which prints them, and hold the promise."""
    done = ", ".join(hand.interactions)
    record_property(
        "journey", f"{name:<28} {len(hand.interactions)} interactions, {hand.texts} texts, {seconds:.1f} s: {done}"
    )
    assert len(hand.interactions) <= MOST, done


def decided(intent: Intent, action: str) -> None:
    """Hold that the decision is on record, and done."""
    assert list(Review.objects.filter(intent_id=intent.pk).values_list("action", "outcome")) == [(action, "done")]


def told(hand: Hand, sentence: str) -> None:
    expect(hand.page.locator("#case .banner").first).to_contain_text(sentence)


def retried(hand: Hand) -> None:
    hand.press("r", "#retry select")
    hand.press("1", "#retry button")
    hand.press("Enter")
    told(hand, "Retry queued")


def test_one_unknown(chromium: Chromium, site: str, record_property: Any) -> None:
    make_person("olga")
    intent = make_case(cases.UNKNOWN)
    hand, took = play(chromium, site, "olga", f"/reviews/{intent.pk}/", retried)
    decided(intent, "retry")
    tell(record_property, "one unknown, retried", hand, took)


def test_one_window_closing(chromium: Chromium, site: str, record_property: Any) -> None:
    make_person("olga")
    intent = make_case(CLOSING)

    def steps(hand: Hand) -> None:
        expect(hand.page.locator(".sentence")).to_contain_text("minutes")
        retried(hand)

    hand, took = play(chromium, site, "olga", f"/reviews/{intent.pk}/", steps)
    decided(intent, "retry")
    tell(record_property, "one window closing, retried", hand, took)


def test_one_bounce(chromium: Chromium, site: str, record_property: Any) -> None:
    make_person("lena")
    intent = make_case(cases.BOUNCED)

    def steps(hand: Hand) -> None:
        hand.press("e", "#address-correct")
        hand.write("bea@example.com", "#address-correct")
        hand.press("Tab")
        hand.write(SAID, "#text-correct")
        hand.press("Control+Enter")
        told(hand, "Closed, and owed to the other address")

    hand, took = play(chromium, site, "lena", f"/reviews/{intent.pk}/", steps)
    decided(intent, "correct")
    assert Intent.objects.filter(supersedes_id=intent.pk).exists()
    tell(record_property, "one bounce, corrected", hand, took)


def test_one_withdrawal(chromium: Chromium, site: str, record_property: Any) -> None:
    make_person("lena")
    intent = make_case(cases.NOT_SENT)

    def steps(hand: Hand) -> None:
        hand.press("w", "#withdraw select")
        hand.press("2", "#text-withdraw")
        hand.write(SAID, "#text-withdraw")
        hand.press("Control+Enter")
        told(hand, "Withdrawn")

    hand, took = play(chromium, site, "lena", f"/reviews/{intent.pk}/", steps)
    decided(intent, "withdraw")
    tell(record_property, "one withdrawal", hand, took)


def test_one_bad_configuration_with_400_cases(chromium: Chromium, site: str, record_property: Any) -> None:
    make_person("lena")
    make_cases(400, WRONG)
    with connections["owner"].cursor() as cursor:  # as autovacuum does within a minute
        cursor.execute("ANALYZE notifyops_private.notifications_intent, notifyops_private.notifications_logentry")
    account = ProviderAccount.objects.get()
    ConfigRevision.objects.create(account=account, revision=2, actor="user:lena", reason="New sender.", after={})

    def steps(hand: Hand) -> None:
        hand.click("Plan for all of these: fixed by revision 2")
        hand.click("Plan a retry")
        hand.write("400", "#typed")
        hand.press("Enter")
        expect(hand.page.get_by_role("heading", name="Progress")).to_be_visible()

    hand, took = play(chromium, site, "lena", "/reviews/groups/", steps)
    bulk = BulkRun.objects.get()
    assert (bulk.eligible_count, bulk.reason_code, bulk.run is not None) == (400, "configuration_fixed", True)
    tell(record_property, "400 of one configuration", hand, took)


def test_with_the_mouse_alone_each_takes_no_more(chromium: Chromium, site: str, record_property: Any) -> None:
    make_person("lena")
    unknown, bounce, withdrawn = (make_case(steps) for steps in (cases.UNKNOWN, cases.BOUNCED, cases.NOT_SENT))

    def retry(hand: Hand) -> None:
        hand.choose("#retry select", "provider_recovered")
        hand.point("#retry button")
        told(hand, "Retry queued")

    def correct(hand: Hand) -> None:
        hand.point("#address-correct")
        hand.write("bea@example.com", "#address-correct")
        hand.point("#text-correct")
        hand.write(SAID, "#text-correct")
        hand.point("#correct button")
        told(hand, "Closed, and owed to the other address")

    def withdraw(hand: Hand) -> None:
        hand.choose("#withdraw select", "sent_in_error")
        hand.point("#text-withdraw")
        hand.write(SAID, "#text-withdraw")
        hand.point("#withdraw button")
        told(hand, "Withdrawn")

    journeys = (("retry", unknown, retry), ("correct", bounce, correct), ("withdraw", withdrawn, withdraw))
    for verb, intent, steps in journeys:
        hand, took = play(chromium, site, "lena", f"/reviews/{intent.pk}/", steps)
        decided(intent, verb)
        tell(record_property, f"{verb}, mouse alone", hand, took)


def test_with_the_keys_alone_400_cases_take_no_more(chromium: Chromium, site: str, record_property: Any) -> None:
    make_person("lena")
    make_cases(201, WRONG)  # from here on the number is typed; how many more there are changes no step
    account = ProviderAccount.objects.get()
    ConfigRevision.objects.create(account=account, revision=2, actor="user:lena", reason="New sender.", after={})

    def steps(hand: Hand) -> None:
        hand.press("r")
        expect(hand.page.locator("main button.primary")).to_be_focused()
        hand.press("Enter")
        hand.write("201", "#typed")
        hand.press("Enter")
        expect(hand.page.get_by_role("heading", name="Progress")).to_be_visible()

    hand, took = play(chromium, site, "lena", "/reviews/groups/", steps)
    assert BulkRun.objects.get().reason_code == "configuration_fixed"
    tell(record_property, "all of one configuration, keys", hand, took)


def test_what_is_typed_into_a_text_is_no_order_until_control_and_enter(chromium: Chromium, site: str) -> None:
    make_person("lena")
    intent = make_case(cases.NOT_SENT)

    def go(page: Page) -> None:
        log_in(page, site, "lena", f"/reviews/{intent.pk}/")
        hand = Hand(page)
        hand.press("w", "#withdraw select")
        hand.press("2", "#text-withdraw")
        hand.press("Control+Enter")  # the text is missing: the form says so, and nothing is ordered
        assert page.locator("#withdraw textarea:invalid").count() == 1
        page.keyboard.type(SAID)
        page.keyboard.press("Enter")
        assert page.input_value("#text-withdraw") == f"{SAID}\n"

    chromium.run(go)
    assert not Review.objects.exists()

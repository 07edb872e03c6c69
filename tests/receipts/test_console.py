"""Receipts as people see them: in the case, in the queue, on the command line, in both languages."""

from __future__ import annotations

import json

import pytest

from notifications.models import LogEntry, ProviderEvent
from tests.intake.notify_cli import notify
from tests.receipts.post import PERMANENT, TRANSIENT, Provider
from tests.reviews.cases import login

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
KEY = "report-ready/demo-001"
MARKUP = '<img src=x onerror=alert(1)>"><script>{{7*7}}\x00 javascript:x ana@example.com'


def page(path: str, language: str = "en") -> str:
    response = login("olga").get(path, headers={"Accept-Language": language})
    assert response.status_code == 200
    return str(response.content.decode())


def test_a_case_shows_what_each_receipt_said(provider: Provider) -> None:
    intent = provider.accepted()
    for event_type, detail in (("email.delivery_delayed", {}), ("email.delivered", {}), ("email.bounced", TRANSIENT)):
        provider.say(event_type, intent, **detail)
        provider.apply()
    html = page(f"/reviews/{intent}/")
    log = html[html.index('id="h-log"') :]
    places = [log.index(f"</svg>{word}</span>") for word in ("Deferred", "Delivered", "Bounced for now")]
    assert places == sorted(places)
    assert log.count("A receipt came") == 3
    assert "refused it for now" in html
    assert "a new one goes out under a new key" not in html, "it was delivered as well: the door refuses that"
    assert "two leads may order another message" in html
    chinese = page(f"/reviews/{intent}/", "zh-hans")
    assert "A receipt came" not in chinese
    assert "Deferred" not in chinese


def test_what_only_came_back_says_what_a_retry_does(provider: Provider) -> None:
    intent = provider.accepted()
    provider.say("email.bounced", intent, **TRANSIENT)
    provider.apply()
    assert "a new one goes out under a new key" in page(f"/reviews/{intent}/")


def test_an_accepted_one_says_that_it_arrived_and_the_search_shows_it(provider: Provider) -> None:
    intent = provider.accepted()
    provider.say("email.delivered", intent)
    provider.apply()
    assert "That does not mean that it was read." in page(f"/reviews/{intent}/")
    assert "</svg>Delivered</span>" in page("/reviews/?q=demo-001&state=any")


def test_two_messages_under_one_key_are_explained(provider: Provider) -> None:
    intent = provider.accepted()
    provider.say("email.delivered", intent)
    provider.apply()
    provider.say("email.delivered", intent, email_id="5e9d-another")
    provider.apply()
    html = page(f"/reviews/{intent}/")
    assert "the recipient may have got both" in html
    assert "about another message of this notification" in html
    queue = page("/reviews/")
    assert "second_message" in queue
    assert "</svg>Delivered</span>" in queue
    assert "此通知的另一条消息" in page(f"/reviews/{intent}/", "zh-hans")


def test_a_failure_does_not_claim_that_nothing_was_accepted(provider: Provider) -> None:
    intent = provider.accepted()
    provider.say("email.failed", intent, failed={"reason": "reached_daily_quota"})
    provider.apply()
    html = page(f"/reviews/{intent}/")
    assert "then could not send it" in html
    assert "nothing was accepted" not in html


def test_the_command_line_tells_the_same(provider: Provider) -> None:
    intent = provider.accepted()
    provider.say("email.bounced", intent, **PERMANENT)
    assert "receipts     1 wait" in notify("status").out
    provider.apply()
    assert "receipts     0 wait" in notify("status").out
    shown = notify("show", KEY)
    assert " receipt " in shown.out
    assert "delivery_status      bounced" in shown.out
    told = notify("explain", KEY).out
    assert "a receipt came: bounced by event email.bounced (general 5.1.1). accepted → needs_review." in told
    document = notify("show", KEY, "--json").document
    assert document["delivery_status"] == "bounced"
    assert document["log"][-1]["detail"]["says"] == "bounced"


def test_hostile_words_of_a_webhook_are_neither_kept_nor_shown(provider: Provider) -> None:
    """H-SEC-3 and H-ERR-4: markup, NUL and an address where the provider explains a bounce."""
    intent = provider.accepted()
    bounce = {
        "type": "Permanent",
        "subType": MARKUP,
        "message": MARKUP,
        "diagnosticCode": [MARKUP, f"550 5.1.1 {MARKUP}"],
    }
    assert provider.say("email.bounced", intent, bounce=bounce, subject=MARKUP, to=[MARKUP]) == 200
    bounce["type"] = MARKUP
    assert provider.say("email.bounced", intent, bounce=bounce) == 200
    nonsense = {"type": MARKUP, "created_at": MARKUP, "data": {"email_id": MARKUP}}
    assert provider.post(json.dumps(nonsense).encode()) == 200
    provider.apply()
    provider.apply()
    assert provider.place.intent(intent).known == "bounced"
    # All but the hash, whose bytes may look like anything.
    events = ProviderEvent.objects.defer("raw_sha256")
    kept = repr([vars(row) for row in events]) + repr(list(LogEntry.objects.values("detail")))
    for part in ("onerror", "script", "example.com", "7*7", "\\x00"):
        assert part not in kept
    html = page(f"/reviews/{intent}/")
    assert "onerror" not in html

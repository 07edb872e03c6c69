"""A lead lifts the block that a provider's word has put on an address: with a reason, on record, and no complaint's."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import DatabaseError, connection, transaction

from notifications.cli import seed
from notifications.models import DeliveryBlock
from notifications.policy.codes import WEBHOOK_CODES, WEBPUSH_CODES
from notifications.policy.text_codes import TELEGRAM_CODES, TWILIO_CODES
from notifications.states import NextAction
from reviews.done_words import done_sentence
from reviews.models import Review
from reviews.record import Done
from tests.reviews import cases
from tests.reviews.cases import block, login, make_case, post

pytestmark = [pytest.mark.django_db(transaction=True)]
OF_PROVIDERS = WEBHOOK_CODES | WEBPUSH_CODES | TWILIO_CODES | TELEGRAM_CODES
STOPPED = seed.rejected("address_bounced", 422, NextAction.CORRECT_ADDRESS)
WHY = "The recipient's server was mended, and he confirmed it."


def lift(who: str, intent: Any, **more: Any) -> Any:
    return post(login(who), intent, "unblock", reason=WHY, **more)


@pytest.mark.parametrize("reason", ["bounced", "gone"])
def test_a_lead_lifts_it_with_a_reason_on_record(reason: str) -> None:
    intent = make_case(cases.BOUNCED)
    block(intent, reason)
    assert lift("lena", intent).status_code == 303
    assert not DeliveryBlock.objects.exists()
    review = Review.objects.get(action="unblock", outcome="done")
    assert (review.actor, review.reason, (review.before or {})["blocked"]) == ("user:lena", WHY, reason)
    page = login("lena").get("/reviews/log/?verb=unblock").content.decode()
    assert "Lift the block of the address" in page
    assert "server was mended" in page


def test_where_the_message_itself_came_back_nobody_is_told_to_wait_for_its_retry() -> None:
    came_back, stopped = make_case(cases.BOUNCED), make_case(STOPPED)
    for intent, said in ((came_back, "came back, and is not sent again"), (stopped, "waits for a retry")):
        block(intent)
        assert lift("lena", intent).status_code == 303
        assert said in told(intent)


def told(intent: Any) -> str:
    """Give what is said of a decision, as the page after it does."""
    review = Review.objects.get(action="unblock", intent=intent)
    return str(done_sentence(Done("unblock", intent.pk, review.at, after=review.after or {})))


@pytest.mark.parametrize("code", [code for code, text in OF_PROVIDERS.items() if "blocked on this channel" in text])
def test_at_the_case_whose_own_answer_closed_the_address_it_can_be_lifted(code: str) -> None:
    intent = make_case(seed.rejected(code, 410, NextAction.CORRECT_ADDRESS))
    block(intent, "gone")
    assert "/unblock" in login("lena").get(f"/reviews/{intent.pk}/").content.decode()
    assert lift("lena", intent).status_code == 303
    assert not DeliveryBlock.objects.exists()
    assert post(login("lena"), intent, "retry", reason_code="code_fixed").status_code == 303


def test_an_operator_may_not() -> None:
    intent = make_case(cases.BOUNCED)
    block(intent)
    assert lift("olga", intent).status_code == 403
    assert DeliveryBlock.objects.count() == 1
    form = f'action="/reviews/{intent.pk}/unblock"'
    assert form not in login("olga").get(f"/reviews/{intent.pk}/").content.decode()
    assert form in login("lena").get(f"/reviews/{intent.pk}/").content.decode()


def test_without_a_reason_it_stays() -> None:
    intent = make_case(cases.BOUNCED)
    block(intent)
    assert post(login("lena"), intent, "unblock").status_code == 422
    assert DeliveryBlock.objects.count() == 1


@pytest.mark.parametrize("reason", ["complained", "unsubscribed", "opted_out"])
def test_what_the_recipient_said_stays(reason: str) -> None:
    intent = make_case(cases.BOUNCED)
    block(intent, reason, mode="" if reason != "complained" else "sandbox")
    assert lift("lena", intent).status_code == 422
    assert DeliveryBlock.objects.get().reason == reason
    assert Review.objects.get(action="unblock").refusal == "not_blocked"


def test_a_complaints_case_offers_none() -> None:
    intent = make_case(cases.COMPLAINED)
    block(intent, "complained")
    assert "/unblock" not in login("lena").get(f"/reviews/{intent.pk}/").content.decode()
    assert lift("lena", intent).status_code == 422
    assert Review.objects.get(action="unblock").refusal == "complaint_stays"


def test_a_block_of_another_site_mode_or_address_stays() -> None:
    intent, other = make_case(cases.BOUNCED), make_case(cases.BOUNCED, recipient="bea@example.com")
    block(intent)
    block(intent, mode="live")
    block(other)
    assert lift("lena", intent).status_code == 303
    assert sorted(DeliveryBlock.objects.values_list("site_mode", flat=True)) == ["live", "sandbox"]


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("SELECT * FROM notifyops_private.unblock_v1(1, '', 'sandbox')", "only a person"),
        ("DELETE FROM notifyops_private.notifications_deliveryblock", "permission denied"),
    ],
)
def test_no_login_lifts_one_but_in_a_persons_name(statement: str, said: str) -> None:
    block(make_case(cases.BOUNCED))
    with pytest.raises(DatabaseError, match=said), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement)
    assert DeliveryBlock.objects.count() == 1

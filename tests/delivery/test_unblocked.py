"""After a block is lifted the next claim sends, and a case that it stopped may be retried."""

from __future__ import annotations

import pytest

from notifications.states import EntryKind, State
from tests.delivery.workplace import Workplace

pytestmark = pytest.mark.django_db(transaction=True)
_BLOCK = (
    "INSERT INTO notifyops_private.notifications_deliveryblock (channel, commitment, scope, reason, site_mode) "
    "SELECT 'email', commitment, '', 'bounced', 'sandbox' FROM notifyops_private.notifications_content "
    "WHERE intent_id = %s"
)
_LIFT = "SELECT reason FROM notifyops_private.unblock_v1(%s, 'user:lena', 'sandbox')"


def test_the_next_claim_sees_it_and_the_blocked_case_is_retried(place: Workplace) -> None:
    blocked = place.enqueue()
    place.sql(_BLOCK, blocked)
    place.turn()
    assert (place.intent(blocked).state, place.intent(blocked).error_code) == ("needs_review", "address_bounced")
    assert place.person(EntryKind.RETRIED, blocked, State.RETRY, delay_s=0).refused is None
    place.turn()
    assert place.intent(blocked).state == "needs_review", "while the block stands a retry is stopped again"
    assert place.sql(_LIFT, blocked, role="web") == [("bounced",)]
    assert place.sql(_LIFT, blocked, role="web") == []
    place.enqueue("demo-002")
    assert place.person(EntryKind.RETRIED, blocked, State.RETRY, delay_s=0).refused is None
    place.turn()
    assert set(place.states().values()) == {"accepted"}

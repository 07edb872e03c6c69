"""A case whose bytes were frozen in another site mode: what the page, the action and the command say of a retry."""

from __future__ import annotations

from io import StringIO
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command

from notifications.models import Intent, LogEntry
from reviews import actions
from reviews.models import Review
from reviews.person import from_host
from reviews.record import Order
from reviews.refusals import NotAllowedNow
from tests.reviews import cases
from tests.reviews.cases import login, make_case

pytestmark = [pytest.mark.django_db(databases=["default", "owner"]), pytest.mark.role("owner")]
TEXT = "The provider has no such message."


def sure(intent: Intent, code: str = "evidence_not_sent") -> Order:
    return Order(token=uuid4(), seq=intent.seq, reason_code=code, reason=TEXT, confirmed=True)


@pytest.mark.parametrize("steps", [cases.UNKNOWN, cases.ABSENT])
def test_what_may_be_out_is_not_retried_in_another_mode_and_nothing_is_used_up(settings: Any, steps) -> None:
    intent = make_case(steps)
    client, url = login("lena"), f"/reviews/{intent.pk}/"
    assert f'action="{url}retry"' in client.get(url).content.decode()
    settings.NOTIFYOPS_SITE_MODE = "redirect"
    html = client.get(url).content.decode()
    assert f'action="{url}retry"' not in html
    assert "The message was prepared in site mode “sandbox”, where an attempt may have been accepted" in html
    with pytest.raises(NotAllowedNow, match="Put the site back into that mode first"):
        actions.perform("retry", intent.pk, sure(intent), from_host())
    with pytest.raises(CommandError, match="Put the site back into that mode first"):
        call_command("review", "retry", str(intent.pk), "--reason-code", "evidence_not_sent", stdout=StringIO())
    assert not LogEntry.objects.filter(intent_id=intent.pk, kind="retried").exists()
    assert set(Review.objects.filter(intent_id=intent.pk).values_list("outcome", "refusal")) == {
        ("refused", "site_mode")
    }
    settings.NOTIFYOPS_SITE_MODE = "sandbox"
    code = "evidence_not_sent" if steps is cases.ABSENT else "provider_recovered"
    actions.perform("retry", intent.pk, sure(intent, code), from_host())


@pytest.mark.parametrize("steps", [cases.RECIPIENT, cases.SOFT, cases.NOT_SENT])
def test_what_is_prepared_anew_is_retried_in_any_mode(settings: Any, steps) -> None:
    intent = make_case(steps)
    settings.NOTIFYOPS_SITE_MODE = "live"
    actions.perform("retry", intent.pk, sure(intent, "provider_recovered"), from_host())
    assert Intent.objects.get(pk=intent.pk).state == "retry"

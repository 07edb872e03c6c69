"""The demo's rows: a case of every kind, none that would be delivered."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import call_command

from notifications.doctor import check_all
from notifications.models import Intent, LogEntry, Prepared
from reviews.models import Review

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_demo_fills_the_queue_once_with_a_case_of_every_kind() -> None:
    out = StringIO()
    call_command("seed_demo", stdout=out)
    first = Intent.objects.count()
    call_command("seed_demo", stdout=out)
    assert Intent.objects.count() == first
    known = set(Intent.objects.filter(state="needs_review").values_list("known", flat=True))
    assert known == {
        *("not_sent", "unknown", "conflict", "bounced", "soft_bounced", "complained", "invalid"),
        "awaiting_approval",
    }
    assert not Intent.objects.filter(state__in=["pending", "retry", "sending"]).exists()
    assert Intent.objects.filter(state="closed").count() == 1


def test_the_demo_breaks_no_rule_and_every_decision_in_its_log_is_on_record() -> None:
    call_command("seed_demo", stdout=StringIO())
    assert list(check_all()) == []
    decided = LogEntry.objects.filter(
        actor__isnull=False, kind__in=["retried", "undone", "released", "closed", "reopened"]
    )
    assert set(decided.values_list("intent_id", flat=True)) == set(Review.objects.values_list("intent_id", flat=True))


def test_a_case_of_the_demo_can_be_sent_again_in_the_mode_that_it_was_made_in(settings) -> None:
    """Bytes of another site mode are not sent: a retry of the demo's unknowns would only spend their evidence."""
    call_command("seed_demo", stdout=StringIO())
    assert set(Prepared.objects.values_list("site_mode", flat=True)) == {settings.NOTIFYOPS_SITE_MODE}

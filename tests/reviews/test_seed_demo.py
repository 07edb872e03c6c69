"""The demo's rows: a case of every kind, none that would be delivered."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import call_command

from notifications.models import Intent

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

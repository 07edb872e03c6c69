"""Naming the account that takes over: in the admin, with a reason, a revision, and no way back to where it began."""

from __future__ import annotations

import pytest
from django.db import connection

from notifications.models import Circuit, ConfigRevision, ProviderAccount
from tests.reviews.test_admin import EDIT, boss, fields

pytestmark = [pytest.mark.django_db(databases=["default", "owner"]), pytest.mark.role("owner")]


def spare(channel: str = "email", name: str = "spare", **more: object) -> ProviderAccount:
    return ProviderAccount.objects.create(
        name=name, kind="smtp", channel=channel, sender="Acme <reports@example.com>", api_key_ref="", **more
    )


def named(one: ProviderAccount | str, **changes: object) -> str:
    """Name it as the fallback of the first account; give the page that answers, empty where it was saved."""
    account = ProviderAccount.objects.get(name="resend")
    number = one.pk if isinstance(one, ProviderAccount) else one
    answer = boss().post(EDIT.format(account.pk), fields(account, fallback=number, **changes))
    return "" if answer.status_code == 302 else answer.content.decode()


def test_a_fallback_is_named_with_a_reason_and_a_revision() -> None:
    one = spare()
    assert named(one, fallback_after_s="60") == ""
    account = ProviderAccount.objects.get(name="resend")
    assert (account.fallback, account.fallback_after_s) == (one, 60.0)
    revision = ConfigRevision.objects.latest("pk")
    assert (revision.after["fallback"], (revision.before or {})["fallback"]) == (one.pk, None)
    assert revision.actor == "user:lena"


def test_what_is_not_said_of_the_wait_stays() -> None:
    assert named(spare()) == ""
    assert ProviderAccount.objects.get(name="resend").fallback_after_s == 300.0


def test_an_account_of_another_channel_is_refused() -> None:
    assert "must be an account of the same channel" in named(spare(channel="sms"))
    assert ProviderAccount.objects.get(name="resend").fallback is None


def test_itself_and_a_way_round_are_refused() -> None:
    account = ProviderAccount.objects.get(name="resend")
    assert "cannot take over from itself" in named(account)
    second = spare(name="second", fallback=account)
    assert "cannot take over from itself" in named(spare(name="third", fallback=second))
    assert ProviderAccount.objects.get(name="resend").fallback is None


def test_a_fallback_cannot_change_its_channel() -> None:
    one = spare()
    assert named(one) == ""
    answer = boss().post(EDIT.format(one.pk), fields(one, channel="sms"))
    assert "fallback of an account of another channel" in answer.content.decode()


def test_a_wait_beyond_a_day_is_refused() -> None:
    assert "86400" in named(spare(), fallback_after_s="90000").replace(",", "")


def test_saving_an_account_begins_its_wait_anew() -> None:
    """The circuit closes with it: the new configuration is tried first."""
    account = ProviderAccount.objects.get(name="resend")
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO notifyops_private.notifications_circuit (account_id, open_until, reason)"
            " VALUES (%s, now() + interval '1 hour', 'config')",
            [account.pk],
        )
    assert Circuit.objects.get().opened_at is not None
    assert named(spare()) == ""
    assert Circuit.objects.get().opened_at is None

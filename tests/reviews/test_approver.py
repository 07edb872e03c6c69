"""Nobody approves what they asked for, by whichever way they come."""

from __future__ import annotations

import os
import pwd

import pytest
from django.db import connection

from notifications import outbox
from notifications.models import Intent
from reviews import actions
from reviews.person import from_host, from_user, identity
from reviews.refusals import NotPermitted
from tests.reviews.cases import make_person, order

pytestmark = [pytest.mark.django_db(databases=["default", "owner"]), pytest.mark.role("owner")]
ACTORS = ["olga", "user:olga", "User:Olga", "cli:olga@host.example.com", "cli:olga", "user:cli:olga@host", "", "cli:@h",
          "user:olga@example.com", "cli:olga@example.com@host", "olga@host", "user:", "奥尔加", "a\nb"]  # fmt: skip


def me() -> str:
    return pwd.getpwuid(os.getuid()).pw_name


def asked_for(actor: str) -> Intent:
    """Give a notification that waits for approval, and was asked for in somebody's name."""
    owed = outbox.enqueue("report_approved", "demo-001", "ana@example.com", {"title": "Q3"}, actor=actor)
    return Intent.objects.get(pk=owed.id)


@pytest.mark.parametrize("asked_by", ["{me}", "user:{me}", "cli:{me}@another-host", "USER:{ME}"])
def test_the_person_at_the_terminal_cannot_approve_their_own_request(asked_by: str) -> None:
    actor = asked_by.replace("{me}", me()).replace("{ME}", me().upper()).replace("USER:", "user:")
    intent = asked_for(actor)
    with pytest.raises(NotPermitted, match="asked for this notification yourself"):
        actions.perform("approve", intent.pk, order(intent, "content_checked"), from_host())
    assert Intent.objects.get(pk=intent.pk).state == "needs_review"


def test_another_person_at_the_terminal_can() -> None:
    intent = asked_for(f"user:{me()}-2")
    actions.perform("approve", intent.pk, order(intent, "content_checked"), from_host())
    assert Intent.objects.get(pk=intent.pk).state == "pending"


def test_a_lead_on_the_page_cannot_approve_what_they_asked_for_at_a_terminal() -> None:
    intent = asked_for("cli:lena@host")
    with pytest.raises(NotPermitted, match="asked for this notification yourself"):
        actions.perform("approve", intent.pk, order(intent, "content_checked"), from_user(make_person("lena")))


def test_a_login_that_the_environment_names_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.setenv(name, "somebody-else")
    monkeypatch.delenv("SUDO_UID", raising=False)
    assert identity(from_host().name) == me().lower()


@pytest.mark.skipif(os.getuid() != 0, reason="only root is somebody else behind sudo")
def test_behind_sudo_it_is_the_person_who_called_it(monkeypatch: pytest.MonkeyPatch) -> None:
    other = next(entry for entry in pwd.getpwall() if entry.pw_uid not in (0, os.getuid()))
    monkeypatch.setenv("SUDO_UID", str(other.pw_uid))
    assert identity(from_host().name) == pwd.getpwuid(other.pw_uid).pw_name.lower()
    monkeypatch.setenv("SUDO_UID", "not a number")
    assert identity(from_host().name) == me()


@pytest.mark.parametrize("actor", ACTORS)
def test_the_database_and_the_console_mean_the_same_person(actor: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT notifyops_private.identity_v1(%s)", [actor])
        assert cursor.fetchone() == (identity(actor),)

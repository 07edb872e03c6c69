"""Events come in at the real address: verified, kept once, and nothing is written for those who cannot sign."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from django.db import connections
from django.test import Client
from django.test.utils import CaptureQueriesContext

from notifications.models import ProviderEvent
from notifications.receipts.views import ROOM
from tests.delivery.workplace import Workplace
from tests.receipts.post import NEW, OLD, PERMANENT, URL, Provider, fresh_id, kept, parked, stands

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
ACCOUNT = "UPDATE notifyops_private.notifications_provideraccount"
OTHER = "whsec_" + "QUJD" * 8


def body_of(provider: Provider, event_type: str = "email.delivered", **more: Any) -> bytes:
    return json.dumps(provider.event(event_type, **more)).encode()


def test_an_event_is_kept_as_catalogued_fields_and_applied(provider: Provider) -> None:
    intent = provider.accepted()
    assert provider.say("email.bounced", intent, **PERMANENT) == 200
    row = ProviderEvent.objects.get()
    assert (row.type, row.tag_site, row.tag_intent, row.tag_generation) == ("email.bounced", "test", intent, 1)
    assert (row.bounce_class, row.code, row.source, len(row.raw_sha256)) == (
        "permanent",
        "general 5.1.1",
        "webhook",
        32,
    )
    assert "example.com" not in repr(vars(row))
    assert provider.apply() == 1
    assert (stands(intent)[:2], parked()) == (("needs_review", "bounced"), 0)


@pytest.mark.parametrize("secrets", [(NEW,), (OLD,), (NEW, OLD), (OTHER, OLD)])
def test_while_a_secret_is_rotated_both_are_taken(provider: Provider, secrets: tuple[str, ...]) -> None:
    assert provider.post(body_of(provider), secrets=secrets) == 200
    assert kept() == 1


def test_after_the_rotation_the_old_secret_is_refused(provider: Provider) -> None:
    provider.place.sql(f"{ACCOUNT} SET webhook_secret_refs = 'env:TEST_WEBHOOK_SECRET'")
    assert (provider.post(body_of(provider), secrets=(OLD,)), kept()) == (401, 0)
    assert (provider.post(body_of(provider), secrets=(NEW,)), kept()) == (200, 1)


def test_one_variable_may_hold_both_secrets(provider: Provider, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_WEBHOOK_SECRET", f"{OTHER}, {OLD}\nwhsec_too-short")
    assert provider.post(body_of(provider), secrets=(OLD,)) == 200
    assert provider.post(body_of(provider), secrets=(OTHER,)) == 200


@pytest.mark.parametrize(
    "defect",
    [
        {"svix_id": None},
        {"svix_timestamp": None},
        {"svix_signature": None},
        {"secrets": (OTHER,)},
        {"secrets": ()},
        {"age_s": 360},
        {"age_s": -360},
        {"svix_timestamp": "abc"},
        {"svix_timestamp": "9" * 30},
        {"svix_signature": "garbage"},
        {"svix_signature": "v1,a,b"},
        {"svix_signature": "v1," + "A" * 43 + "="},
        {"svix_signature": "v1,\xe9\xff"},
        {"svix_id": "../../etc"},
        {"svix_id": "a.b"},
    ],
    ids=str,
)
def test_any_defect_is_401_and_nothing_is_written(provider: Provider, defect: dict[str, Any]) -> None:
    """H-WH-4: no header, a wrong secret, stale, future, a timestamp of letters."""
    assert provider.post(body_of(provider), **defect) == 401
    assert (kept(), parked()) == (0, 0)
    assert provider.post(body_of(provider)) == 200


def test_the_bytes_are_verified_as_they_came_whatever_their_spelling(provider: Provider) -> None:
    """H-WH-4: verification of JSON that was read and written again fails on odd spacing and non-ASCII."""
    body = '{ "type" :\t"email.delivered",\r\n "data": {"subject": "Überblick 季度", "n": 1.0e0 ,"a":[ ] } }\n'.encode()
    assert provider.post(body) == 200
    assert provider.post(b"\xff\xfe not even JSON") == 200
    assert provider.post(b"") == 200
    assert [row.type for row in ProviderEvent.objects.order_by("id")] == ["email.delivered", "unreadable", "unreadable"]


def test_a_replay_within_the_tolerance_is_known_by_its_id(provider: Provider) -> None:
    """H-WH-4: captured four minutes ago, sent again with the same id."""
    intent = provider.accepted()
    body = json.dumps(provider.event("email.delivered", intent)).encode()
    for age_s in (240, 0, 10):
        assert provider.post(body, event_id="msg_replayed", age_s=age_s) == 200
    assert (kept(), provider.apply(), provider.apply()) == (1, 1, 0)
    assert provider.place.kinds(intent) == ["claimed", "result", "receipt"]


def test_fifty_at_once_are_one(provider: Provider) -> None:
    intent = provider.accepted()
    body = json.dumps(provider.event("email.delivered", intent)).encode()

    def once(_: int) -> int:
        try:
            return provider.post(body, event_id="msg_same")
        finally:
            connections.close_all()

    with ThreadPoolExecutor(10) as pool:
        assert set(pool.map(once, range(50))) == {200}
    assert (kept(), provider.apply()) == (1, 1)
    assert provider.place.kinds(intent) == ["claimed", "result", "receipt"]


@pytest.mark.parametrize("method", ["get", "put", "patch", "delete", "head", "options"])
def test_only_post_is_answered(provider: Provider, method: str) -> None:
    assert getattr(Client(), method)(URL).status_code == 405


def test_an_account_that_is_not_there_is_404_and_one_without_secrets_is_401(provider: Provider) -> None:
    assert provider.post(body_of(provider), account="nobody") == 404
    for references in ("", "env:TEST_NOT_SET"):
        provider.place.sql(
            "UPDATE notifyops_private.notifications_provideraccount SET webhook_secret_refs = %s", references
        )
        assert provider.post(body_of(provider)) == 401


def test_a_body_that_is_too_large_is_413_whatever_it_claims(provider: Provider) -> None:
    """H-WH-4: 2 MB. The live server's answer, before it has read all, is tested in test_live.py."""
    most = 65_536
    assert provider.post(b" " * (most + 1)) == provider.post(b" " * 2_000_000) == 413
    for claim in ("-1", "x", "9" * 30):
        assert Client().post(URL, b"{}", content_type="application/json", CONTENT_LENGTH=claim).status_code == 413
    assert kept() == 0
    body = json.dumps(provider.event("email.delivered", data={"subject": "x" * 60_000})).encode()
    assert provider.post(body + b" " * (most - len(body))) == 200


def test_what_cannot_be_kept_is_asked_for_again(provider: Provider) -> None:
    """5xx only here, so that the provider repeats."""
    provider.place.sql("ALTER TABLE notifyops_private.notifications_providerevent RENAME TO away")
    try:
        assert provider.post(body_of(provider), event_id="msg_again") == 503
    finally:
        provider.place.sql("ALTER TABLE notifyops_private.away RENAME TO notifications_providerevent")
    assert (provider.post(body_of(provider), event_id="msg_again"), kept()) == (200, 1)


def test_what_is_not_even_well_formed_never_reaches_the_database(provider: Provider) -> None:
    with CaptureQueriesContext(connections["default"]) as queries:
        for defect in ({"svix_id": None}, {"svix_timestamp": "abc"}, {"age_s": 360}, {"svix_id": "a.b"}):
            assert provider.post(body_of(provider), **defect) == 401
    assert len(queries) == 0


def test_strangers_cannot_take_all_connections(provider: Provider) -> None:
    """Where the room is full, the provider is asked to send again, and the database is left alone."""
    for _ in range(8):
        assert ROOM.acquire(blocking=False)
    try:
        with CaptureQueriesContext(connections["default"]) as queries:
            assert provider.post(body_of(provider), event_id="msg_full") == 503
        assert len(queries) == 0
    finally:
        for _ in range(8):
            ROOM.release()
    assert (provider.post(body_of(provider), event_id="msg_full"), kept()) == (200, 1)
    with pytest.raises(ValueError, match="released too many"):
        ROOM.release()


def test_two_accounts_may_use_one_event_id(provider: Provider) -> None:
    provider.place.sql(
        "INSERT INTO notifyops_private.notifications_provideraccount"
        " (name, kind, channel, sender, api_key_ref, webhook_secret_refs)"
        " VALUES ('second', 'resend', 'email', 'Acme <a@example.com>', '', 'env:TEST_WEBHOOK_SECRET')"
    )
    body, event_id = body_of(provider), fresh_id()
    assert provider.post(body, event_id=event_id) == 200
    assert provider.post(body, event_id=event_id, account="second") == 200
    assert kept() == 2


def test_nobody_changes_or_makes_events_past_the_function(provider: Provider) -> None:
    provider.post(body_of(provider))
    events, queue = "notifyops_private.notifications_providerevent", "notifyops_private.notifications_parkedreceipt"
    attacks = [
        f"UPDATE {events} SET type = 'x'", f"DELETE FROM {events}", f"TRUNCATE {events}",
        f"INSERT INTO {events} (account_id, event_id, type, received_at, source, raw_sha256)"
        " VALUES (1, 'x', 'x', now(), 'webhook', '')",
    ]  # fmt: skip
    again = f"INSERT INTO {queue} (event_id, due_at) SELECT id, now() FROM {events}"
    for role in ("web", "worker", "writer", "reader"):
        for attack in [*attacks, again, f"UPDATE {queue} SET event_id = 1"]:
            assert refused(provider.place, role, attack) == "42501"
    for role in ("web", "writer", "reader"):
        assert refused(provider.place, role, f"DELETE FROM {queue}") == "42501"
    for attack in attacks[:3]:
        assert refused(provider.place, "owner", attack) == "NO403"
        assert refused(provider.place, "postgres", f"SET session_replication_role = replica; {attack}") == "NO403"


def refused(place: Workplace, role: str, attack: str) -> str | None:
    with pytest.raises(psycopg.Error) as caught:
        place.sql(attack, role=role)
    return caught.value.sqlstate

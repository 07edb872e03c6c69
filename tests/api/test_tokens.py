"""Who gets in: only a whole, valid token with the scope, within its limit; and nothing of it is kept but its hash."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from notifications.api import limits, tokens
from notifications.models import ApiToken, ApiTokenUse
from tests.api.callers import WHY, Caller, caller, wish
from tests.intake.notify_cli import notify

pytestmark = pytest.mark.django_db(databases=["default", "owner"])
END = "The client was switched off today."


def test_a_token_is_shown_once_and_kept_as_a_hash() -> None:
    shop = caller()
    assert re.fullmatch(r"nops_[0-9a-z]{12}_[0-9A-Za-z]{43}", shop.token)
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_jsonb(t)::text FROM notifyops_private.notifications_apitoken t")
        kept = cursor.fetchall()
    assert shop.token[18:] not in str(kept)
    assert bytes(ApiToken.objects.get().digest) == tokens.digest_of(shop.token)
    assert caller().token[5:] != shop.token[5:]


def test_only_the_whole_token_gets_in() -> None:
    shop = caller()
    assert shop.get("/outcomes").status == 200
    other = "x" if shop.token[-1] != "x" else "y"
    wrong = ["", "nops_", shop.token[:-1], shop.token + "x", shop.token[:-1] + other, shop.token.upper(), "ä" * 60]
    for text in (*wrong, shop.token[:18] + caller().token[18:]):
        answer = Caller(text.encode().decode("latin-1")).get("/outcomes")
        assert (answer.status, answer.code) == (401, "unauthenticated"), text
        assert answer.headers["WWW-Authenticate"] == 'Bearer realm="notifyops"'
    for header in ("Basic abc", shop.token, f"Token {shop.token}", "Bearer"):
        assert Caller().get("/outcomes", Authorization=header).status == 401


def test_the_comparison_takes_the_same_way_for_a_known_and_an_unknown_prefix(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[int, int]] = []

    def compare(one: bytes, other: bytes) -> bool:
        compared.append((len(one), len(other)))
        return one == other

    monkeypatch.setattr("hmac.compare_digest", compare)
    shop = caller()
    for text in (shop.token, shop.token[:-1] + "!", "nops_000000000000_" + "a" * 43, "nonsense"):
        Caller(text).get("/outcomes")
    assert compared == [(32, 32)] * 4


def test_a_scope_that_is_lacking_is_403_and_named() -> None:
    reader, writer = caller("read"), caller("enqueue")
    for answer in (reader.post("/intents", wish()), reader.post("/previews", {}), writer.get("/outcomes")):
        assert (answer.status, answer.code) == (403, "missing_scope")
    assert "enqueue" in reader.post("/intents", wish()).document["hint"]
    assert reader.post("/intents/1/cancel", {"reason": "Not wanted."}).code == "missing_scope"


def test_a_revoked_and_an_expired_token_are_out_at_once_and_told_so() -> None:
    shop, brief = caller(), caller(expires_at=timezone.now() + timedelta(hours=1))
    assert (shop.get("/outcomes").status, brief.get("/outcomes").status) == (200, 200)
    assert shop.row is not None
    tokens.revoke(shop.row, by="user:lena", reason=END)
    answer = shop.get("/outcomes")
    assert (answer.status, answer.code) == (401, "token_revoked")
    # Whoever has only a piece of it is not told that there was such a token.
    assert Caller(shop.token[:-1] + "!").get("/outcomes").code == "unauthenticated"
    with pytest.raises(tokens.NotAToken, match="revoked before"):
        tokens.revoke(shop.row, by="user:lena", reason=END)
    row = ApiToken(expires_at=timezone.now() - timedelta(seconds=1))
    assert (row.trouble, ApiToken(expires_at=None).trouble) == ("expired", "")


@pytest.mark.parametrize(
    "change",
    ["scopes = '[\"read\", \"inbox\"]'", "workspaces = '[\"*\"]'", "digest = sha256('x')", "expires_at = NULL",
     "per_minute = 1000000", "revoked_at = NULL, revoked_by = NULL, revoke_reason = NULL", "prefix = 'aaaaaaaaaaaa'"],
)  # fmt: skip
def test_a_token_is_never_changed_revived_or_deleted(change: str) -> None:
    row = caller(expires_at=timezone.now() + timedelta(hours=1)).row
    assert row is not None
    tokens.revoke(row, by="user:lena", reason=END)
    statements = (f"UPDATE notifications_apitoken SET {change}", "DELETE FROM notifications_apitoken")
    for statement in statements:
        refused = pytest.raises(DatabaseError, match="frozen|only grows|permission denied")
        with refused, transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(statement)


def test_the_limit_stops_the_next_one_and_says_for_how_long() -> None:
    shop, other = caller(per_minute=3), caller(per_minute=3)
    left = [int(shop.get("/outcomes").headers["RateLimit-Remaining"]) for _ in range(3)]
    assert left == [2, 1, 0]
    answer = shop.get("/outcomes")
    assert (answer.status, answer.code) == (429, "rate_limited")
    assert 1 <= int(answer.headers["Retry-After"]) <= 60
    assert answer.headers["RateLimit-Limit"] == "3"
    assert other.get("/outcomes").status == 200


def test_all_hosts_together_grant_no_more_than_the_limit() -> None:
    shop = caller(per_minute=100)
    assert shop.row is not None
    granted = 0
    with connection.cursor() as cursor:  # a minute's first second, or the next minute's grants might be counted too
        left = "(61 - extract(second FROM clock_timestamp()))::text || 's'"
        cursor.execute(f"SELECT set_config('notifyops_test.shift', {left}, false)")
    for _host in range(40):
        limits.forget()
        granted += sum(shop.get("/outcomes").status == 200 for _ in range(4))
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('notifyops_test.shift', '', false)")
    # Each host drew five and used four: what it did not use is lost, and nothing is granted beyond the limit.
    assert granted == 80
    assert ApiTokenUse.objects.get().drawn == 100


def test_last_use_is_written_with_a_draw_and_not_at_each_request(django_assert_num_queries: Any) -> None:
    shop = caller(per_minute=2000)
    shop.get("/outcomes")
    use = ApiTokenUse.objects.get()
    assert (use.drawn, use.minute_at.second) == (100, 0)
    with django_assert_num_queries(2):  # the token, and what the call itself reads
        shop.get("/outcomes")
    assert ApiTokenUse.objects.get().drawn == 100


def test_a_new_minute_begins_anew() -> None:
    shop = caller(per_minute=2)
    assert shop.row is not None
    draw = "SELECT granted FROM notifyops_private.draw_v1(%s, 5, 2)"
    with connection.cursor() as cursor:
        found = []
        for shift in ("0s", "0s", "60s"):
            cursor.execute("SELECT set_config('notifyops_test.shift', %s, false)", [shift])
            cursor.execute(draw, [shop.row.pk])
            found.append(cursor.fetchone()[0])
        cursor.execute("SELECT set_config('notifyops_test.shift', '', false)")
    assert found == [2, 0, 2]


def test_the_terminal_makes_lists_and_revokes() -> None:
    made = notify("token", "create", "shop", "--scope", "read", "--workspace", "acme", "--reason", WHY)
    assert made.code == 0, made.err
    token = made.out.strip()
    assert Caller(token).get("/outcomes").status == 200
    listed = notify("token", "list", "--json").document
    assert [(one["client"], one["scopes"], one["workspaces"], one["state"]) for one in listed] == [
        ("shop", ["read"], ["acme"], "valid")
    ]
    assert listed[0]["last_used_at"] is not None
    assert listed[0]["made_by"].startswith("cli:")
    assert token not in notify("token", "list").out
    assert notify("token", "revoke", token, "--reason", END).code == 0
    assert Caller(token).get("/outcomes").code == "token_revoked"
    assert notify("token", "revoke", "nobody", "--reason", END).code == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ("shop", "--workspace", "", "--reason", WHY),
        ("shop", "--scope", "read", "--reason", WHY),
        ("shop", "--scope", "read", "--workspace", "a b", "--reason", WHY),
        ("shop", "--scope", "read", "--workspace", "", "--reason", "short"),
        ("shop", "--scope", "read", "--workspace", "", "--reason", "asked by ana@example.com today"),
        ("", "--scope", "read", "--workspace", "", "--reason", WHY),
        ("shop", "--scope", "read", "--workspace", "", "--reason", WHY, "--per-minute", "0"),
        ("shop", "--scope", "read", "--workspace", "", "--reason", WHY, "--expires-in-days", "-1"),
    ],
)
def test_a_token_that_cannot_be_is_refused_with_a_sentence(arguments: tuple[str, ...]) -> None:
    answer = notify("token", "create", *arguments)
    assert (answer.code, answer.out) == (1, "")
    assert answer.err.strip().endswith(".")
    assert not ApiToken.objects.exists()


@pytest.mark.django_db(transaction=True, databases=["default", "owner"])
@pytest.mark.parametrize("role", ["worker", "writer", "reader"])
def test_other_roles_neither_make_tokens_nor_draw(as_role: Callable[..., psycopg.Connection[Any]], role: str) -> None:
    statements = (
        "INSERT INTO notifyops_private.notifications_apitoken"
        " (name, prefix, digest, scopes, workspaces, made_by, reason) VALUES ('x', 'x', '', '[]', '[]', 'x', 'x')",
        "SELECT notifyops_private.draw_v1(1, 1, 1)",
        "SELECT notifyops_private.cancel_by_token_v1('a', 'abc', '', 1)",
    )
    for statement in statements:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            as_role(role).execute(statement.encode())

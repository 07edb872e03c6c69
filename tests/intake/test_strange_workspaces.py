"""A workspace that nothing was ever enqueued for is named as such, by every command that takes one."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from tests.intake.notify_cli import notify

pytestmark = pytest.mark.django_db(databases=["default", "owner"])
WHY = ("--reason", "The shop's own client.")
HINT = "Nothing was ever enqueued for the workspace nope. If it is not a new one, check its spelling"
ENDPOINT = ("endpoint", "create", "shop", "--url", "https://shop.example.com/", "--secret", "env:SHOP_SECRET", *WHY)
LOOKED_FOR = [("show", "r-1"), ("explain", "r-1"), ("verify", "r-1"), ("preview", "--intent", "r-1")]
GIVEN = [
    ("outcomes",),
    ENDPOINT,
    ("token", "create", "shop", "--scope", "read", *WHY),
]


@pytest.fixture(autouse=True)
def _used() -> None:
    words = ("report_ready", "demo-001", "ana@example.com", "--data", '{"title": "Q3"}', "--workspace", "acme")
    assert notify("enqueue", *words).code == 0


@pytest.mark.parametrize("words", LOOKED_FOR)
def test_a_key_in_a_strange_workspace_is_refused_with_the_hint(words: tuple[str, ...]) -> None:
    answer = notify(*words, "--workspace", "nope")
    assert (answer.code, answer.out) == (1, "")
    assert HINT in answer.err
    assert HINT not in notify(*words).err


@pytest.mark.parametrize("words", GIVEN)
def test_a_strange_workspace_is_doubted_and_a_used_one_is_not(words: tuple[str, ...]) -> None:
    answer = notify(*words, "--workspace", "nope")
    assert answer.code == 0
    assert HINT in answer.err
    other = [word if word != "shop" else "shop-2" for word in words]
    assert "Nothing was ever enqueued" not in notify(*other, "--workspace", "acme").err
    last = [word if word != "shop" else "shop-3" for word in words]
    assert "Nothing was ever enqueued" not in notify(*last, "--workspace", "").err


@pytest.mark.role("owner")
def test_a_pause_of_a_strange_workspace_is_doubted() -> None:
    pause = ("pause", "workspace", "--for", "1h", "--reason", "maintenance")
    assert HINT in notify(*pause, "nope").err
    assert notify(*pause, "acme").err == ""


def test_a_grant_is_how_a_workspace_begins_and_doubts_none() -> None:
    answer = notify("grant", "writer", "nope")
    assert (answer.out, answer.err) == ("notifyops_test_writer may enqueue and cancel in workspace nope.\n", "")


def test_a_workspace_that_would_be_ignored_is_refused() -> None:
    assert "name one, or leave it out" in notify("verify", "--workspace", "acme").err
    assert "name one, or leave it out" in notify("preview", "report_ready", "--workspace", "acme").err


def test_the_queue_of_a_strange_workspace_says_so() -> None:
    def listed(*words: str) -> str:
        err = StringIO()
        call_command("review", "list", *words, stdout=StringIO(), stderr=err)
        return err.getvalue()

    assert HINT in listed("--workspace", "nope")
    assert listed("--workspace", "acme") == ""
    assert listed("--workspace", "-") == ""


@pytest.mark.role("owner")
@pytest.mark.parametrize(
    "words",
    [
        ("next", "--workspace"),
        ("bulk", "plan", "--verb", "close", "--workspace"),
        ("bulk", "plan", "--verb", "close", "--key", "r-1", "--key-workspace"),
        ("show", "r-1", "--workspace"),
    ],
)
def test_a_case_of_a_strange_workspace_is_refused_with_the_hint(words: tuple[str, ...]) -> None:
    with pytest.raises(CommandError, match=HINT):
        call_command("review", *words, "nope")
    with pytest.raises(CommandError) as refused:
        call_command("review", *words, "acme")
    assert "Nothing was ever enqueued" not in str(refused.value)

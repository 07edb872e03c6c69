"""The verbs of `manage.py notify` that read and enqueue."""

from __future__ import annotations

import json
import re
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management.base import CommandError
from django.db import connections
from django.utils import timezone

from notifications.management.commands.notify import VERBS
from notifications.models import Intent, NotificationTypeRow, WorkerBeat
from notifications.states import State
from notifyops.installation import Installation, Person
from tests.intake.notify_cli import notify

pytestmark = pytest.mark.django_db(databases=["default", "owner"])
GOOD = ("enqueue", "report_ready", "demo-001", "ana@example.com", "--data", '{"title": "Q3"}')


def test_enqueue_owes_one_and_says_whether_it_was_there() -> None:
    first = notify(*GOOD, "--json")
    assert first.code == 0
    assert {**first.document, "id": 0} == {
        "id": 0,
        "notification_id": "report-ready/demo-001",
        "created": True,
        "state": "pending",
    }
    again = notify(*GOOD)
    assert (again.code, again.out) == (0, "report-ready/demo-001: was there already, pending\n")


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({4: "--data", 5: "{title"}, "not JSON"),
        ({4: "--data", 5: "[]"}, "mapping"),
        ({4: "--data", 5: "{}"}, "data.title is missing"),
        ({1: "no_such"}, "notify types"),
        ({3: "nobody"}, "e-mail address"),
    ],
)
def test_a_refused_enqueue_is_a_sentence_and_exit_code_1(changed: dict[int, str], sentence: str) -> None:
    answer = notify(*(changed.get(place, word) for place, word in enumerate(GOOD)))
    assert (answer.code, answer.out) == (1, "")
    assert sentence in answer.err
    assert "Traceback" not in answer.err
    assert Intent.objects.count() == 0


def test_enqueue_takes_every_option() -> None:
    answer = notify(
        *GOOD, "--workspace", "acme", "--priority", "bulk", "--not-before", "2035-01-01T00:00:00Z", "--locale", "en"
    )
    assert answer.out.startswith("acme/report-ready/demo-001: created")
    assert Intent.objects.get().lane >= 32
    assert "not a time" in notify(*GOOD, "--not-before", "tomorrow").err


def test_show_gives_the_documented_words_and_the_log() -> None:
    notify("enqueue", "report_approved", "demo-001", "ana@example.com", "--data", '{"title": "Q3"}')
    found = notify("show", "report-approved/demo-001", "--json").document
    expected = {
        "state": "needs_review",
        "delivery_status": "none",
        "attempts": 0,
        "provider_message_id": None,
        "error_code": "awaiting_approval",
        "next_action": "approve",
        "supersedes": None,
    }
    assert {name: found[name] for name in expected} == expected
    with connections["default"].cursor() as cursor:
        cursor.execute("SELECT * FROM notifyops.log LIMIT 0")
        columns = [column[0] for column in cursor.description]
    assert [list(entry) for entry in found["log"]] == [columns]
    assert (found["log"][0]["kind"], found["log"][0]["actor"], found["log"][0]["seq"]) == ("held", None, 1)
    assert "ana@" not in json.dumps(found)


def test_show_names_what_an_intent_supersedes() -> None:
    notify(*GOOD, "--notification-id", "first")
    notify(*GOOD, "--notification-id", "second", "--supersedes", "first")
    assert notify("show", "second", "--json").document["supersedes"] == "first"
    cancelled = notify("show", "first", "--json").document
    assert (cancelled["state"], cancelled["log"][0]["detail"]) == ("cancelled", {"by": "second"})


def test_show_and_explain_are_legible_without_json() -> None:
    notify(*GOOD)
    shown = notify("show", "report-ready/demo-001").out
    assert re.search(r"state +pending", shown)
    told = notify("explain", "report-ready/demo-001")
    assert "owed for report demo-001 by type report_ready through email" in told.out
    assert notify("explain", "report-ready/demo-001", "--json").document["lines"] == told.out.splitlines()


@pytest.mark.parametrize("verb", ["show", "explain", "verify"])
def test_an_unknown_key_is_a_sentence_and_exit_code_1(verb: str) -> None:
    answer = notify(verb, "no-such-key", "--json")
    assert (answer.code, answer.out) == (1, "")
    assert 'No notification "no-such-key"' in answer.err
    notify(*GOOD, "--workspace", "acme")
    assert "--workspace 'acme'" in notify(verb, "acme/report-ready/demo-001").err
    assert notify(verb, "acme/report-ready/demo-001", "--workspace", "acme").code == 0
    assert notify(verb, "a\0b").code == 1


def test_types_lists_what_can_be_enqueued_and_what_was_retired() -> None:
    NotificationTypeRow.objects.using("owner").create(name="old_type", channel="email", enabled=False)
    rows = {row["name"]: row for row in notify("types", "--json").document["types"]}
    assert rows["report_ready"]["data"] == {"title": {"type": "string", "required": True}}
    assert (rows["report_once"]["loss_model"], rows["demo_report_ready"]["failure_limit"]) == ("never_twice", 3)
    printed = notify("types")
    assert "report_ready" in printed.out
    assert "title: string" in printed.out


def test_preview_renders_in_each_language_and_writes_nothing() -> None:
    data = ("--data", '{"title": "Q3 <b>"}')
    english = notify("preview", "report_ready", *data, "--report-id", "r-1", "--json").document
    assert english["subject"] == "Your report “Q3 <b>” is ready"
    assert "r-1" in english["text"]
    assert "Q3 &lt;b&gt;" in english["html"]
    chinese = notify("preview", "report_ready", *data, "--locale", "zh-hans")
    assert chinese.out.startswith("Subject: 您的报告“Q3 <b>”已就绪\n")
    assert Intent.objects.count() == 0


def test_a_language_without_templates_is_taken_and_gets_the_plain_ones() -> None:
    data = ("--data", '{"title": "Q3"}')
    assert notify("preview", "report_ready", *data, "--locale", "xx-zz").out.startswith("Subject: Your report “Q3”")
    near = notify("preview", "report_ready", *data, "--locale", "zh-hans-cn")
    assert near.out.startswith("Subject: 您的报告“Q3”")
    assert notify(*GOOD, "--locale", "xx-zz").code == 0


def test_preview_says_what_is_wrong_and_warns_of_what_is_odd() -> None:
    assert "Known: " in notify("preview", "no_such").err
    assert "title as string" in notify("preview", "report_ready").err
    assert "not JSON" in notify("preview", "report_ready", "--data", "{").err
    assert "object" in notify("preview", "report_ready", "--data", "[]").err
    odd = notify("preview", "report_ready", "--data", json.dumps({"title": "x" * 100, "tilte": "y"}), "--json").document
    assert [warning.split(" has ")[0] for warning in odd["warnings"]] == [
        "data.tilte is not in the type's schema",
        "the subject",
    ]


def test_status_counts_ages_rates_workers_and_circuits() -> None:
    empty = notify("status", "--json").document
    assert set(empty["states"]) == {state.value for state in State}
    assert (empty["due"], empty["oldest_due_s"], empty["oldest_waiting_s"]) == (0, None, None)
    notify(*GOOD)
    notify("enqueue", "report_approved", "demo-002", "ana@example.com", "--data", '{"title": "Q3"}')
    found = notify("status", "--json").document
    assert (found["states"]["pending"], found["states"]["needs_review"], found["queue"]["review"]) == (1, 1, 1)
    assert found["due"] == 1
    assert 0 <= found["oldest_due_s"] <= found["oldest_waiting_s"] < 60
    assert found["per_minute"] == {"accepted": 0, "failed": 0, "unknown": 0, "held": 1, "retried": 0}
    assert [(one["account"], one["open"]) for one in found["circuits"]] == [("resend", False)]
    assert found["receipts"] == {"waiting": 0, "oldest_s": None}
    assert "is manage.py qcluster running?" in notify("status").out


@pytest.mark.role("owner")
def test_status_lists_only_workers_that_beat_within_the_last_minute() -> None:
    now = timezone.now()
    for name, age_s in (("alive", 5), ("dead", 90)):
        at = now - timedelta(seconds=age_s)
        WorkerBeat.objects.create(worker=name, host="h", role="loop", slot=1, started_at=at, beat_at=at)
    assert [one["worker"] for one in notify("status", "--json").document["workers"]] == ["alive"]
    printed = notify("status").out
    assert ("alive (loop)" in printed, "dead" in printed) == (True, False)


def test_tail_prints_the_newest_entries_oldest_first() -> None:
    for number in range(3):
        notify("enqueue", "report_approved", f"demo-{number}", "ana@example.com", "--data", '{"title": "Q3"}')
    lines = notify("tail", "-n", "2").out.splitlines()
    assert [line.split()[2] for line in lines] == ["report-approved/demo-1", "report-approved/demo-2"]
    for line in lines:
        at = datetime.strptime(" ".join(line.split()[:2]), "%Y-%m-%d %H:%M:%S%z")
        assert at.utcoffset() == timedelta(0)
    assert "pending → needs_review" in lines[0]
    documents = [json.loads(line) for line in notify("tail", "--json").out.splitlines()]
    assert [one["id"] for one in documents] == [f"report-approved/demo-{n}" for n in range(3)]


def installed(home: Path, *people: Person) -> Installation:
    return Installation(
        web_url="http://127.0.0.1:8000",
        sandbox_url="http://127.0.0.1:1",
        sandbox_control_url="http://127.0.0.1:1/__sandbox__",
        database={"writer": "postgresql://notifyops_local_writer:secret@127.0.0.1:5433/notifyops"},
        home=str(home),
        logs=str(home),
        people=people,
    )


def test_info_prints_where_things_are_and_passwords_of_the_database_only_in_json(settings: Any, tmp_path: Path) -> None:
    settings.NOTIFYOPS_INSTALLATION = None
    nothing = notify("info", "--json")
    assert (nothing.code, nothing.out) == (1, "")
    assert "make up" in nothing.err
    settings.NOTIFYOPS_INSTALLATION = installed(tmp_path)
    found = notify("info", "--json").document
    assert set(found) == {"web_url", "sandbox_url", "sandbox_control_url", "database", "home", "logs"}
    assert found["database"]["writer"] == "postgresql://notifyops_local_writer:secret@127.0.0.1:5433/notifyops"
    settings.NOTIFYOPS_INSTALLATION = installed(tmp_path, Person("olga", "pw", "operator"))
    assert notify("info", "--json").document["people"] == [{"username": "olga", "password": "pw", "role": "operator"}]
    printed = notify("info").out
    assert "127.0.0.1:5433/notifyops as notifyops_local_writer" in printed
    assert "secret" not in printed


def test_grant_lets_a_role_into_a_workspace() -> None:
    def workspaces() -> list[str]:
        with connections["owner"].cursor() as cursor:
            cursor.execute(
                "SELECT workspace FROM notifyops_private.notifications_workspacegrant "
                "WHERE role = 'notifyops_test_writer' ORDER BY 1"
            )
            return [row[0] for row in cursor.fetchall()]

    for _ in range(2):
        answer = notify("grant", "writer", "berlin")
        assert (answer.code, answer.err) == (0, "")
        assert answer.out == "notifyops_test_writer may enqueue and cancel in workspace berlin.\n"
    assert workspaces() == ["berlin"]
    assert "no role nobody" in notify("grant", "nobody", "").err
    assert "characters" in notify("grant", "writer", "a b").err
    assert "cannot call notifyops.enqueue yet" in notify("grant", "pg_monitor", "x").err


def test_every_verb_has_a_page_of_help_and_an_unknown_one_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for verb in VERBS:
        assert notify(verb, "--help").code == 0
        assert "usage:" in capsys.readouterr().out
    with pytest.raises(CommandError, match="invalid choice"):
        notify("no-such-verb")


def test_the_first_notification_of_a_workspace_is_told_as_such_and_no_other() -> None:
    """A mistyped name cannot be taken back: what it made is sent."""
    words = ("ana@example.com", "--data", '{"title": "Q3"}')
    first = notify("enqueue", "report_approved", "r-1", *words, "--workspace", "nix")
    assert "It is the first notification of the workspace nix." in first.err
    for again in (("r-1", *words, "--workspace", "nix"), ("r-2", *words, "--workspace", "nix"), ("r-3", *words)):
        assert "first notification" not in notify("enqueue", "report_approved", *again).err

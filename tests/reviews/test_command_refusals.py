"""What `manage.py review` says where it refuses: which values there are, in words, and no name of a class."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.core.management.base import BaseCommand

from notifications.command_line import refusals_as_sentences
from notifications.management.commands import qcluster, sandbox, seed_demo
from reviews import filter_options, human_log
from reviews.filters import QueueFilter
from reviews.management.commands import people, review
from tests.reviews.cases import make_case

pytestmark = [pytest.mark.django_db(databases=["default", "owner"]), pytest.mark.role("owner")]
HUGE = str(10**30)
CHOICES = ("known", "next", "kind", "window", "age", "state", "waiting", "taken")


def told(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    with pytest.raises(SystemExit):
        call_command("review", *words, "--help")
    return " ".join(capsys.readouterr().out.split())


def given_by_a_person(kind: type[BaseCommand], *words: str, **settings: Any) -> tuple[object, str]:
    """Run it as the command line does; give the exit code and what stands on stderr."""
    err = StringIO()
    command = kind(stderr=err)
    command._called_from_command_line = True  # type: ignore[attr-defined]  # as run_from_argv does
    with pytest.raises(SystemExit) as end:
        call_command(command, *words, **settings)
    return end.value.code, err.getvalue()


def test_every_filter_of_the_page_is_an_option_and_no_other() -> None:
    assert set(filter_options.names()) == set(QueueFilter.base_filters)
    assert {name for name in filter_options.names() if filter_options.values_of(name)} == set(CHOICES)


@pytest.mark.parametrize("words", [("list",), ("bulk", "plan"), ("next",)])
def test_help_names_the_values_that_a_filter_takes(capsys: pytest.CaptureFixture[str], words: tuple[str, ...]) -> None:
    text = told(capsys, *words)
    for name in CHOICES:
        if words == ("next",) and name in ("taken", "state"):
            assert f"--{name}" not in text
        else:
            assert f"one of {', '.join(filter_options.values_of(name))} (left out: " in text, name
    assert "report_ready" in text
    assert "- is the default one" in text
    assert "only this" not in text.partition("--q Q")[2][:20]


def test_help_of_the_log_names_verbs_and_reasons(capsys: pytest.CaptureFixture[str]) -> None:
    text = told(capsys, "log")
    assert "one of retry, " in text
    assert "one of done, refused" in text
    assert "duplicate" in text
    assert {"who", "verb", "outcome", "reason", "case", "since", "until"} == set(human_log.FIELDS)


@pytest.mark.parametrize("name", CHOICES)
@pytest.mark.parametrize("words", [("list",), ("bulk", "plan", "--verb", "close"), ("next",)])
def test_a_wrong_value_is_answered_with_the_right_ones(words: tuple[str, ...], name: str) -> None:
    if words == ("next",) and name in ("taken", "state"):
        return
    with pytest.raises(CommandError) as refused:
        call_command("review", *words, f"--{name}", "nonsense")
    sentence = f"This filter cannot be read: --{name} takes one of {', '.join(filter_options.values_of(name))}."
    assert str(refused.value) == sentence


def test_a_saved_query_and_the_log_name_the_right_values_too() -> None:
    with pytest.raises(CommandError, match="known takes one of not_sent, unknown, "):
        call_command("review", "views", "save", "Bad", "--query", "known=nonsense")
    with pytest.raises(CommandError, match="there is no knwon; there are q, code, kind, known, "):
        call_command("review", "views", "save", "Bad", "--query", "knwon=unknown")
    with pytest.raises(CommandError, match="too long to be saved: more than"):
        call_command("review", "views", "save", "Bad", "--query", f"q={'a' * 10000}")
    with pytest.raises(CommandError, match="There is no such verb; there are retry, "):
        call_command("review", "log", "--verb", "nonsense")
    with pytest.raises(CommandError, match="There is no such reason; there are .*duplicate"):
        call_command("review", "log", "--reason", "nonsense")


@pytest.mark.parametrize(
    ("words", "allowed"),
    [
        (("list", "--limit"), "from 1 to 1,000"),
        (("log", "--limit"), "from 1 to 1,000"),
        (("bulk", "show"), "from 1 to 9,223,372,036,854,775,807"),
        (("close", "report-ready/r-1", "--reason-code", "duplicate", "--seq"), "from 0 to 9,223,372,036,854,775,807"),
        (("wait", "report-ready/r-1", "--minutes"), "from five minutes to seven days"),
        (("list", "--attempts"), "equal to"),
    ],
)
@pytest.mark.parametrize("number", ["-5", HUGE])
def test_a_number_out_of_bounds_is_refused_with_its_bounds(words: tuple[str, ...], allowed: str, number: str) -> None:
    make_case(report_id="r-1")
    with pytest.raises(CommandError, match=allowed):
        call_command("review", *words[:-1], *([words[-1], number] if words[-1] != "show" else ["show", "--", number]))


def test_a_refusal_reads_as_a_sentence_without_a_class_and_ends_with_1() -> None:
    assert given_by_a_person(review.Command, "show", "nobody/knows") == (
        1,
        "There is no such notification; check its ID and workspace.\n",
    )
    code, said = given_by_a_person(people.Command, "unlock", "nobody", "--reason", "They are back at work.")
    assert (code, said) == (1, "There is no such account; `manage.py people list` shows them.\n")


def test_the_other_commands_refuse_alike(settings: Any) -> None:
    settings.NOTIFYOPS_SITE_MODE = "live"
    assert given_by_a_person(seed_demo.Command)[1].startswith("This site is live: ")
    assert given_by_a_person(sandbox.Command, "--daily-quota", "0")[1].startswith("The knob 'daily_quota' takes ")
    cluster = given_by_a_person(qcluster.Command, cluster_name="mail")
    assert cluster == (1, "Set Q_CLUSTER_NAME in the environment instead: -n is ignored on Linux.\n")


def test_who_asks_for_the_traceback_gets_the_error_itself() -> None:
    command = review.Command()
    command._called_from_command_line = True  # type: ignore[attr-defined]
    with pytest.raises(CommandError), refusals_as_sentences(command, traceback=True):
        raise CommandError("No.")

"""Whoever follows "Add a notification type" has one; whoever errs is told where."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from notifications.models import Intent, NotificationTypeRow

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "add-a-type.md").read_text(encoding="utf-8")
pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]
Run = Callable[..., subprocess.CompletedProcess[str]]


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """Make the page's package; give its folder."""
    _tree, subject, body = blocks("text")
    templates = tmp_path / "shop_mail" / "templates" / "shop_mail" / "invoice_due"
    templates.mkdir(parents=True)
    (tmp_path / "shop_mail" / "__init__.py").touch()
    (tmp_path / "shop_mail" / "notification_types.py").write_text(*blocks("python"))
    (templates / "subject.txt").write_text(subject)
    (templates / "body.txt").write_text(body)
    return tmp_path


@pytest.fixture
def run(package: Path, process_env: Callable[[str], dict[str, str]]) -> Run:
    """Run a command as the page does, with the package where Python finds it."""

    def run(words: str, *, apps: str = "shop_mail") -> subprocess.CompletedProcess[str]:
        own = {"NOTIFYOPS_APPS": apps, "PYTHONPATH": str(package), "NOTIFYOPS_PROCESS": "command"}
        role = "owner" if "migrate" in words else "web"
        command = [sys.executable, "manage.py", *shlex.split(words)]
        return subprocess.run(
            command, env=process_env(role) | own, cwd=ROOT, capture_output=True, text=True, check=False
        )

    return run


def commands() -> list[str]:
    """Give the page's own commands, in their order."""
    lines = "\n".join(blocks("sh")).splitlines()
    return [line.split("#")[0].split("manage.py ")[1] for line in lines if "manage.py " in line]


def test_the_page_leads_to_a_type_that_can_be_looked_at_and_enqueued(run: Run) -> None:
    done = [run(words) for words in commands()]
    assert [one.returncode for one in done] == [0, 0, 0, 0], [one.stderr for one in done]
    _migrate, types, preview, _enqueue = (one.stdout for one in done)
    assert re.search(r"invoice_due .*amount: string, note\?: string|invoice_due .*number: string", types)
    assert "Subject: Invoice 2026-7 is due" in preview
    assert "Please pay 12.50 EUR for invoice 2026-7." in preview
    owed = Intent.objects.get(type="invoice_due")
    assert (owed.report_id, owed.expires_at is not None) == ("2026-7", True)


def test_a_type_that_is_taken_away_is_retired_and_comes_back(run: Run) -> None:
    assert run("migrate").returncode == 0
    assert run("migrate", apps="").returncode == 0
    assert not NotificationTypeRow.objects.get(name="invoice_due").enabled
    refused = run("notify enqueue invoice_due 2026-8 ana@example.com", apps="")
    assert refused.returncode != 0
    assert "invoice_due" in refused.stderr
    assert run("migrate").returncode == 0
    assert NotificationTypeRow.objects.get(name="invoice_due").enabled


@pytest.mark.parametrize(
    ("apps", "sentence"),
    [
        ("shop_mial", "NOTIFYOPS_APPS names shop_mial, which Python does not find here: install it"),
        ("shop.mial", "NOTIFYOPS_APPS names shop.mial, which Python does not find here"),
        ("shop_mail,shop_mail", "NOTIFYOPS_APPS names shop_mail, which is installed already: name it once"),
        ("reviews", "NOTIFYOPS_APPS names reviews, which is installed already"),
        ("../shop", "NOTIFYOPS_APPS names '../shop': it must be the name of a Python package"),
    ],
)
def test_a_name_that_is_no_app_ends_with_a_sentence(run: Run, apps: str, sentence: str) -> None:
    refused = run("notify types", apps=apps)
    assert refused.returncode != 0
    assert refused.stderr.startswith(sentence), refused.stderr


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        ('"invoice_due"', '"report_ready"', "ValueError: notification type report_ready is registered twice"),
        ("number: str", "number: bytes", "TypeError: type invoice_due: data.number has a type that JSON does not know"),
        ("class InvoiceData(TypedDict)", "class InvoiceData", "TypeError: type invoice_due: data must be a TypedDict"),
        ("from datetime", "from dateitme", "ModuleNotFoundError: No module named 'dateitme'"),
    ],
)
def test_a_declaration_that_fails_ends_with_a_sentence(
    run: Run, package: Path, before: str, after: str, sentence: str
) -> None:
    place = package / "shop_mail" / "notification_types.py"
    place.write_text(place.read_text().replace(before, after))
    refused = run("notify types")
    assert refused.returncode != 0
    assert refused.stderr.startswith(f"The notification types of an app cannot be loaded: {sentence}"), refused.stderr
    assert "take the app out of NOTIFYOPS_APPS" in refused.stderr


def test_templates_that_are_missing_are_named(run: Run, package: Path) -> None:
    (package / "shop_mail" / "templates" / "shop_mail" / "invoice_due" / "body.txt").unlink()
    listed = run("notify types")
    assert listed.returncode == 0
    assert "The templates of invoice_due cannot be read" in listed.stdout + listed.stderr

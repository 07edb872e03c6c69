"""The examples of docs/enqueue.md, run by the programs that they are for."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from notifications.models import Intent
from tests.intake.notify_cli import notify
from tests.recipes.conftest import DOC, recipe

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner"])
Shop = psycopg.Connection[Any]
ROOT = Path(__file__).parents[2]
NODE_PATH = os.environ.get("NODE_PATH") or str(ROOT / ".build" / "node" / "node_modules")


def status(shop: Shop, report_id: str = "demo-report-001") -> str:
    row = shop.execute("SELECT status FROM shop_report WHERE id = %s", (report_id,)).fetchone()
    assert row is not None
    return str(row[0])


def run(*command: str, env: dict[str, str], text: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, env=env, input=text, capture_output=True, text=True, timeout=60, check=False)


def psql(text: str, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    program = shutil.which("psql")
    assert program, "psql is needed: install postgresql-client"
    flags = ("-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", env["DATABASE_URL"])
    return run(program, *flags, env=env, text=text)


def owed() -> list[tuple[str, str, str]]:
    return list(Intent.objects.order_by("id").values_list("notification_id", "workspace", "created_by"))


ONE = [("report-ready/demo-001", "acme", "notifyops_test_writer")]


def test_psql_commits_the_change_and_its_notification_together(shop: Shop, app_env: dict[str, str]) -> None:
    undone = psql(recipe("psql").replace("COMMIT;", "ROLLBACK;"), app_env)
    assert (undone.returncode, owed(), status(shop)) == (0, [], "draft"), undone.stderr
    done = psql(recipe("psql"), app_env)
    assert (done.returncode, done.stdout) == (0, "report-ready/demo-001|t|pending\n"), done.stderr
    assert (owed(), status(shop)) == (ONE, "ready")
    assert psql(recipe("psql"), app_env).stdout == "report-ready/demo-001|f|pending\n"
    assert owed() == ONE


def test_a_duplicate_in_psql_leaves_the_transaction_usable(shop: Shop, app_env: dict[str, str]) -> None:
    call = recipe("psql").split("BEGIN;")[1].replace("COMMIT;", "")
    more = "UPDATE shop_report SET status = 'announced' WHERE id = 'demo-report-001';"
    done = psql(f"BEGIN;{call}{call}{more}COMMIT;", app_env)
    assert (done.returncode, done.stderr) == (0, "")
    assert (owed(), status(shop)) == (ONE, "announced")


def test_an_error_in_psql_says_what_is_wrong_and_how_to_mend_it(shop: Shop, app_env: dict[str, str]) -> None:
    failed = psql(recipe("psql").replace("ana@example.com", "Ana <ana@example.com>"), app_env)
    assert failed.returncode != 0
    for part in ("not one plain e-mail address", "DETAIL:  field: recipient", "HINT:  Give exactly one address"):
        assert part in failed.stderr
    assert (owed(), status(shop)) == ([], "draft")


def test_a_killed_client_owes_nothing_before_its_commit_and_all_after_it(shop: Shop, app_env: dict[str, str]) -> None:
    def kill_after(text: str) -> None:
        client = subprocess.Popen(
            ["psql", "-X", "-q", "-d", app_env["DATABASE_URL"]],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=app_env, text=True,
        )  # fmt: skip
        assert client.stdin is not None
        assert client.stdout is not None
        client.stdin.write(text + "\n\\echo written\n")
        client.stdin.flush()
        while "written" not in client.stdout.readline():
            pass
        client.kill()
        client.communicate()

    kill_after(recipe("psql").replace("COMMIT;", ""))
    assert (owed(), status(shop)) == ([], "draft")
    kill_after(recipe("psql"))
    assert (owed(), status(shop)) == (ONE, "ready")


def test_a_savepoint_lets_the_change_commit_without_its_notification(shop: Shop, app_env: dict[str, str]) -> None:
    done = psql(recipe("savepoint"), app_env)
    assert (done.returncode, owed(), status(shop)) == (0, [], "ready"), done.stderr
    row = shop.execute("SELECT remark FROM shop_report WHERE id = 'demo-report-001'").fetchone()
    assert row == ("recipient is not one plain e-mail address",)


def test_psycopg_runs_the_example_and_goes_on_after_a_refusal(shop: Shop, app_env: dict[str, str]) -> None:
    key = "acme/report-ready/demo-report-002"
    for created in ("True", "False"):
        done = run(sys.executable, "-", env=app_env, text=recipe("psycopg"))
        assert (done.returncode, done.stdout) == (0, f"{key} {created}\n"), done.stderr
    shop.execute("UPDATE shop_report SET status = 'draft'")
    refused = run(sys.executable, "-", env=app_env, text=recipe("psycopg").replace('"Q4"', '"Q5"'))
    assert refused.stdout.startswith(f'refused: notification "{key}" exists with other content Send the same')
    assert (len(owed()), status(shop, "demo-report-002")) == (1, "ready")


@pytest.mark.slow
def test_node_runs_the_example_and_rolls_back_on_a_refusal(shop: Shop, app_env: dict[str, str]) -> None:
    assert (Path(NODE_PATH) / "pg").is_dir(), "Node's package pg is needed: run `make node-pg`"
    env = {**app_env, "NODE_PATH": NODE_PATH}
    for created in ("true", "false"):
        done = run("node", "-", env=env, text=recipe("node"))
        assert (done.returncode, done.stdout) == (0, f"acme/report-ready/demo-report-003 {created}\n"), done.stderr
    shop.execute("UPDATE shop_report SET status = 'draft'")
    refused = run("node", "-", env=env, text=recipe("node").replace('"cem@example.com"', '"bea@example.com"'))
    assert refused.returncode == 1
    assert refused.stderr.startswith("NO422 ")
    assert "existing: acme/report-ready/demo-report-003" in refused.stderr
    assert (len(owed()), status(shop, "demo-report-003")) == (1, "draft")


def test_a_trigger_owes_the_mail_of_a_row_that_becomes_ready(shop: Shop) -> None:
    shop.execute(recipe("trigger").encode())
    ready = "UPDATE shop_report SET status = 'ready'"
    with shop.transaction(force_rollback=True):
        shop.execute(ready)
    assert (owed(), status(shop)) == ([], "draft")
    assert shop.execute(ready).rowcount == 3
    assert sorted(row[0] for row in owed()) == [f"report-ready/demo-report-00{n}" for n in (1, 2, 3)]
    shop.execute("UPDATE shop_report SET status = 'draft'")
    shop.execute(ready)
    assert len(owed()) == 3
    shop.execute(recipe("fire").encode())
    assert owed()[-1] == ("report-ready/demo-report-004", "", "notifyops_test_writer")


@pytest.mark.slow
def test_the_page_can_be_followed_from_top_to_bottom(shop: Shop, app_env: dict[str, str]) -> None:
    """As somebody does who pastes each example into what `make up` runs, and begins anew on the next day."""
    assert (Path(NODE_PATH) / "pg").is_dir(), "Node's package pg is needed: run `make node-pg`"
    env = {**app_env, "NODE_PATH": NODE_PATH}
    names = re.findall(r"^<!-- recipe: (\w+) -->$", DOC.read_text("utf-8"), re.MULTILINE)
    assert names == ["table", "psql", "savepoint", "psycopg", "node", "trigger", "fire", "cancel"]
    programs = {"psycopg": (sys.executable, "-"), "node": ("node", "-")}
    for name in (*names, *(name for name in names if name != "fire")):
        program = programs.get(name)
        done = run(*program, env=env, text=recipe(name)) if program else psql(recipe(name), app_env)
        assert (done.returncode, [line for line in done.stderr.splitlines() if "NOTICE" not in line]) == (0, []), name
    assert sorted(row[:2] for row in owed()) == [
        ("acme/report-ready/demo-report-002", "acme"),
        ("acme/report-ready/demo-report-003", "acme"),
        ("report-ready/demo-001", "acme"),
        ("report-ready/demo-report-004", ""),
    ]


def test_cancelling_takes_it_back(shop: Shop, app_env: dict[str, str]) -> None:
    psql(recipe("psql"), app_env)
    assert psql(recipe("cancel"), app_env).stdout == "report-ready/demo-001|cancelled|cancelled\n"
    assert psql(recipe("cancel"), app_env).stdout == "report-ready/demo-001|already|cancelled\n"


def test_a_role_of_the_applications_own_needs_membership_and_a_grant(
    shop: Shop, as_role: Callable[..., Shop], app_env: dict[str, str], database_url: Callable[[str], str]
) -> None:
    call = recipe("psql").split("COMMIT;")[0].split("shop_report SET")[1].split("001';", 1)[1]
    with as_role("postgres") as admin:
        admin.execute("DROP ROLE IF EXISTS notifyops_test_app")
        admin.execute("CREATE ROLE notifyops_test_app LOGIN PASSWORD 'test-password'")
        admin.execute(f'GRANT CONNECT ON DATABASE "{admin.info.dbname}" TO notifyops_test_app'.encode())
        url = database_url("writer").replace("notifyops_test_writer", "notifyops_test_app")
        try:
            with psycopg.connect(url, autocommit=True) as app:
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    app.execute(call.encode())
                admin.execute("GRANT notifyops_test_writer TO notifyops_test_app")
                with pytest.raises(psycopg.Error, match="has no grant for workspace"):
                    app.execute(call.encode())
                assert notify("grant", "notifyops_test_app", "acme").err == ""
                app.execute(call.encode())
                app.execute(call.replace("report_ready", "report_approved").replace("demo-001", "demo-002").encode())
                app.execute(recipe("cancel").encode())
        finally:
            admin.execute("DROP OWNED BY notifyops_test_app")
            admin.execute("DROP ROLE notifyops_test_app")
    assert {row[2] for row in owed()} == {"notifyops_test_app"}
    assert list(Intent.objects.order_by("id").values_list("state", flat=True)) == ["cancelled", "needs_review"]


def test_a_grant_written_past_the_command_never_sends_what_needs_approval(
    shop: Shop, as_role: Callable[..., Shop]
) -> None:
    with as_role("owner") as owner:
        owner.execute("DELETE FROM notifyops_private.notifications_doorrole WHERE role = 'notifyops_test_writer'")
    with pytest.raises(psycopg.Error, match="not known to the door"):
        shop.execute("SELECT * FROM notifyops.enqueue('report_approved', 'r', 'ana@example.com', '{\"title\": \"Q\"}')")
    assert owed() == []

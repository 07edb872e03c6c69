"""The site as a browser and a load balancer meet it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.conf import settings
from django.test import Client

Connect = Callable[..., psycopg.Connection[Any]]
BASE = Path(__file__).resolve().parents[2]


def manage(*argv: str, **env: str) -> subprocess.CompletedProcess[str]:
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("NOTIFYOPS_", "DJANGO_"))}
    return subprocess.run(
        [sys.executable, "manage.py", *argv], cwd=BASE, env=plain | env, capture_output=True, text=True, check=False
    )


def test_the_process_says_that_it_lives_without_a_database(client: Client) -> None:
    answer = client.get("/healthz")
    assert (answer.status_code, answer.content) == (200, b"ok\n")


@pytest.mark.django_db
def test_a_migrated_database_is_ready(client: Client) -> None:
    answer = client.get("/readyz")
    assert (answer.status_code, answer.content) == (200, b"ready\n")


@pytest.mark.django_db(transaction=True)
def test_a_missing_migration_is_named(client: Client, as_role: Connect) -> None:
    owner = as_role("owner")
    forget = "DELETE FROM django_migrations WHERE app = 'sessions' RETURNING app, name, applied"
    (row,) = owner.execute(forget).fetchall()
    try:
        answer = client.get("/readyz")
    finally:
        owner.execute("INSERT INTO django_migrations (app, name, applied) VALUES (%s, %s, %s)", row)
    assert (answer.status_code, answer.content) == (503, b"migrations: 1 to run: sessions.0001_initial\n")


@pytest.mark.parametrize("path", ["/healthz", "/login/", "/nothing-here"])
@pytest.mark.django_db
def test_every_answer_carries_the_policy(client: Client, path: str) -> None:
    policy = client.get(path).headers["Content-Security-Policy"]
    for part in ("default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "form-action 'self'"):
        assert part in policy
    assert "unsafe" not in policy


@pytest.mark.django_db
def test_the_root_leads_to_the_queue_and_the_queue_to_the_login(client: Client) -> None:
    assert client.get("/").headers["Location"] == "/reviews/"
    assert client.get("/reviews/").headers["Location"] == "/login/?next=/reviews/"


@pytest.mark.django_db
def test_leaving_takes_a_post(client: Client) -> None:
    assert client.get("/logout/").status_code == 405
    assert client.post("/logout/").headers["Location"] == "/login/"


def test_a_foreign_host_name_is_refused(client: Client) -> None:
    assert client.get("/login/", headers={"host": "evil.example.com"}).status_code == 400


def test_the_cluster_has_room_for_its_loops_and_its_chores() -> None:
    queue = settings.Q_CLUSTER
    assert queue["workers"] == settings.NOTIFYOPS_LOOPS + 3
    assert queue["timeout"] > settings.NOTIFYOPS_LOOP_BUDGET_S + settings.NOTIFYOPS_PROVIDER_TIMEOUT_S
    assert queue["retry"] > queue["timeout"] * (1 + queue["queue_limit"] / queue["workers"])


def test_our_commands_stand_before_those_of_others() -> None:
    apps = settings.INSTALLED_APPS
    assert apps.index("notifications") < apps.index("django_q")


def test_a_bad_setting_ends_a_command_with_one_sentence(tmp_path: Path) -> None:
    done = manage("check", NOTIFYOPS_HOME=str(tmp_path), NOTIFYOPS_LEASE_S="1")
    assert done.returncode == 1
    assert done.stderr == "NOTIFYOPS_LEASE_S is '1': it must be a number from 5 to 3600.\n"


def test_without_a_database_a_command_says_how_to_start_one(tmp_path: Path) -> None:
    person = ("--noinput", "--username=olga", "--email=olga@example.com")
    done = manage("createsuperuser", *person, NOTIFYOPS_HOME=str(tmp_path))
    assert done.returncode == 1
    assert done.stderr.startswith(f"Nothing runs in {tmp_path}: start it with `make up`")
    assert "port 1" not in done.stderr
    assert "Traceback" not in done.stderr


def test_migrating_without_the_owner_says_what_is_missing(tmp_path: Path) -> None:
    done = manage("migrate", NOTIFYOPS_HOME=str(tmp_path))
    assert done.returncode == 1
    assert "NOTIFYOPS_OWNER_DATABASE_URL" in done.stderr


@pytest.mark.parametrize(("mode", "secure"), [("sandbox", "False"), ("live", "True")])
def test_only_a_live_site_demands_tls_for_its_session(tmp_path: Path, mode: str, secure: str) -> None:
    program = "from notifyops import settings; print(settings.SESSION_COOKIE_SECURE, settings.CSRF_COOKIE_SECURE)"
    env = os.environ | {"NOTIFYOPS_SITE_MODE": mode, "NOTIFYOPS_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=BASE, env=env, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [secure, secure]


@pytest.mark.django_db(transaction=True)
def test_a_real_command_works_on_the_test_database(process_env: Callable[[str], dict[str, str]]) -> None:
    argv = [sys.executable, "manage.py", "showmigrations", "--plan"]
    done = subprocess.run(argv, cwd=BASE, env=process_env("web"), capture_output=True, text=True, check=False)
    assert "[X]" in done.stdout
    assert "[ ]" not in done.stdout

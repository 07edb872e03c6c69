"""Going back over migrations on a database that has rows: done whole, or refused by a sentence that says what to do."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import psycopg
import pytest

from tests import postgres

pytestmark = pytest.mark.slow
ROOT: Final = Path(__file__).parents[2]
NAME: Final = "way_back"


@dataclass(frozen=True, slots=True)
class Site:
    """A database of its own on the tests' server."""

    owner: str

    def migrate(self, *target: str) -> subprocess.CompletedProcess[str]:
        plain = {name: value for name, value in os.environ.items() if not name.startswith("NOTIFYOPS_")}
        env = plain | {
            "NOTIFYOPS_ROLE": "owner",
            "NOTIFYOPS_SITE": NAME,
            "NOTIFYOPS_DATABASE_URL": self.owner,
            "NOTIFYOPS_OWNER_DATABASE_URL": self.owner,
            "NOTIFYOPS_SECRET_KEY": "only-for-going-back-and-forth-in-a-test",
        }
        line = [sys.executable, "manage.py", "migrate", "--no-input", "-v0", *target]
        return subprocess.run(line, cwd=ROOT, env=env, capture_output=True, text=True, check=False, timeout=300)

    def sql(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.owner, autocommit=True) as connection:
            cursor = connection.execute(query.encode(), values)
            return cursor.fetchall() if cursor.description else []


@pytest.fixture
def site(admin_url: str) -> Iterator[Site]:
    urls = postgres.provision_site(admin_url, site=NAME, database=NAME)
    made = Site(urls["owner"])
    done = made.migrate()
    assert done.returncode == 0, done.stderr
    yield made
    with psycopg.connect(admin_url, autocommit=True) as admin:
        admin.execute(f"DROP DATABASE {NAME} WITH (FORCE)".encode())


QUESTION = """
INSERT INTO notifyops_private.notifications_question (intent_id, account_id, about, since, due_at)
SELECT i.id, i.account_id, 'restore', now(), now() FROM notifyops_private.notifications_intent i
"""
BLOCK = """
INSERT INTO notifyops_private.notifications_deliveryblock (channel, commitment, scope, reason, site_mode)
SELECT 'email', sha256('a'), '', 'bounced', m FROM unnest(%s::text[]) m
"""
RECOVERY = """
INSERT INTO notifyops_private.notifications_recovery (since, started_at, actor, reason)
VALUES (now(), now(), 'cli:lena@host', 'Restored from the hourly copy.')
"""
RECOVERIES = "SELECT count(*) FROM notifyops_private.notifications_recovery"
DECISION = """
INSERT INTO notifyops_private.reviews_review (intent_id, actor, action, outcome, action_token)
VALUES (1, 'user:lena', 'wait', 'done', gen_random_uuid())
"""
APPLIED = "SELECT max(name) FROM django_migrations WHERE app = 'notifications'"


def test_what_a_recovery_has_on_record_keeps_the_way_back_closed_until_somebody_takes_it_away(site: Site) -> None:
    site.sql("SELECT notifyops.enqueue('report_ready', 'demo-001', 'ana@example.com', '{\"title\": \"Q3\"}')")
    site.sql(QUESTION)
    site.sql(BLOCK, ["", "live", "sandbox"])
    site.sql(RECOVERY)
    ((newest,),) = site.sql(APPLIED)

    refused = site.migrate("notifications", "0013")
    assert refused.returncode == 1
    assert "CommandError: 1 recoveries are on record, with who ordered them and why" in refused.stderr
    assert site.sql(RECOVERIES) == [(1,)]

    site.sql("DELETE FROM notifyops_private.notifications_recovery")
    back = site.migrate("notifications", "0013")
    assert back.returncode == 0, back.stderr
    assert site.sql(APPLIED) == [("0013_evidence",)]
    assert site.sql("SELECT about FROM notifyops_private.notifications_question") == [("person",)]
    assert site.sql("SELECT count(*) FROM notifyops_private.notifications_deliveryblock") == [(1,)]

    forth = site.migrate()
    assert forth.returncode == 0, forth.stderr
    assert site.sql(APPLIED) == [(newest,)]
    assert site.sql("SELECT site_mode FROM notifyops_private.notifications_deliveryblock") == [("",)]
    site.sql("SELECT notifyops.enqueue('report_ready', 'demo-002', 'ana@example.com', '{\"title\": \"Q3\"}')")
    assert site.sql("SELECT count(*) FROM notifyops_private.notifications_intent") == [(2,)]
    assert site.sql("SELECT * FROM notifyops_private.doctor_v1()") == []


def test_decisions_of_a_kind_that_an_older_release_does_not_know_keep_the_way_back_closed(site: Site) -> None:
    site.sql(DECISION)
    before = site.sql(APPLIED)
    refused = site.migrate("notifications", "0013")
    assert refused.returncode == 1
    assert "CommandError: 1 decisions on record are of kinds that an older release does not know" in refused.stderr
    assert site.sql(APPLIED) <= before
    forth = site.migrate()
    assert forth.returncode == 0, forth.stderr
    assert site.sql(APPLIED) == before
    assert site.sql("SELECT action FROM notifyops_private.reviews_review") == [("wait",)]

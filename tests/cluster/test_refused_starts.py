"""What a cluster refuses to start with: each a sentence that says how to mend it, and no traceback."""

from __future__ import annotations

import pytest

from notifyops import dsn
from tests import postgres
from tests.cluster.machine import Field

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]


def refusal(field: Field, **settings: str) -> str:
    cluster = field.spawn(settings)
    assert cluster.ended(90) == 1
    printed = cluster.printed()
    assert "Traceback" not in printed
    return printed


def test_a_deadline_that_outlasts_the_lease(field: Field) -> None:
    """H-DUP-2: the reports all come from a time setting, so it is checked and not only documented."""
    printed = refusal(field, NOTIFYOPS_PROVIDER_TIMEOUT_S="10", NOTIFYOPS_LEASE_S="10")
    assert "NOTIFYOPS_LEASE_S is 10: it must be at least NOTIFYOPS_PROVIDER_TIMEOUT_S + 2" in printed


def test_the_role_of_the_console(field: Field) -> None:
    url = field.env["NOTIFYOPS_DATABASE_URL"].replace("notifyops_test_worker", "notifyops_test_web")
    printed = refusal(field, NOTIFYOPS_DATABASE_URL=url)
    assert "set NOTIFYOPS_DATABASE_URL to the worker's role (notifyops_test_worker)" in printed


def test_a_database_without_tables(field: Field, admin_url: str) -> None:
    # The site's own database; the tests migrate another one, beside it.
    url = postgres.role_url(admin_url, "worker")
    assert "Migrations are missing: run manage.py migrate." in refusal(field, NOTIFYOPS_DATABASE_URL=url)


def test_a_provider_without_a_key(field: Field) -> None:
    assert "NOTIFYOPS_RESEND_API_KEY is not set on this host" in refusal(field, NOTIFYOPS_RESEND_API_KEY="")


def test_a_database_that_does_not_answer(field: Field) -> None:
    parts = dsn.read(field.env["NOTIFYOPS_DATABASE_URL"], name="the test's own address")
    url = dsn.write(parts | {"port": str(postgres.free_port())})
    assert "database" in refusal(field, NOTIFYOPS_DATABASE_URL=url).lower()


def test_a_name_that_linux_ignores(field: Field) -> None:
    cluster = field.spawn(arguments=("-n", "mail"))
    assert cluster.ended(90) == 1
    assert "Set Q_CLUSTER_NAME in the environment instead" in cluster.printed()

"""One server for the whole run, settings that point at it, and connections as each of the site's roles."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import hypothesis
import psycopg
import pytest

from notifyops import dsn
from tests import installation as whole
from tests import postgres

ADMIN_URL: Final = "NOTIFYOPS_TEST_SERVER"
_run: Final = contextlib.ExitStack()

# The same examples on every machine, so that a red run says something about the change; `NOTIFYOPS_TEST_SEARCH=1`
# looks for new ones.
hypothesis.settings.register_profile("fixed", derandomize=True, deadline=None, database=None)
hypothesis.settings.register_profile("search", deadline=None, print_blob=True)
hypothesis.settings.load_profile("search" if os.environ.get("NOTIFYOPS_TEST_SEARCH") else "fixed")

AsRole = Callable[..., psycopg.Connection[Any]]
DatabaseUrl = Callable[[str], str]


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Start the server on the controller, then let every process load the settings that name it.

    Workers of xdist are children of the controller and inherit its environment.
    """
    if not hasattr(config, "workerinput"):
        for name in list(os.environ):
            if name.startswith("NOTIFYOPS_") and not name.startswith("NOTIFYOPS_TEST_"):
                del os.environ[name]
        admin_url = _run.enter_context(postgres.running_server())
        home = Path(_run.enter_context(tempfile.TemporaryDirectory(prefix="notifyops-test-home-")))
        home.chmod(0o711)
        urls = postgres.provision_site(admin_url)
        os.environ |= {
            ADMIN_URL: admin_url,
            "NOTIFYOPS_HOME": str(home),
            "NOTIFYOPS_SITE": postgres.SITE,
            "NOTIFYOPS_SECRET_KEY": "test-secret-key-that-is-long-enough-for-the-rule",
            "NOTIFYOPS_DATABASE_URL": urls["web"],
            "NOTIFYOPS_OWNER_DATABASE_URL": urls["owner"],
        }
    os.environ["DJANGO_SETTINGS_MODULE"] = "notifyops.settings"
    from django.conf import settings

    # Loaded now, so that pytest-django, whose own hook comes last, finds them and sets Django up.
    assert settings.DATABASES


def pytest_unconfigure(config: pytest.Config) -> None:
    """End the server with the run."""
    if not hasattr(config, "workerinput"):
        _run.close()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let every test name both aliases: only the owner may flush, and what is not named is not the test database."""
    for item in items:
        mark = item.get_closest_marker("django_db")
        if mark and not mark.kwargs.get("databases"):
            item.add_marker(pytest.mark.django_db(**mark.kwargs, databases=["default", "owner"]), append=False)
        # A browser or a real process may lose a race against a busy machine: such a test is played twice before it
        # fails the run. One that needed it is named at the end, and is to be mended.
        if item.get_closest_marker("slow") and not os.environ.get("NOTIFYOPS_TEST_STRICT"):
            item.add_marker(pytest.mark.flaky(reruns=1))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Give the default connection the role that the test's mark names, before any fixture connects."""
    mark = item.get_closest_marker("role")
    _become(mark.args[0] if mark else "web")


def _become(role: str) -> None:
    from django.conf import settings
    from django.db import connection

    name = settings.NOTIFYOPS_ROLES[role]
    if connection.settings_dict["USER"] != name:
        connection.close()
        connection.settings_dict["USER"] = name


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name the tests that passed only when they were played again, with what they said first."""
    again = [report for report in terminalreporter.getreports("rerun") if report.when]
    if again:
        terminalreporter.section("unsteady: failed, and were played again")
        for report in again:
            terminalreporter.write_line(f"UNSTEADY {report.nodeid} ({report.when})", yellow=True)
            terminalreporter.write_line(report.longreprtext)


@pytest.fixture(autouse=True)
def nothing_of_the_test_before() -> Iterator[None]:
    """Give each test the language, the time zone and the environment that a process starts with.

    A page that the test before asked for in Chinese leaves its language with the thread, and a page that it served
    leaves the name of what this process is: the order of the tests must not decide what a command says.
    """
    from django.utils import timezone, translation

    translation.deactivate()
    timezone.deactivate()
    before = {name: value for name, value in os.environ.items() if name.startswith("NOTIFYOPS_")}
    yield
    for name in [name for name in os.environ if name.startswith("NOTIFYOPS_") and name not in before]:
        del os.environ[name]
    os.environ.update(before)


@pytest.fixture(scope="session", autouse=True)
def quick_passwords() -> None:
    """Hash passwords fast: the slow hash is Django's, and not what we test."""
    from django.conf import settings
    from django.core.signals import setting_changed

    fast = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    settings.PASSWORD_HASHERS = fast
    setting_changed.send(sender=None, setting="PASSWORD_HASHERS", value=fast, enter=True)


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, admin_url: str, database_url: DatabaseUrl) -> Iterator[None]:
    """Install the test doors once the test database is migrated; end every session before it is dropped."""
    with psycopg.connect(database_url("owner"), autocommit=True) as owner:
        postgres.install_test_doors(owner)
        name = owner.info.dbname
    yield
    with psycopg.connect(admin_url, autocommit=True) as admin:
        admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])


@pytest.fixture(scope="session")
def admin_url() -> str:
    """Give the administrator's address of the test server."""
    return os.environ[ADMIN_URL]


@pytest.fixture(scope="session")
def database_url(admin_url: str) -> DatabaseUrl:
    """Give the address of a role (or of `postgres`, the superuser) in this process's own test database."""

    def give(role: str) -> str:
        from django.db import connections

        database = str(connections["owner"].settings_dict["NAME"])
        if role == "postgres":
            return dsn.write(dsn.read(admin_url, name=ADMIN_URL) | {"dbname": database})
        return postgres.role_url(admin_url, role, database=database)

    return give


@pytest.fixture
def as_role(django_db_setup: None, database_url: DatabaseUrl) -> Iterator[AsRole]:
    """Open connections as worker, web, writer, reader, owner or postgres; they close with the test.

    They see only what is committed: use them in tests marked `django_db(transaction=True)`.
    """
    with contextlib.ExitStack() as opened:

        def connect(role: str, *, autocommit: bool = True) -> psycopg.Connection[Any]:
            connection = psycopg.connect(database_url(role), autocommit=autocommit)
            opened.callback(connection.close)
            return connection

        yield connect


@pytest.fixture
def process_env(django_db_setup: None, database_url: DatabaseUrl) -> Callable[[str], dict[str, str]]:
    """Give the environment in which a real process works on this test database as the named role."""

    def give(role: str) -> dict[str, str]:
        # What this process is, since a test served a page in it, is no word about the one that is started.
        inherited = {name: value for name, value in os.environ.items() if name != "NOTIFYOPS_PROCESS"}
        return {
            **inherited,
            "NOTIFYOPS_ROLE": role if role in ("worker", "web", "owner") else "web",
            "NOTIFYOPS_DATABASE_URL": database_url(role),
            "NOTIFYOPS_OWNER_DATABASE_URL": database_url("owner"),
        }

    return give


@pytest.fixture(scope="session")
def installation() -> Iterator[dict[str, Any]]:
    """Run one whole installation with short times for all the tests of this process; mark such tests `slow`."""
    with whole.fresh_home() as home, whole.running(home=home) as info:
        yield info

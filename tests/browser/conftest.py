"""One browser and one served site for all browser tests."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.browser.console_site import Chromium


@pytest.fixture(scope="session")
def chromium() -> Iterator[Chromium]:
    """Give the browser."""
    from tests.browser.console_site import running_chromium

    with running_chromium() as running:
        yield running


@pytest.fixture(scope="session")
def served_site(django_db_setup: None, database_url: Callable[[str], str]) -> Iterator[str]:
    """Serve the site once for all tests, as the web role on the test database."""
    from tests.browser.console_site import served

    environment = {**os.environ, "NOTIFYOPS_ROLE": "web", "NOTIFYOPS_DATABASE_URL": database_url("web")}
    with served(environment) as address:
        yield address


@pytest.fixture
def site(transactional_db: None, served_site: str) -> str:
    """Give the site's address."""
    return served_site


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what the journeys took, where they were played."""
    played = [
        str(value)
        for report in terminalreporter.getreports("passed")
        for name, value in report.user_properties
        if name == "journey" and report.when == "call"
    ]
    if played:
        terminalreporter.section("journeys: from an alert's page to the decision on record")
        for line in played:
            terminalreporter.write_line(line)

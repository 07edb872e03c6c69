"""The console in a real browser: the site served on the test database, and Chromium in a thread of its own.

Playwright's sync API leaves an event loop running in its thread, in which Django refuses to work; so it has its own.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect, sync_playwright

from tests.postgres import free_port

T = TypeVar("T")
# How long a page may take on a machine that is busy with other tests; who waits goes on as soon as it is there.
PATIENCE_MS: Final = 30_000
_FLAGS: Final = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]


@contextmanager
def served(environment: dict[str, str]) -> Iterator[str]:
    """Serve the site in a process of its own on a free port of loopback; give its address."""
    port = free_port()
    command = [sys.executable, "-m", "uvicorn", "notifyops.asgi:application", "--lifespan", "off"]
    with tempfile.TemporaryFile() as log:
        server = subprocess.Popen([*command, "--port", str(port)], env=environment, stdout=log, stderr=log)
        try:
            _wait_for(port, server)
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()
            server.wait(20)


def _wait_for(port: int, server: subprocess.Popen[bytes]) -> None:
    for _ in range(1800):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        assert server.poll() is None, "the web server ended before it listened"
        time.sleep(0.05)
    raise AssertionError("the web server does not listen after 30 s")


def chromium_path() -> str | None:
    """Give the browser that the environment names, else an installed one; None lets Playwright take its own."""
    given = os.environ.get("NOTIFYOPS_TEST_CHROMIUM")
    return given or next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@dataclass(frozen=True, slots=True)
class Chromium:
    """A browser that lives in one thread; `run` plays a script of pages in it."""

    pool: ThreadPoolExecutor
    browser: Browser

    def run(self, script: Callable[[Page], T], *, answers: Collection[int] = (), **context: Any) -> T:
        """Open a fresh context with these options, play the script on a page of it, close it.

        Fails where the browser complained of anything: a broken script, a file that is missing, what the content policy
        forbids. `answers` are the refusals (404, 409, …) that the script means to get.
        """

        def play() -> T:
            opened = self.browser.new_context(**context)
            opened.set_default_timeout(PATIENCE_MS)
            complaints = complaints_in(opened, answers)
            try:
                found = script(opened.new_page())
            finally:
                opened.close()
            assert complaints == [], complaints
            return found

        return self.pool.submit(play).result()


def complaints_in(context: BrowserContext, answers: Collection[int]) -> list[str]:
    """Give a list that fills with what the browser complains about, on any page of the context."""
    seen: list[str] = []
    said = ("the server responded with a status of {} ", "Response Status Error Code {} ")
    expected = [each.format(status) for each in said for status in answers]

    def hear(message: ConsoleMessage) -> None:
        told = message.text
        is_fault = message.type == "error" or "Content Security Policy" in told
        if is_fault and not any(one in told for one in expected):
            seen.append(f"{message.location.get('url', '')}: {told}")

    context.on("console", hear)
    context.on("weberror", lambda error: seen.append(str(error.error)))
    return seen


@contextmanager
def running_chromium() -> Iterator[Chromium]:
    """Start the browser in its thread."""
    expect.set_options(timeout=PATIENCE_MS)
    with ThreadPoolExecutor(1) as pool:
        driver = pool.submit(lambda: sync_playwright().start()).result()
        browser = pool.submit(driver.chromium.launch, executable_path=chromium_path(), args=_FLAGS).result()
        try:
            yield Chromium(pool, browser)
        finally:
            pool.submit(browser.close).result()
            pool.submit(driver.stop).result()


def log_in(page: Page, site: str, name: str, to: str = "/reviews/") -> None:
    """Log one of the people in, by the plain form."""
    page.goto(f"{site}/login/?next={to}")
    page.fill("[name=username]", name)
    page.fill("[name=password]", "pw")
    page.click("main button")
    page.wait_for_url(f"{site}{to}")

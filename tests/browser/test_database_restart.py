"""A page that is open while its PostgreSQL is stopped and started again: it says so, and is well again by itself."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from notifyops import children, embedded, keep, postmaster
from tests import postgres
from tests.browser.console_site import Chromium, log_in, served

pytestmark = pytest.mark.slow
LONG_MS = 120_000


@dataclass
class OwnServer:
    """A PostgreSQL of this test alone."""

    server: embedded.Server
    home: Path
    url: str
    child: children.Child | None = None

    def start(self) -> None:
        command = self.server.command(log=self.home / "log", settings=postgres.FAST)
        self.child = postmaster.start(command, admin_url=self.url, data=self.server.data)

    def stop(self) -> None:
        if self.child is not None:
            children.stop([self.child])
            self.child = None


@contextmanager
def own_server() -> Iterator[OwnServer]:
    home = Path(tempfile.mkdtemp(prefix="notifyops-restart-"))
    home.chmod(0o711)  # the database's own user must pass through
    port = postgres.free_port()
    server = embedded.prepare(home / "postgres", password=postgres.PASSWORD, port=port)
    one = OwnServer(server, home, f"postgresql://postgres:{postgres.PASSWORD}@127.0.0.1:{port}/postgres")
    try:
        one.start()
        yield one
    finally:
        one.stop()
        postmaster.remove_sockets(server.sockets)
        shutil.rmtree(home, ignore_errors=True)


def furnished(one: OwnServer) -> dict[str, str]:
    """Make the site's tables and a person who may see it; give the environment of its web process."""
    urls = postgres.provision_site(one.url)
    keep.folder(one.home / "home")
    environment = {
        **os.environ,
        "NOTIFYOPS_HOME": str(one.home / "home"),
        "NOTIFYOPS_ROLE": "web",
        "NOTIFYOPS_DATABASE_URL": urls["web"],
        "NOTIFYOPS_OWNER_DATABASE_URL": urls["owner"],
        "DJANGO_SUPERUSER_PASSWORD": "pw",
    }
    person = ["createsuperuser", "--noinput", "--username", "lena", "--email", ""]
    for command in (["migrate", "-v0"], person):
        subprocess.run([sys.executable, "manage.py", *command], env=environment, check=True, timeout=300)
    return environment


def test_an_open_page_tells_of_a_stopped_database_and_is_well_again_when_it_is_back(chromium: Chromium) -> None:
    with own_server() as database, served(furnished(database)) as site, ThreadPoolExecutor(1) as outside:

        def work(page: Page) -> None:
            log_in(page, site, "lena")
            with page.expect_response(lambda answer: "/reviews/live?after=" in answer.url, timeout=LONG_MS):
                page.goto(f"{site}/reviews/")
            expect(page.locator("#live")).not_to_have_class("live told lost")
            before = page.locator("#queue").inner_text()
            outside.submit(database.stop).result()
            expect(page.locator("#news")).to_contain_text("The database does not answer", timeout=LONG_MS)
            # What it said last stays, and whoever asks for more is told so in words.
            assert page.locator("#queue").inner_text().startswith(before[:20])
            other = page.context.new_page()
            answer = other.goto(f"{site}/reviews/")
            assert answer is not None
            assert answer.status == 503
            assert "Not available now" in other.inner_text("h1")
            outside.submit(database.start).result()
            expect(page.locator("#news")).to_have_text("", timeout=LONG_MS)
            expect(page.locator("#live")).to_have_class("live", timeout=LONG_MS)
            other.reload()
            expect(other.locator("h1")).to_have_text("Review queue", timeout=LONG_MS)

        chromium.run(work, answers=[503], viewport={"width": 1280, "height": 800})

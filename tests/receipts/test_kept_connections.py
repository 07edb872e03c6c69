"""A process that serves keeps its connections: under ASGI each request has a thread of its own, and would open one."""

from __future__ import annotations

import time
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from tests.browser.console_site import served

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
NAME = "kept_by_this_site"
OPENED = "SELECT pid FROM pg_stat_activity WHERE application_name = %s AND datname = current_database()"


def refused(site: str) -> int:
    """Post an event that is well formed and signed by nobody: the account is looked up, and then it is refused."""
    headers = {"svix-id": "msg_1", "svix-timestamp": str(int(time.time())), "svix-signature": "v1,AAAA"}
    request = urllib.request.Request(f"{site}/api/v1/providers/resend/events", b"{}", headers)
    with pytest.raises(urllib.error.HTTPError) as refusal:
        urllib.request.urlopen(request, timeout=30)
    refusal.value.close()
    return refusal.value.code


@pytest.fixture
def opened(as_role: Callable[..., psycopg.Connection[Any]]) -> Callable[[], set[int]]:
    """Give the sessions that the served site holds now."""
    owner = as_role("owner")
    return lambda: {pid for (pid,) in owner.execute(OPENED, [NAME]).fetchall()}


def environment(process_env: Callable[[str], dict[str, str]], **more: str) -> dict[str, str]:
    env = process_env("web")
    joint = "&" if "?" in env["NOTIFYOPS_DATABASE_URL"] else "?"
    return env | {"NOTIFYOPS_DATABASE_URL": f"{env['NOTIFYOPS_DATABASE_URL']}{joint}application_name={NAME}"} | more


def test_requests_one_after_the_other_share_one_connection(process_env, opened) -> None:
    with served(environment(process_env)) as site:
        seen = set[int]()
        for _ in range(3):
            assert refused(site) == 401
            seen |= opened()
        assert seen == opened()
    assert len(seen) == 1


def test_without_a_pool_none_is_left_when_a_request_has_ended(process_env, opened) -> None:
    """The counterpart, which shows what the other depends on."""
    with served(environment(process_env, NOTIFYOPS_WEB_POOL="0")) as site:
        assert refused(site) == 401
        ends_at = time.monotonic() + 30
        while opened():
            assert time.monotonic() < ends_at
            time.sleep(0.05)

"""A field of play with real processes; everything that a test started there has ended before its tables are emptied."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from notifications.sandbox.app import RunningSandbox, running_sandbox
from tests.cluster.machine import Field


@pytest.fixture
def sandbox() -> Iterator[RunningSandbox]:
    with running_sandbox() as running:
        yield running


@pytest.fixture
def field(
    transactional_db: None,
    process_env: Callable[[str], dict[str, str]],
    as_role: Callable[..., psycopg.Connection[Any]],
    sandbox: RunningSandbox,
    tmp_path: Path,
) -> Iterator[Field]:
    """Give a field on this process's test database, whose clusters speak to a sandbox of its own.

    Whatever was killed in the test, no invariant of delivery may be broken by it.
    """
    from notifications import doctor

    env = process_env("worker") | {
        "NOTIFYOPS_RESEND_BASE_URL": sandbox.url,
        "NOTIFYOPS_RESEND_API_KEY": sandbox.sending_key,
    }
    del env["NOTIFYOPS_OWNER_DATABASE_URL"]
    made = Field(env, sandbox, tmp_path, as_role("owner"), as_role("web"), process_env("web")["NOTIFYOPS_DATABASE_URL"])
    yield made
    for cluster in made.clusters:
        cluster.kill()
    assert [violation for violation in doctor.check_all() if violation.intent_id is not None] == []

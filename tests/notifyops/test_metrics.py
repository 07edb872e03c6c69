"""`/metrics`: who may read it, what it says, and that it says nothing of anybody."""

from __future__ import annotations

import ipaddress
import re
from pathlib import Path
from typing import Any

import pytest
from django.db import OperationalError
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families

from notifications import metrics
from tests.reviews import cases
from tests.reviews.cases import make_case

pytestmark = [pytest.mark.django_db(databases=["default", "owner"]), pytest.mark.role("owner")]
PAGE = Path(__file__).parents[2] / "docs" / "metrics.md"
TOKEN = "a-token-of-sixteen-signs"


def read(**headers: str) -> dict[str, Any]:
    answer = Client().get("/metrics", headers=headers)
    assert answer.status_code == 200
    families = text_string_to_metric_families(answer.content.decode())
    return {family.name: family for family in families}


def value(found: dict[str, Any], name: str, **labels: str) -> float | None:
    return next((sample.value for sample in found[name].samples if labels.items() <= sample.labels.items()), None)


def test_every_figure_is_there_with_its_help() -> None:
    found = read()
    assert {name: family.documentation for name, family in found.items()} == dict(metrics.HELP)


def test_the_figures_are_those_of_the_database() -> None:
    before = read()
    make_case(cases.NOT_SENT, "one")
    make_case(cases.UNKNOWN, "two")
    found = read()
    assert (value(before, "notifyops_review_cases"), value(found, "notifyops_review_cases")) == (0, 2)
    assert value(found, "notifyops_delivery", verdict="stands_still") == 1  # no worker beats here
    assert value(found, "notifyops_delivery", verdict="runs") == 0
    assert value(found, "notifyops_last_claim_age_seconds") is None  # and none ever claimed: no figure, not 0
    assert value(found, "notifyops_attempts_hour", account="resend", outcome="attempts") == 6
    assert value(found, "notifyops_attempts_hour", account="resend", outcome="ambiguous") == 3
    assert value(found, "notifyops_waiting", state="pending") == 0


def test_nobody_and_nothing_that_was_said_is_in_it() -> None:
    intent = make_case(cases.BOUNCED, "secret-report")
    body = Client().get("/metrics").content.decode()
    assert intent.notification_id not in body
    assert "secret-report" not in body
    assert "@" not in body


@pytest.mark.parametrize("address", ["192.0.2.1", "2001:db8::1", "10.0.0.7", ""])
def test_from_elsewhere_it_is_refused_in_words(address: str) -> None:
    answer = Client(REMOTE_ADDR=address).get("/metrics")
    assert answer.status_code == 403
    assert b"NOTIFYOPS_METRICS_TOKEN" in answer.content
    assert b"notifyops_due" not in answer.content


@pytest.mark.parametrize("claim", ["X-Forwarded-For", "Forwarded"])
def test_a_proxy_that_nobody_named_makes_no_stranger_this_machine(claim: str) -> None:
    """A web server beside us passes strangers on from 127.0.0.1."""
    assert Client().get("/metrics", headers={claim: "192.0.2.1"}).status_code == 403


def test_behind_a_named_proxy_the_readers_own_address_counts(settings: Any) -> None:
    settings.NOTIFYOPS_TRUSTED_PROXIES = (ipaddress.ip_network("127.0.0.0/8"),)
    assert Client().get("/metrics", headers={"X-Forwarded-For": "192.0.2.1"}).status_code == 403


def test_who_has_the_token_reads_it_from_anywhere_and_a_wrong_one_nowhere(settings: Any) -> None:
    away = Client(REMOTE_ADDR="192.0.2.1")
    bearer = {"Authorization": f"Bearer {TOKEN}"}
    assert away.get("/metrics", headers=bearer).status_code == 403  # none is set
    settings.NOTIFYOPS_METRICS_TOKEN = TOKEN
    assert away.get("/metrics", headers=bearer).status_code == 200
    for wrong in (f"Bearer {TOKEN}x", "Bearer ", f"Basic {TOKEN}", "Bearer \u00e4"):
        assert away.get("/metrics", headers={"Authorization": wrong}).status_code == 403
    assert Client().get("/metrics", headers={"Authorization": "Bearer wrong"}).status_code == 403


def test_a_database_that_is_away_is_503_and_no_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    def away() -> Any:
        raise OperationalError("the server closed the connection")

    monkeypatch.setattr(metrics, "figures", away)
    answer = Client().get("/metrics")
    assert (answer.status_code, answer.content) == (503, b"database: no answer\n")


def test_the_page_of_the_docs_lists_them() -> None:
    rows = re.findall(r"^\| `(notifyops_\w+)`[^|]*\| (.+) \|$", PAGE.read_text("utf-8"), re.MULTILINE)
    assert dict(rows) == dict(metrics.HELP)
    assert [name for name, _ in rows] == list(metrics.HELP)

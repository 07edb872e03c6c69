"""Whose webhook secret the web process gets: the sandbox's only where the sandbox is the provider."""

from __future__ import annotations

from pathlib import Path

import pytest

from notifyops.plan import Plan

NAME = "NOTIFYOPS_RESEND_WEBHOOK_SECRETS"


def plan(tmp_path: Path, *, uses_sandbox: bool) -> Plan:
    return Plan(
        home=tmp_path,
        site="local",
        roles={},
        port=8000,
        sandbox_port=8025,
        uses_sandbox=uses_sandbox,
        sandbox_sending_key="re_sending",
        sandbox_full_key="re_full",
        database_url="",
        owner_database_url="",
    )


def test_the_sandboxes_secret_takes_the_place_of_any_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"{NAME}_FILE", "/etc/real")
    env = plan(tmp_path, uses_sandbox=True).web(webhook_secret="whsec_sandbox").env
    assert (env[NAME], f"{NAME}_FILE" in env) == ("whsec_sandbox", False)


def test_a_real_providers_secret_is_not_hidden_by_the_sandboxes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(NAME, "whsec_real")
    assert plan(tmp_path, uses_sandbox=False).web(webhook_secret="whsec_sandbox").env[NAME] == "whsec_real"
    assert plan(tmp_path, uses_sandbox=True).web().env[NAME] == "whsec_real"


def test_the_cluster_knows_no_secret_of_the_sandboxes_webhook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(NAME, raising=False)
    assert NAME not in plan(tmp_path, uses_sandbox=True).cluster().env

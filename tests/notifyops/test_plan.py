"""Whose webhook secret the web process gets: the sandbox's only where the sandbox is the provider."""

from __future__ import annotations

from pathlib import Path

import pytest

from notifyops.plan import Plan, ignored

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


def test_a_given_secret_stands_before_the_sandboxes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Or a rotation as docs/receipts.md describes it would have no effect."""
    monkeypatch.setenv(NAME, "whsec_new, whsec_old")
    ours = plan(tmp_path, uses_sandbox=True)
    assert ours.web(webhook_secret="whsec_sandbox").env[NAME] == "whsec_new,whsec_old,whsec_sandbox"
    assert ours.web(webhook_secret="whsec_old").env[NAME] == "whsec_new,whsec_old"


def test_a_secret_in_a_file_is_joined_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "secret").write_text("whsec_filed\n")
    monkeypatch.delenv(NAME, raising=False)
    monkeypatch.setenv(f"{NAME}_FILE", str(tmp_path / "secret"))
    env = plan(tmp_path, uses_sandbox=True).web(webhook_secret="whsec_sandbox").env
    assert (env[NAME], f"{NAME}_FILE" in env) == ("whsec_filed,whsec_sandbox", False)


def test_a_real_providers_secret_is_not_hidden_by_the_sandboxes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(NAME, "whsec_real")
    assert plan(tmp_path, uses_sandbox=False).web(webhook_secret="whsec_sandbox").env[NAME] == "whsec_real"
    assert plan(tmp_path, uses_sandbox=True).web().env[NAME] == "whsec_real"


def test_the_cluster_knows_no_secret_of_the_sandboxes_webhook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(NAME, raising=False)
    assert NAME not in plan(tmp_path, uses_sandbox=True).cluster().env


def test_a_given_variable_without_effect_is_named() -> None:
    given = {
        "NOTIFYOPS_RESEND_API_KEY": "re_mine",
        "NOTIFYOPS_RESEND_LOOKUP_KEY_FILE": "/etc/key",
        "NOTIFYOPS_OWNER_DATABASE_URL": "postgresql://owner@db.example.com/app",
        "NOTIFYOPS_ROLE": "worker",
        "NOTIFYOPS_RETRY_DELAYS_S": "1",
        "HOME": "/root",
    }
    said = list(ignored(given, uses_sandbox=True))
    assert [line.split(" ")[0] for line in said] == list(given)[:4]
    assert not any(secret in "".join(said) for secret in ("re_mine", "db.example.com"))
    served = given | {"NOTIFYOPS_DATABASE_URL": "postgresql://admin@db.example.com/app"}
    assert [line.split(" ")[0] for line in ignored(served, uses_sandbox=False)] == ["NOTIFYOPS_ROLE"]

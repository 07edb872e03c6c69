"""A restarted sandbox sends the webhooks that had not arrived, and only those; here a fiftieth of a second later."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest

from notifications.sandbox.app import running_sandbox
from tests.sandbox.callers import call, eventually, send
from tests.sandbox.receiver import Receiver, register, verified

pytestmark = pytest.mark.slow


def test_what_had_not_arrived_is_sent_under_its_id(tmp_path: Path, receiver: Receiver) -> None:
    receiver.statuses = [200, 500]
    with running_sandbox(journal=tmp_path / "j", delivery_delay_s=60) as sandbox:
        _, secret = register(sandbox, receiver, ["email.sent"])
        send(sandbox)
        receiver.wait_for(1)
        lost = send(sandbox, subject="报告").json["id"]
        failed = receiver.wait_for(2)[1]
    with running_sandbox(journal=tmp_path / "j", delivery_delay_s=60, retry_scale=0.001) as sandbox:
        again = receiver.wait_for(3)[2]
        assert (again.id, again.body, again.data["email_id"]) == (failed.id, failed.body, lost)
        assert verified(again, secret)
        eventually(lambda: [one["status"] for one in sandbox.attempts()] == ["success"])
    with running_sandbox(journal=tmp_path / "j", delivery_delay_s=60, retry_scale=0.001):
        time.sleep(0.2)
    assert len(receiver.got) == 3


def test_a_killed_sandbox_forgets_none(tmp_path: Path, receiver: Receiver) -> None:
    """Its journal as it stands at any moment is all that a kill would leave."""
    receiver.statuses = [500]
    with running_sandbox(journal=tmp_path / "j", delivery_delay_s=60) as sandbox:
        register(sandbox, receiver, ["email.sent", "suppression.added"])
        send(sandbox)
        failed = receiver.wait_for(1)[0]
        shutil.copy(tmp_path / "j", tmp_path / "left")
    with running_sandbox(journal=tmp_path / "left", delivery_delay_s=60, retry_scale=0.001):
        assert receiver.wait_for(2)[1].id == failed.id


def test_a_dropped_message_stays_dropped_and_a_removed_webhook_gets_nothing(tmp_path: Path, receiver: Receiver) -> None:
    receiver.statuses = [500]
    with running_sandbox(journal=tmp_path / "j", delivery_delay_s=60) as sandbox:
        webhook_id, _ = register(sandbox, receiver, ["email.sent"])
        sandbox.webhook_fault(kind="drop")
        send(sandbox)
        send(sandbox)
        receiver.wait_for(1)
        shutil.copy(tmp_path / "j", tmp_path / "left")
        call(sandbox, "DELETE", f"/webhooks/{webhook_id}")
    with running_sandbox(journal=tmp_path / "j", delivery_delay_s=60, retry_scale=0.001) as sandbox:
        assert sandbox.attempts() == []
    with running_sandbox(journal=tmp_path / "left", delivery_delay_s=60, retry_scale=0.001):
        receiver.wait_for(2)
        time.sleep(0.2)
    assert len({got.id for got in receiver.got}) == 1

"""What a restarted sandbox still knows."""

from __future__ import annotations

import contextlib
import gc
import json
import stat
from pathlib import Path

import pytest

from notifications.sandbox.app import running_sandbox
from notifications.sandbox.journal import Journal
from notifications.sandbox.refusals import Misused
from tests.sandbox.callers import call, eventually, order, send
from tests.sandbox.receiver import Receiver

TAGS = [{"name": "intent", "value": "7"}]


def test_ledger_keys_and_mails_survive_a_restart(tmp_path: Path) -> None:
    journal = tmp_path / "sandbox.jsonl"
    with running_sandbox(journal=journal) as sandbox:
        first = send(sandbox, "k", tags=TAGS)
        send(sandbox, "k", tags=TAGS)
        eventually(lambda: call(sandbox, "GET", f"/emails/{first.json['id']}").json["last_event"] == "delivered")
        before = (sandbox.ledger("k"), call(sandbox, "GET", f"/emails/{first.json['id']}").json)
    with running_sandbox(journal=journal) as sandbox:
        assert (sandbox.ledger("k"), call(sandbox, "GET", f"/emails/{first.json['id']}").json) == before
        assert send(sandbox, "k", tags=TAGS).raw == first.raw
        assert send(sandbox, "k", text="Another.").name == "invalid_idempotent_request"
        assert sandbox.ledger("k").accepted == 1
        assert send(sandbox, "k2").header("x-resend-monthly-quota") == "2"


def test_the_clock_survives_a_restart(tmp_path: Path) -> None:
    with running_sandbox(journal=tmp_path / "j") as sandbox:
        send(sandbox, "k")
        sandbox.clock(86_400)
    with running_sandbox(journal=tmp_path / "j") as sandbox:
        assert send(sandbox, "k").status == 200
        assert sandbox.ledger("k").accepted == 2


def test_webhooks_and_suppressions_survive_a_restart(tmp_path: Path, receiver: Receiver) -> None:
    with running_sandbox(journal=tmp_path / "j") as sandbox:
        made = call(sandbox, "POST", "/webhooks", {"endpoint": receiver.url, "events": ["email.sent"]}).json
        gone = call(sandbox, "POST", "/webhooks", {"endpoint": receiver.url}).json
        call(sandbox, "DELETE", f"/webhooks/{gone['id']}")
        rotated = call(sandbox, "POST", f"/webhooks/{made['id']}/signing-secret/rotate").json
        for name in ("sam", "vera"):
            call(sandbox, "POST", "/suppressions", {"email": f"{name}@example.com"})
        call(sandbox, "DELETE", "/suppressions/vera@example.com")
    with running_sandbox(journal=tmp_path / "j") as sandbox:
        (shown,) = call(sandbox, "GET", "/webhooks").json["data"]
        assert (shown["id"], shown["signing_secret"]) == (made["id"], rotated["signing_secret"])
        assert [row["email"] for row in call(sandbox, "GET", "/suppressions").json["data"]] == ["sam@example.com"]
        send(sandbox)
        assert len(receiver.wait_for(1)[0].headers["svix-signature"].split(" ")) == 2


def test_a_mail_under_way_goes_on_after_a_restart(tmp_path: Path) -> None:
    with running_sandbox(journal=tmp_path / "j", delivery_delay_s=60) as sandbox:
        sent = send(sandbox).json["id"]
        scheduled = send(sandbox, scheduled_at="in 1 hour").json["id"]
        moved = send(sandbox, scheduled_at="in 1 hour").json["id"]
        call(sandbox, "PATCH", f"/emails/{moved}", {"scheduled_at": "in 3 hours"})
    with running_sandbox(journal=tmp_path / "j", delivery_delay_s=0.01) as sandbox:

        def last_event(mail_id: str) -> str:
            return str(call(sandbox, "GET", f"/emails/{mail_id}").json["last_event"])

        eventually(lambda: last_event(sent) == "delivered")
        assert (last_event(scheduled), last_event(moved)) == ("scheduled", "scheduled")
        sandbox.clock(7_200)
        eventually(lambda: last_event(scheduled) == "delivered")
        assert last_event(moved) == "scheduled"


def test_a_last_line_cut_by_a_crash_is_dropped(tmp_path: Path) -> None:
    journal = tmp_path / "j"
    with running_sandbox(journal=journal) as sandbox:
        send(sandbox, "k")
    whole = journal.read_bytes()
    journal.write_bytes(whole + b'{"fact":"accepted","mails":[{"id"')
    with running_sandbox(journal=journal) as sandbox:
        assert sandbox.ledger("k").accepted == 1
        send(sandbox, "k2")
    assert all(json.loads(line) for line in journal.read_bytes().splitlines())


def test_a_damaged_journal_is_refused_with_its_line(tmp_path: Path) -> None:
    journal = tmp_path / "j"
    for damage in (b"not json\n", b"5\n", b'{"fact":"unheard of"}\n', b'{"fact":"accepted"}\n'):
        journal.write_bytes(b'{"fact":"request","key":"k"}\n' + damage)
        with pytest.raises(Misused, match="Line 2 of the journal"), running_sandbox(journal=journal):
            pass


def test_a_journal_belongs_to_one_sandbox_at_a_time(tmp_path: Path) -> None:
    journal = tmp_path / "j"
    with (
        running_sandbox(journal=journal),
        pytest.raises(Misused, match="in use by another sandbox"),
        running_sandbox(journal=journal),
    ):
        pass
    with running_sandbox(journal=journal):
        pass


def test_a_journal_is_for_its_owner_alone(tmp_path: Path) -> None:
    with running_sandbox(journal=tmp_path / "deep" / "er" / "j"):
        mode = (tmp_path / "deep" / "er" / "j").stat().st_mode
    assert stat.S_IMODE(mode) == 0o600


def test_a_journal_that_cannot_be_opened_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(Misused, match="cannot be opened"):
        Journal(tmp_path)
    with pytest.raises(Misused, match="not a regular file"):
        Journal(Path("/dev/null"))


def test_reset_empties_the_journal(tmp_path: Path) -> None:
    with running_sandbox(journal=tmp_path / "j") as sandbox:
        send(sandbox, "k")
        order(sandbox, "POST", "reset")
        send(sandbox, "k2")
    with running_sandbox(journal=tmp_path / "j") as sandbox:
        assert (sandbox.ledger("k").accepted, sandbox.ledger("k2").accepted) == (0, 1)


@pytest.mark.parametrize("damaged", [False, True])
def test_recalling_leaves_the_collector_of_garbage_as_it_was(tmp_path: Path, damaged: bool) -> None:
    """It is off meanwhile, since it would look again and again at what all stays."""
    (tmp_path / "j").write_bytes(b'{"fact":"request","key":"k"}\n' + b"not json\n" * damaged)
    with contextlib.suppress(Misused), running_sandbox(journal=tmp_path / "j") as sandbox:
        assert sandbox.ledger("k").http_requests == 1
    assert gc.isenabled()

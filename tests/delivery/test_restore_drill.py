"""The restore drill: a real base copy that is older than what was sent, promoted, recovered, and sent from again."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from notifications.sandbox.app import RunningSandbox
from notifyops import children, dsn, embedded, postmaster
from tests import postgres
from tests.delivery.recovering import round_of_questions, tended, trouble
from tests.delivery.workplace import Workplace, sent_all
from tests.installation import BASE
from tests.providers.inquiries import mail_ids

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
# As `notify recover` lists them: what the list showed and an answer has settled since is known again.
_UNKNOWN = (
    "SELECT provider_message_id FROM notifyops_private.notifications_unknownmail u WHERE NOT EXISTS (SELECT FROM "
    "notifyops_private.notifications_intent i WHERE i.provider_message_id = u.provider_message_id)"
)
REASON = "The disk failed; restored from the hourly copy."


@dataclass
class Cluster:
    """A server of its own, whose files can be copied and put back."""

    home: Path
    server: embedded.Server
    child: children.Child | None = None

    @property
    def admin(self) -> str:
        return f"postgresql://postgres:{postgres.PASSWORD}@127.0.0.1:{self.server.port}/postgres"

    @property
    def copy(self) -> Path:
        return self.home / "copy"

    def url(self, role: str) -> str:
        if role == "postgres":
            return dsn.write(dsn.read(self.admin, name="admin") | {"dbname": postgres.DATABASE})
        return postgres.role_url(self.admin, role)

    def start(self) -> None:
        command = self.server.command(log=self.home / "log", settings=postgres.FAST)
        self.child = postmaster.start(command, admin_url=self.admin, data=self.server.data)

    def stop(self) -> None:
        if self.child is not None:
            children.stop([self.child])
            self.child = None

    def back_up(self) -> None:
        """Copy the files of the stopped server, and go on."""
        self.stop()
        shutil.copytree(self.server.data, self.copy)
        self.start()

    def restore(self) -> None:
        """Lose the server, put the copy in its place, and promote it: it goes on in a timeline of its own."""
        self.stop()
        shutil.rmtree(self.server.data)
        shutil.copytree(self.copy, self.server.data)
        (self.server.data / "standby.signal").touch()
        _give_to(self.server, self.server.data)
        self.start()
        with psycopg.connect(self.admin, autocommit=True) as admin:
            assert admin.execute("SELECT pg_promote(true, 120)").fetchone() == (True,)

    def manage(self, *argv: str, role: str = "web", shift_s: float = 0.0) -> subprocess.CompletedProcess[str]:
        """Run a management command as a person on this site's host would; `shift_s` puts its sessions' clock on."""
        env = os.environ | {
            "NOTIFYOPS_ROLE": role,
            "NOTIFYOPS_DATABASE_URL": self.url(role),
            "NOTIFYOPS_OWNER_DATABASE_URL": self.url("owner"),
            "PGOPTIONS": f"-c notifyops_test.shift={shift_s:.3f}s",
        }
        line = [sys.executable, "manage.py", *argv]
        return subprocess.run(line, cwd=BASE, env=env, capture_output=True, text=True, check=False, timeout=240)


def _give_to(server: embedded.Server, data: Path) -> None:
    """Give the files to the database's own user, where the tests run as root."""
    if server.user is None:
        return
    for path in (data, *data.rglob("*")):
        os.chown(path, server.user.pw_uid, server.user.pw_gid, follow_symlinks=False)


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """Give a migrated installation on a server of its own."""
    home = Path(tempfile.mkdtemp(prefix="notifyops-drill-"))
    home.chmod(0o711)
    server = embedded.prepare(home, password=postgres.PASSWORD, port=postgres.free_port())
    made = Cluster(home, server)
    try:
        made.start()
        postgres.provision_site(made.admin)
        migrated = made.manage("migrate", "--no-input", role="owner")
        assert migrated.returncode == 0, migrated.stderr
        with psycopg.connect(made.url("owner"), autocommit=True) as owner:
            postgres.install_test_doors(owner)
        yield made
    finally:
        made.stop()
        postmaster.remove_sockets(server.sockets)
        with contextlib.suppress(OSError):
            shutil.rmtree(home)


@pytest.fixture
def drill(cluster: Cluster, sandbox: RunningSandbox) -> Workplace:
    """Give the workplace of that installation."""
    with psycopg.connect(cluster.url("web")) as connection:
        row = connection.execute("SELECT id FROM notifyops_private.notifications_provideraccount").fetchone()
    assert row is not None
    return Workplace(sandbox, cluster.url, row[0])


def states(place: Workplace) -> dict[str, str]:
    return dict(place.sql("SELECT report_id, state FROM notifyops_private.notifications_intent", role="web"))


def all_turns(place: Workplace) -> None:
    while place.turn():
        pass


def lived(cluster: Cluster, place: Workplace) -> set[str]:
    """Send, take the copy, and send on; give the mails of what was owed only after the copy."""
    place.enqueue("before-accepted")
    place.turn()
    place.enqueue("lost-answer")  # nobody knows whether it went out, at the time of the copy
    place.sandbox.fault(stage="before_accept", kind="close", times=1)
    place.turn()
    place.enqueue("under-way")
    (under_way,) = place.claim()
    for number in range(8):
        place.enqueue(f"owed-{number}")
    cluster.back_up()
    # What the copy does not know: the call that was under way ended, what was owed went out, and new ones came.
    place.record(place.play(sent_all(place.shop(), [under_way])))
    place.turn(room=4)
    for number in range(3):
        place.enqueue(f"forgotten-{number}")
    all_turns(place)
    assert len(mail_ids(place.sandbox)) == 1 + 1 + 8 + 3
    return {place.sandbox.ledger(f"report-ready/forgotten-{number}").ids[0] for number in range(3)}


def began(cluster: Cluster, place: Workplace) -> None:
    """Look at the plan, and begin the recovery, by the command."""
    plan = cluster.manage("notify", "recover")
    assert plan.returncode == 0, plan.stderr
    assert "8 pending" in plan.stdout
    assert trouble(place) == "restored", "a plan changes nothing"
    refused = cluster.manage("notify", "adopt-site", "--reason", REASON)
    assert refused.returncode == 1
    assert "notify recover" in refused.stderr
    begun = cluster.manage("notify", "recover", "--confirm", "--reason", REASON)
    assert begun.returncode == 0, begun.stderr
    assert trouble(place) == "recovering"


# As `notify recover` lists them: what the list showed and an answer has settled since is known again.
_UNKNOWN = (
    "SELECT provider_message_id FROM notifyops_private.notifications_unknownmail u WHERE NOT EXISTS (SELECT FROM "
    "notifyops_private.notifications_intent i WHERE i.provider_message_id = u.provider_message_id)"
)


def test_an_older_base_copy_is_recovered_and_nothing_is_sent_twice(cluster: Cluster, drill: Workplace) -> None:
    place = drill
    forgotten = lived(cluster, place)
    cluster.restore()
    assert trouble(place) == "restored"
    ends_at = time.monotonic() + 1.5
    place.run(until=lambda: time.monotonic() > ends_at)
    assert states(place)["owed-0"] == "pending", "a restored database sends nothing by itself"
    began(cluster, place)

    place.later(61)
    tended(place)
    held = [report for report, state in states(place).items() if state == "needs_review"]
    assert sorted(held) == ["lost-answer", *(f"owed-{number}" for number in range(8)), "under-way"]
    place.later(130)
    while round_of_questions(place):
        pass
    tended(place)
    assert trouble(place) is None
    assert {row[0] for row in place.sql(_UNKNOWN, role="web")} == forgotten

    place.later(400)
    all_turns(place)
    found = states(place)
    assert set(found.values()) == {"accepted"}, found
    assert {report: place.sandbox.ledger(f"report-ready/{report}").accepted for report in found} == dict.fromkeys(
        found, 1
    )
    assert len(mail_ids(place.sandbox)) == 1 + 1 + 1 + 8 + 3
    for verb in ("doctor", "verify"):
        checked = cluster.manage("notify", verb, shift_s=place.shift_s)
        assert checked.returncode == 0, checked.stdout + checked.stderr
    seen = cluster.manage("notify", "recover", shift_s=place.shift_s)
    assert seen.returncode == 0, seen.stderr
    assert "unknown here: 3" in seen.stdout
    assert all(mail in seen.stdout for mail in forgotten)
    assert "example.com" not in seen.stdout, "ids only"


def test_without_the_recovery_what_went_out_since_the_copy_is_claimed_again(cluster: Cluster, drill: Workplace) -> None:
    """What it is for: waived, and a day later, when the provider has forgotten the keys, each is a second message."""
    place = drill
    lived(cluster, place)
    cluster.restore()
    waived = cluster.manage("notify", "recover", "--waive", "--reason", "Nothing can be missing, so we believe.")
    assert waived.returncode == 0, waived.stderr
    assert trouble(place) is None
    place.later(90_000)
    all_turns(place)
    assert place.sandbox.ledger("report-ready/owed-0").accepted == 2

"""Attachments on their way: fetched beside the loops, frozen with the message, and stopped with a reason."""

from __future__ import annotations

import json
from base64 import b64encode
from dataclasses import replace
from typing import Any

import pytest

from notifications.models import Blob, Fetch, Prepared
from notifications.providers.resend import CAPABILITIES
from notifications.states import EntryKind, State
from tests.delivery.files_elsewhere import fetch, files, nothing_wanted
from tests.delivery.workplace import Workplace
from tests.intake.attaching import PDF, attached, linked

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner"])
FROZEN = [{"filename": "q3.pdf", "content_type": "application/pdf", "content": b64encode(PDF).decode()}]


def owe(place: Workplace, *attachments: dict[str, Any], report: str = "demo-001", **options: Any) -> int:
    return place.enqueue(report, attachments=list(attachments), **options)  # type: ignore[arg-type]


def frozen(intent: int) -> Any:
    """Give what of attachments stands in the bytes that were sent."""
    body = Prepared.objects.get(intent_id=intent).body
    assert body is not None
    return json.loads(bytes(body)).get("attachments")


def test_bytes_that_came_with_the_call_are_frozen_and_stay_the_same_in_each_attempt(place: Workplace) -> None:
    intent = owe(place, attached())
    place.sandbox.fault(kind="status", times=1, status=503)
    place.turn()
    place.later(100)
    (again,) = place.turn()
    assert (place.intent(intent).state, frozen(intent)) == (State.ACCEPTED, FROZEN)
    assert again.lease.body == bytes(Prepared.objects.get(intent_id=intent).body or b"")
    claimed = [entry["detail"] for entry in place.log(intent) if entry["kind"] == "claimed"]
    assert claimed[0]["sha256"] == claimed[1]["sha256"]
    # The log names the templates, and neither a file nor what is in it.
    assert claimed[0]["template"] == Prepared.objects.get(intent_id=intent).template_version
    assert "q3" not in json.dumps([entry["detail"] for entry in place.log(intent)])


def test_bytes_that_lie_elsewhere_are_fetched_before_the_first_attempt(place: Workplace) -> None:
    with files() as served:
        intent = owe(place, linked(served.link()), attached(b"a;b", name="a.csv", media_type="text/csv"))
        assert place.turn() == []
        row = place.intent(intent)
        assert (row.state, row.attempt_count, place.kinds(intent)) == ("pending", 0, ["fetching"])
        assert place.turn() == [], "it waits, and is not asked for again"
        fetch(place)
        (sent,) = place.turn()
    assert [one["filename"] for one in json.loads(sent.lease.body)["attachments"]] == ["q3.pdf", "a.csv"]
    assert place.kinds(intent) == ["fetching", "fetched", "claimed", "result"]
    assert place.log(intent)[0]["detail"] == {"attachments": 2, "bytes": len(PDF) + 3}
    row = place.intent(intent)
    assert (row.state, row.attempt_count, row.failure_count) == (State.ACCEPTED, 1, 0)
    assert (dict(served.asked), Fetch.objects.count()) == ({"/q3.pdf": 1}, 0)


def test_one_file_of_many_messages_is_fetched_once(place: Workplace) -> None:
    with files() as served:
        for n in range(6):
            owe(place, linked(served.link(f"/q3.pdf?sig={n}")), report=f"r-{n}")
        place.turn()
        fetch(place)
        place.turn()
    assert set(place.states().values()) == {"accepted"}
    assert sum(served.asked.values()) == 1
    assert Blob.objects.count() == 1


BROKEN: dict[str, tuple[dict[str, Any], str]] = {
    "other bytes": ({"body": PDF[:-1] + b"!"}, "attachment_mismatch"),
    "one byte more": ({"body": PDF + b"!"}, "attachment_mismatch"),
    "one byte less": ({"body": PDF[:-1]}, "attachment_mismatch"),
    "elsewhere": ({"status": 302, "headers": {"Location": "/moved"}}, "attachment_refused"),
    "for nobody": ({"status": 403}, "attachment_refused"),
    "gone": ({"status": 410}, "attachment_refused"),
}


@pytest.mark.parametrize(("answer", "code"), BROKEN.values(), ids=BROKEN)
def test_what_is_not_what_was_announced_is_a_case_at_once(place: Workplace, answer: dict[str, Any], code: str) -> None:
    with files() as served:
        for name, value in answer.items():
            setattr(served, name, value)
        intent = owe(place, linked(served.link()))
        place.turn()
        fetch(place)
        assert dict(served.asked) == {"/q3.pdf": 1}, "no redirect is followed"
    row = place.intent(intent)
    assert (row.state, row.error_code, row.known, row.next_action) == ("needs_review", code, "invalid", "find_cause")
    assert place.kinds(intent) == ["fetching", "invalid"]
    assert (row.attempt_count, Blob.objects.count(), Fetch.objects.count()) == (0, 0, 0)
    assert place.sandbox.requests() == []


@pytest.mark.parametrize("link", ["http://127.0.0.1:9/a", "https://localhost/a", "http://files.example.com/a"])
def test_what_may_not_be_asked_is_not_asked(place: Workplace, link: str) -> None:
    """Our own network, a name that leads there, and what has no TLS."""
    intent = owe(place, linked(link))
    place.turn()
    fetch(place, networks=())
    row = place.intent(intent)
    assert (row.state, row.error_code) == ("needs_review", "attachment_forbidden")


def test_what_does_not_come_for_now_is_tried_by_the_ladder_and_costs_no_attempt(place: Workplace) -> None:
    with files() as served:
        served.status = 503
        intent = owe(place, linked(served.link()))
        for wait_s in (0, 80, 380):
            place.later(wait_s)
            assert place.turn() == []
            fetch(place)
        row = place.intent(intent)
        assert (row.state, row.error_code, row.known) == ("needs_review", "attachment_unreachable", "invalid")
        assert (row.attempt_count, row.failure_count, row.generation) == (0, 0, 1)
        assert place.kinds(intent) == ["fetching", "fetched", "fetching", "fetched", "fetching", "invalid"]
        assert [one["http_status"] for one in place.log(intent)[1::2]] == [503, 503, 503]

        # A person's retry is one try, whose failure is theirs to know of.
        for _ in range(2):
            assert place.person(EntryKind.RETRIED, intent, State.RETRY, delay_s=0.0).refused is None
            assert place.turn() == []
            fetch(place)
            assert place.kinds(intent)[-3:] == ["retried", "fetching", "invalid"]
        served.status = 200
        assert place.person(EntryKind.RETRIED, intent, State.RETRY, delay_s=0.0).refused is None
        place.turn()
        fetch(place)
        (sent,) = place.turn()
    assert (sent.lease.key, frozen(intent)) == ("report-ready/demo-001", FROZEN)
    assert place.intent(intent).state == State.ACCEPTED


def test_a_slow_address_holds_up_no_other_message(place: Workplace) -> None:
    with files() as slow, files() as quick:
        slow.hangs = True
        for n in range(12):
            owe(place, linked(slow.link(f"/{n}"), b"%d" % n), report=f"slow-{n}")
        quickly = owe(place, linked(quick.link()), report="quick")
        plain = place.enqueue("plain")
        place.turn()
        assert place.intent(plain).state == State.ACCEPTED
        fetch(place, until=lambda: place.kinds(quickly)[-1] == "fetched")
        place.turn()
        assert place.intent(quickly).state == State.ACCEPTED
        assert 0 < sum(slow.asked.values()) <= 2, "of one host two at a time"
        assert Fetch.objects.filter(wanted=True).count() == 12


def test_what_was_taken_back_meanwhile_is_let_be(place: Workplace) -> None:
    with files() as served:
        intent = owe(place, linked(served.link()))
        place.turn()
        place.sql("SELECT * FROM notifyops.cancel('report-ready/demo-001', 'not wanted any more')")
        fetch(place)
        assert not served.asked
    assert (place.kinds(intent), Fetch.objects.count()) == (["fetching", "withdrawn"], 0)


@pytest.mark.parametrize("status", [200, 503, 403])
def test_what_is_taken_back_while_it_is_fetched_leaves_nothing_behind(place: Workplace, status: int) -> None:
    with files() as served:
        served.hangs, served.status = True, status
        intent = owe(place, linked(served.link()))
        place.turn()

        def asked_and_taken_back() -> bool:
            if served.asked and not served.released.is_set():
                place.sql("SELECT * FROM notifyops.cancel('report-ready/demo-001', 'not wanted any more')")
                served.released.set()
            return not Fetch.objects.exists()

        fetch(place, until=asked_and_taken_back)
    assert place.kinds(intent) == ["fetching", "withdrawn"]


def test_what_is_asked_for_and_forgotten_is_asked_for_again(place: Workplace) -> None:
    intent = owe(place, linked())
    place.turn()
    place.sql("DELETE FROM notifyops_private.notifications_fetch")
    place.later(601)
    place.turn()
    assert (place.kinds(intent), nothing_wanted()) == (["fetching", "fetching"], False)


def test_bytes_that_are_lost_and_lie_nowhere_else_are_a_case(place: Workplace) -> None:
    intent = owe(place, attached())
    place.sql("DELETE FROM notifyops_private.notifications_blob")
    assert place.turn() == []
    assert (place.intent(intent).error_code, place.kinds(intent)) == ("attachment_unreachable", ["invalid"])


@pytest.mark.parametrize(
    ("limit", "code", "action"),
    [(0, "attachments_not_taken", "fix_config"), (len(PDF), "too_large", "fix_content")],
)
def test_an_account_that_does_not_take_them_gets_no_message_without_them(
    place: Workplace, limit: int, code: str, action: str
) -> None:
    adapter = place.adapter()
    adapter.capabilities = replace(CAPABILITIES, attachment_limit=limit)
    intent, other = owe(place, linked()), place.enqueue("plain")
    assert [sent.lease.id for sent in place.turn(place.shop(adapter))] == [other]
    row = place.intent(intent)
    assert (row.state, row.error_code, row.next_action) == ("needs_review", code, action)
    assert nothing_wanted(), "nothing is fetched for it"


def test_a_worker_takes_no_more_into_its_memory_than_it_can_hold(place: Workplace) -> None:
    for n in range(5):
        owe(place, linked(size=24_000_000, name=f"{n}.pdf"), report=f"r-{n}")
    asked = []
    for _ in range(2):
        place.turn()
        asked.append(Fetch.objects.count())
    assert asked == [3, 5]


def test_a_file_may_be_as_large_as_all_may_be_together(place: Workplace) -> None:
    whole = bytes(10_000_000)
    intent = owe(place, attached(whole, name="a.zip", media_type="application/zip"))
    (sent,) = place.turn()
    assert place.intent(intent).state == State.ACCEPTED
    assert len(sent.lease.body) > 13_333_000

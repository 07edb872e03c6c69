"""Test recipients, what follows their mails, and the suppression list."""

from __future__ import annotations

from typing import Any

import pytest

from notifications.sandbox.app import RunningSandbox
from tests.sandbox.callers import call, eventually, send


def events_of(sandbox: RunningSandbox, mail_id: str) -> list[tuple[str, dict[str, Any]]]:
    shown = sandbox.order("GET", "events", {"id": mail_id})["events"]
    return [(event["type"], event["data"]) for event in shown]


def sent_to(sandbox: RunningSandbox, to: Any, count: int, **changes: Any) -> list[tuple[str, dict[str, Any]]]:
    """Send to the address and wait for so many events of that mail."""
    mail_id = send(sandbox, to=to, **changes).json["id"]
    eventually(lambda: len(events_of(sandbox, mail_id)) >= count)
    return events_of(sandbox, mail_id)


@pytest.mark.parametrize(
    ("local", "types"),
    [
        ("delivered", ["email.sent", "email.delivered"]),
        ("bounced", ["email.sent", "email.bounced"]),
        ("complained", ["email.sent", "email.delivered", "email.complained"]),
        ("suppressed", ["email.sent", "email.suppressed"]),
        ("softbounce", ["email.sent", "email.bounced"]),
        ("delayed", ["email.sent", "email.delivery_delayed", "email.delivered"]),
        ("failed", ["email.sent", "email.failed"]),
        ("anyone", ["email.sent", "email.delivered"]),
    ],
)
@pytest.mark.parametrize("label", ["", "+label"])
def test_a_test_recipient_plays_its_part(sandbox: RunningSandbox, local: str, types: list[str], label: str) -> None:
    events = sent_to(sandbox, f"Test <{local}{label}@resend.dev>", len(types))
    assert [event_type for event_type, _ in events] == types


def test_bounces_and_failures_say_why(sandbox: RunningSandbox) -> None:
    hard = sent_to(sandbox, "bounced+hard@resend.dev", 2)[1][1]["bounce"]
    assert (hard["type"], hard["subType"]) == ("Permanent", "General")
    assert isinstance(hard["message"], str)
    assert isinstance(hard["diagnosticCode"], list)
    soft = sent_to(sandbox, "softbounce@resend.dev", 2)[1][1]["bounce"]
    assert (soft["type"], soft["subType"]) == ("Transient", "MailboxFull")
    assert sent_to(sandbox, "failed@resend.dev", 2)[1][1]["failed"] == {"reason": "reached_daily_quota"}
    assert sent_to(sandbox, "suppressed@resend.dev", 2)[1][1]["suppressed"]["reason"] == "previous_bounce"


def test_the_same_local_part_elsewhere_plays_no_part_unless_told(sandbox: RunningSandbox) -> None:
    assert sent_to(sandbox, "bounced@example.com", 2)[1][0] == "email.delivered"
    sandbox.configure(scripted_domains=["resend.dev", "example.com"])
    assert sent_to(sandbox, "bounced@example.com", 2)[1][0] == "email.bounced"


def test_several_recipients_cause_each_event_once(sandbox: RunningSandbox) -> None:
    to = ["olga@example.com", "vera@example.com", "bounced+many@resend.dev"]
    events = sent_to(sandbox, to, 3)
    assert [event_type for event_type, _ in events] == ["email.sent", "email.delivered", "email.bounced"]
    assert events[0][1]["to"] == to


@pytest.mark.parametrize(("local", "origin", "count"), [("bounced", "bounce", 2), ("complained", "complaint", 3)])
def test_after_a_bounce_or_complaint_the_address_is_suppressed(
    sandbox: RunningSandbox, local: str, origin: str, count: int
) -> None:
    address = f"{local}@resend.dev"
    events = sent_to(sandbox, address, count)
    again = sent_to(sandbox, address.upper(), 2)
    assert [event_type for event_type, _ in again] == ["email.sent", "email.suppressed"]
    entry = call(sandbox, "GET", f"/suppressions/{address}").json
    assert (entry["origin"], entry["source_id"]) == (origin, events[0][1]["email_id"])


def test_a_soft_bounce_suppresses_nothing(sandbox: RunningSandbox) -> None:
    sent_to(sandbox, "softbounce@resend.dev", 2)
    assert call(sandbox, "GET", "/suppressions").json["data"] == []


def test_suppressions_are_added_listed_read_and_removed(sandbox: RunningSandbox) -> None:
    added = call(sandbox, "POST", "/suppressions", {"email": "Sam@example.com"})
    assert added.json["object"] == "suppression"
    entry_id = added.json["id"]
    assert call(sandbox, "POST", "/suppressions", {"email": "sam@example.com"}).json["id"] == entry_id
    (row,) = call(sandbox, "GET", "/suppressions").json["data"]
    assert (row["id"], row["email"], row["origin"], row["source_id"]) == (entry_id, "sam@example.com", "manual", None)
    assert call(sandbox, "GET", "/suppressions?origin=bounce").json["data"] == []
    assert call(sandbox, "GET", f"/suppressions/{entry_id}").json["email"] == "sam@example.com"
    assert call(sandbox, "GET", "/suppressions/sam%40example.com").json["id"] == entry_id
    assert sent_to(sandbox, "sam@example.com", 2)[1][0] == "email.suppressed"
    assert call(sandbox, "DELETE", "/suppressions/sam%40example.com").json == {
        "object": "suppression",
        "id": entry_id,
        "deleted": True,
    }
    assert call(sandbox, "DELETE", "/suppressions/sam%40example.com").status == 404
    assert sent_to(sandbox, "sam@example.com", 2)[1][0] == "email.delivered"


def test_suppressions_come_and_go_in_batches(sandbox: RunningSandbox) -> None:
    emails = ["sam@example.com", "vera@example.com", "lena@example.com"]
    added = call(sandbox, "POST", "/suppressions/batch/add", {"emails": emails}).json["data"]
    assert len(added) == 3
    gone = call(sandbox, "POST", "/suppressions/batch/remove", {"emails": [emails[0], "nobody@example.com"]}).json
    assert [row["id"] for row in gone["data"]] == [added[0]["id"]]
    gone = call(sandbox, "POST", "/suppressions/batch/remove", {"ids": [added[1]["id"]]}).json
    assert [row["deleted"] for row in gone["data"]] == [True]
    assert [row["email"] for row in call(sandbox, "GET", "/suppressions").json["data"]] == ["lena@example.com"]


@pytest.mark.parametrize("body", [{}, {"email": ""}, {"email": 5}, {"email": "nobody"}, [], "x"])
def test_a_bad_suppression_is_refused(sandbox: RunningSandbox, body: Any) -> None:
    assert call(sandbox, "POST", "/suppressions", body).status == 422


@pytest.mark.parametrize("emails", [None, [], [5], ["a@example.com"] * 101, "a@example.com", ["nobody"]])
def test_a_bad_batch_of_suppressions_is_refused(sandbox: RunningSandbox, emails: Any) -> None:
    assert call(sandbox, "POST", "/suppressions/batch/add", {"emails": emails}).status == 422

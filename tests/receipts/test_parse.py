"""What an event says is read into words of a catalogue; what cannot be read is nothing, and never a fault."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notifications.receipts.parse import QUIET, SAYS, Told, parse
from notifications.states import DeliveryStatus

MARKUP = '"><img src=x onerror=alert(1)>{{7*7}}\x00\ud800ana@example.com'


def read(**raw: Any) -> Told:
    return parse(json.dumps(raw).encode())


def email(event_type: str, **data: Any) -> Told:
    return read(type=event_type, data=data)


def bounce(kind: Any, **more: Any) -> Told:
    return email("email.bounced", bounce={"type": kind, **more})


def test_a_whole_event_of_the_provider_is_read() -> None:
    """The shape is that of the provider's documentation; of free text nothing is kept."""
    told = read(
        type="email.bounced",
        created_at="2026-04-03T22:13:42.674Z",
        data={
            "broadcast_id": "8b146471-e88e-4322-86af-016cd36fd216",
            "created_at": "2026-04-03 22:13:40.000000+00",
            "email_id": "56761188-7520-42d8-8898-ff6fc54ce618",
            "from": "Acme <onboarding@example.com>",
            "to": ["delivered@example.com"],
            "subject": "Sending this example",
            "bounce": {
                "message": "The recipient's <delivered@example.com> does not exist",
                "subType": "General",
                "type": "Permanent",
                "diagnosticCode": ["smtp; 550 5.1.1 delivered@example.com user unknown"],
            },
            "tags": {"site": "acme-1", "intent": "7", "generation": "2", "category": "x"},
        },
    )
    at = datetime(2026, 4, 3, 22, 13, 42, 674000, tzinfo=UTC)
    assert told == Told(
        *("email.bounced", DeliveryStatus.BOUNCED, at, "56761188-7520-42d8-8898-ff6fc54ce618", "acme-1", 7, 2),
        *("permanent", "general 5.1.1"),
    )


@pytest.mark.parametrize(("event_type", "says"), SAYS.items())
def test_every_event_about_a_message_says_something(event_type: str, says: DeliveryStatus) -> None:
    assert email(event_type).says is says
    assert set(SAYS) >= QUIET


@pytest.mark.parametrize("event_type", ["email.received", "email.teleported", "contact.created", "domain.updated", "x"])
def test_other_events_say_nothing_about_a_message(event_type: str) -> None:
    assert email(event_type, email_id="1", tags={"intent": "1"}).says is None


@pytest.mark.parametrize("kind", ["Permanent", "permanent", "PERMANENT"])
def test_only_a_permanent_bounce_condemns_the_address(kind: str) -> None:
    assert bounce(kind).says is DeliveryStatus.BOUNCED


@pytest.mark.parametrize("kind", ["Transient", "Temporary", "Undetermined", "Mystery", "", None, 5, {}, MARKUP])
def test_any_other_bounce_is_one_for_now(kind: object) -> None:
    assert bounce(kind).says is DeliveryStatus.SOFT_BOUNCED


def test_a_bounce_without_its_part_is_one_for_now_and_one_by_suppression_is_that() -> None:
    assert email("email.bounced").says is DeliveryStatus.SOFT_BOUNCED
    assert bounce("Suppressed").says is DeliveryStatus.SUPPRESSED


def test_why_is_told_in_the_providers_words_alone() -> None:
    assert bounce("Transient", subType="MailboxFull", diagnosticCode="452 4.2.2 full").code == "mailboxfull 4.2.2"
    assert email("email.failed", failed={"reason": "reached_daily_quota"}).code == "reached_daily_quota"
    assert email("email.suppressed", suppressed={"reason": "previous_bounce"}).code == "previous_bounce"
    assert bounce("Permanent", subType="see http://evil.example", diagnosticCode=["10.5.1.1.9", MARKUP]).code is None


@pytest.mark.parametrize(
    ("text", "hour"),
    [
        ("2026-04-03T22:13:42.674Z", 22),
        ("2026-04-03 22:13:42.674981+00", 22),
        ("2026-04-03T22:13:42+02:00", 20),
        ("2026-04-03 22:13:42", 22),
    ],
)
def test_both_forms_of_time_are_read(text: str, hour: int) -> None:
    told = read(type="email.sent", created_at=text).occurred_at
    assert told is not None
    assert (told.hour, told.tzinfo) == (hour, UTC)


@pytest.mark.parametrize(
    "text", ["", "soon", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", 5, None, "9" * 99]
)
def test_a_time_that_is_none_is_none(text: object) -> None:
    assert read(type="email.sent", created_at=text).occurred_at is None


@pytest.mark.parametrize(
    "value", ["0", "-1", "1.5", "1e3", " 1", "１", "9" * 19, "9" * 400, MARKUP, True, 1.0, None, [], {}]
)
def test_a_number_that_is_none_is_none(value: object) -> None:
    told = email("email.sent", tags={"intent": value, "generation": value})
    assert (told.tag_intent, told.tag_generation) == (None, None)


def test_tags_come_as_an_object_or_as_pairs() -> None:
    pairs = [
        {"name": "site", "value": "a"},
        {"name": "intent", "value": "3"},
        5,
        {"name": None},
        {"name": "generation"},
    ]
    told = email("email.sent", tags=pairs)
    assert (told.tag_site, told.tag_intent, told.tag_generation) == ("a", 3, None)
    assert email("email.sent", tags={"intent": 2**63 - 1, "generation": 40_000}).tag_intent == 2**63 - 1


@pytest.mark.parametrize(
    "body", [b"", b"\xff\xfe", b"[", b"[" * 60_000, b"9" * 60_000, b"null", b'"x"', b"[1]", b"NaN"]
)
def test_a_body_that_is_no_event_is_unreadable(body: bytes) -> None:
    assert parse(body) == Told("unreadable")


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from([MARKUP, "email.bounced"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
FIELDS = ("email_id", "tags", "bounce", "failed", "suppressed")


@given(
    st.sampled_from(sorted(SAYS)) | st.text(),
    anything,
    st.fixed_dictionaries({}, optional=dict.fromkeys(FIELDS, anything)),
)
def test_hostile_fields_never_raise_and_leave_only_words(event_type: str, at: object, data: dict[str, Any]) -> None:
    told = read(type=event_type, created_at=at, data=data)
    for text in (told.type, told.provider_message_id, told.tag_site, told.bounce_class, told.code):
        assert text is None or (text.isascii() and not set(text) & set("<>@\"'{}\x00&"))
        assert text is None or len(text) <= 255


@given(st.binary(max_size=300))
def test_hostile_bytes_never_raise(body: bytes) -> None:
    parse(body)


@given(anything)
def test_hostile_json_never_raises(raw: object) -> None:
    parse(json.dumps(raw).encode())

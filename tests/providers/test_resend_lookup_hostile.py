"""A provider that answers nonsense: no question raises, and nothing absent is proven by it."""

from __future__ import annotations

import base64
import dataclasses
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from notifications.providers.resend_scan import time_of
from notifications.sandbox.app import RunningSandbox, running_sandbox
from notifications.states import Found
from tests.providers.inquiries import QUICK, asked, body_of, post, question

NOW = "2026-04-03 22:13:42.674981+00"
ITEM = {"id": "mail-1", "to": ["bob@example.com"], "created_at": NOW, "last_event": "sent", "subject": "x"}


@pytest.fixture(scope="module")
def one_sandbox() -> Iterator[RunningSandbox]:
    with running_sandbox(delivery_delay_s=3600.0) as running:
        yield running


@pytest.fixture
def sandbox(one_sandbox: RunningSandbox) -> RunningSandbox:
    one_sandbox.reset()
    return one_sandbox


def a_list(*items: object, has_more: object = False) -> dict[str, object]:
    return {"object": "list", "has_more": has_more, "data": list(items)}


LISTS: dict[str, object] = {
    "an object of something else": {"ok": True},
    "a list at the top": [],
    "null": None,
    "data that is no list": {"has_more": False, "data": "x"},
    "more that is no truth value": a_list(has_more="no"),
    "an item that is no object": a_list(17),
    "an item without an id": a_list({**ITEM, "id": None}),
    "an id that leads elsewhere": a_list({**ITEM, "id": "../../admin"}),
    "a time without a zone": a_list({**ITEM, "created_at": "2026-04-03 22:13:42"}),
    "a time of another age": a_list({**ITEM, "created_at": "9999-12-31T23:59:59-23:59"}),
    "a time that is a number": a_list({**ITEM, "created_at": 1e400}),
    "nobody as recipient": a_list({**ITEM, "to": None}),
    "a recipient that is an object": a_list({**ITEM, "to": [{"email": "x"}]}),
    "a list out of order": a_list(ITEM, {**ITEM, "id": "mail-2", "created_at": "2027-04-03 22:13:42+00"}),
    "more without an end": a_list(has_more=True),
    "the same page for ever": a_list({**ITEM, "created_at": "2099-01-01T00:00:00Z"}, has_more=True),
}


@pytest.mark.parametrize("body", LISTS.values(), ids=LISTS)
def test_a_list_that_cannot_be_read_is_inconclusive(sandbox: RunningSandbox, body: object) -> None:
    sandbox.fault(match=r"^GET /emails ", kind="wrong_shape", body=body, times=None)
    result = asked(sandbox, [question(1, body_of(1))])[1]
    assert (result.answer, result.code) == (Found.INCONCLUSIVE, "lookup.malformed")


RAW = {
    "cut JSON": b'{"data": [',
    "not UTF-8": b"\xff\xfe\x00",
    "a million brackets": b"[" * 1_000_000,
    "a number of thousands of digits": b'{"data": [' + b"9" * 10_000 + b'], "has_more": false}',
    "more than is read": b" " * 2_500_000,
}


@pytest.mark.parametrize("body", RAW.values(), ids=RAW)
def test_bytes_that_are_no_answer_are_inconclusive(sandbox: RunningSandbox, body: bytes) -> None:

    sandbox.fault(
        match=r"^GET /emails ", kind="status", status=200, body_b64=base64.b64encode(body).decode(), times=None
    )
    result = asked(sandbox, [question(1, body_of(1))])[1]
    assert (result.answer, result.code) == (Found.INCONCLUSIVE, "lookup.malformed")


MAILS: dict[str, Any] = {
    "null": None,
    "nothing": {},
    "another id": {"id": "another", "tags": []},
    "no tags at all": {"id": "{id}", "subject": "Q3"},
    "tags that are text": {"id": "{id}", "subject": "Q3", "tags": "site=test"},
    "neither tags nor subject": {"id": "{id}"},
}


@pytest.mark.parametrize("body", MAILS.values(), ids=MAILS)
def test_a_mail_that_cannot_be_told_apart_makes_absence_unproven(sandbox: RunningSandbox, body: Any) -> None:
    post(sandbox, body_of(1), "key-1")
    mail_id = sandbox.ledger("key-1").ids[0]
    told = json.loads(json.dumps(body).replace("{id}", mail_id))
    sandbox.fault(match=r"^GET /emails/", kind="wrong_shape", body=told, times=None)
    result = asked(sandbox, [question(1, body_of(1))])[1]
    assert (result.answer, result.code) == (Found.INCONCLUSIVE, "lookup.unproven")


@pytest.mark.parametrize(
    "tags",
    [
        [],
        ["x", None, 7],
        [{"name": "intent", "value": "1"}],
        [{"name": "site", "value": "other"}, {"name": "intent", "value": "1"}, {"name": "generation", "value": "1"}],
        [{"name": "site", "value": "test"}, {"name": "intent", "value": "1"}, {"name": "generation", "value": "2"}],
        [{"name": {}, "value": []}],
    ],
)
def test_other_tags_than_ours_are_another_message(sandbox: RunningSandbox, tags: list[Any]) -> None:
    post(sandbox, body_of(1), "key-1")
    told = {"id": sandbox.ledger("key-1").ids[0], "subject": "Q3", "tags": tags}
    sandbox.fault(match=r"^GET /emails/", kind="wrong_shape", body=told, times=None)
    assert asked(sandbox, [question(1, body_of(1))])[1].answer is Found.NOT_FOUND


@pytest.mark.parametrize(
    "body", [None, [], {"id": 5}, {"id": "some-id", "last_event": {}, "tags": 3}, {"name": "not_found"}]
)
def test_a_single_answer_of_any_shape_raises_nothing(sandbox: RunningSandbox, body: Any) -> None:
    sandbox.fault(match=r"^GET /emails/", kind="wrong_shape", body=body, times=None)
    result = asked(sandbox, [question(1, body_of(1), provider_id="some-id")])[1]
    assert result.answer in (Found.INCONCLUSIVE, Found.FOUND)
    assert (result.answer is Found.FOUND) == (isinstance(body, dict) and body.get("id") == "some-id")


@pytest.mark.parametrize("mail_id", ["../../admin", "a/b", "..", ".", "a?b=c", "a#b", "%2e%2e", ""])
def test_an_id_that_leads_elsewhere_is_not_asked_for(sandbox: RunningSandbox, mail_id: str) -> None:
    budget = dataclasses.replace(QUICK, witness=mail_id)
    result = asked(sandbox, [question(1, body_of(1), provider_id=mail_id)], budget)[1]
    assert (result.answer, result.code) == (Found.INCONCLUSIVE, "lookup.malformed")
    assert sandbox.requests() == []


@pytest.mark.parametrize("mail_id", ["a/b", "..", "a?b=c", ""])
def test_a_witness_that_cannot_be_asked_for_lets_no_absence_be_believed(sandbox: RunningSandbox, mail_id: str) -> None:
    """An id that a provider gave once, and that no address can hold: nothing shows then whose list it is."""
    budget = dataclasses.replace(QUICK, witness=mail_id)
    result = asked(sandbox, [question(1, body_of(1))], budget)[1]
    assert (result.answer, result.code) == (Found.INCONCLUSIVE, "lookup.no_witness")


def test_both_forms_of_time_are_read_and_nothing_else() -> None:
    wanted = datetime(2026, 4, 3, 22, 13, 42, 674000, tzinfo=UTC)
    for text in ("2026-04-03 22:13:42.674+00", "2026-04-03T22:13:42.674Z", "2026-04-04T00:13:42.674+02:00"):
        assert time_of(text) == wanted
    odds: list[object] = ["", "yesterday", "2026-04-03T22:13:42", "x" * 10_000, None, 5, {}, "2026-13-01T00:00:00Z"]
    assert [odd for odd in odds if time_of(odd) is not None] == []

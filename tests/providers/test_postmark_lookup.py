"""What Postmark's search proves of a message: found by our marks, absent only where all was read, else nothing."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from notifications.providers.base import LookupBudget, LookupQuery, LookupResult
from notifications.providers.kinds import Setup, kinds
from notifications.states import Found
from tests.providers.attempts import MESSAGE
from tests.providers.candidate_anymail import ID, adapter
from tests.providers.candidate_resend import after_request
from tests.providers.conformance import RAW
from tests.providers.scripted_server import Peer, Script, answer, scripted

MARKS = {"site": "main", "intent": "17", "generation": "1"}
BODY = adapter("postmark", "http://127.0.0.1:9/").prepare(replace(MESSAGE, tags=MARKS))
AT = datetime(2026, 12, 1, 6, 0, tzinfo=UTC)
QUERY = LookupQuery(3, BODY, None, AT, AT + timedelta(seconds=9), settled=True)
QUICK = LookupBudget(per_s=None, seconds=5.0)


def mail(**more: Any) -> dict[str, Any]:
    return {"MessageID": ID, "Metadata": MARKS, "Subject": RAW, "Recipients": [RAW], "Status": "Sent"} | more


def listing(*mails: Any, total: int | None = None) -> dict[str, Any]:
    return {"TotalCount": len(mails) if total is None else total, "Messages": list(mails)}


def serving(*answers: Any, status: str = "200 OK") -> Script:
    """Answer each request with the next JSON, or with what is bytes already."""
    left = list(answers)

    async def script(peer: Peer) -> None:
        while left:
            await peer.read_request()
            body = left.pop(0)
            await peer.say(body if isinstance(body, bytes) else answer(json.dumps(body).encode(), status=status))
        await peer.wait()

    return script


def asked(script: Script, query: LookupQuery = QUERY, budget: LookupBudget = QUICK) -> tuple[LookupResult, list[bytes]]:
    async def play() -> tuple[LookupResult, list[bytes]]:
        async with scripted(script) as server:
            make = kinds()["postmark"].lookup
            assert make is not None
            lookup = make(Setup(f"{server.url}/?message_stream=alerts", "token-17"))
            results = [result async for result in lookup.lookup([query], budget)]
            await lookup.close()
            assert len(results) == 1
            return results[0], server.requests

    return asyncio.run(play())


def test_a_message_with_all_our_marks_is_found_by_one_call_and_nothing_else_is_kept() -> None:
    result, requests = asked(serving(listing(mail(MessageID="other", Metadata=MARKS | {"site": "copy"}), mail())))
    assert result == LookupResult(3, Found.FOUND, "scan", ids=(ID,))
    (request,) = requests
    assert request.startswith(
        b"GET /messages/outbound?count=50&offset=0&messagestream=outbound&metadata_intent=17 HTTP/1.1\r\n"
    )
    assert b"X-Postmark-Server-Token: token-17\r\n" in request
    assert not any(word in repr(result) for word in RAW.split())


def test_two_messages_with_our_marks_are_both_named() -> None:
    result, _ = asked(serving(listing(mail(), mail(MessageID="second-one"))))
    assert (result.answer, result.ids) == (Found.FOUND, (ID, "second-one"))


def test_the_stream_is_that_of_the_frozen_bytes_and_else_the_accounts() -> None:
    alerts = adapter("postmark", "http://127.0.0.1:9/?message_stream=digests").prepare(replace(MESSAGE, tags=MARKS))
    _, (first,) = asked(serving(listing()), replace(QUERY, body=alerts))
    _, (second,) = asked(serving(listing()), replace(QUERY, body=None, tags=MARKS))
    assert b"messagestream=digests&" in first
    assert b"messagestream=alerts&" in second


@pytest.mark.parametrize(
    ("said", "settled", "answer_", "code"),
    [
        (listing(), True, Found.NOT_FOUND, None),
        (listing(), False, Found.INCONCLUSIVE, "lookup.not_settled"),
        (listing(mail(Metadata=MARKS | {"generation": "2"})), True, Found.NOT_FOUND, None),
        (listing(mail(Metadata=MARKS | {"site": "copy"}), total=51), True, Found.INCONCLUSIVE, "lookup.page_cap"),
        (listing(mail(Metadata=None)), True, Found.INCONCLUSIVE, "lookup.unproven"),
        (listing(mail(MessageID="a b")), True, Found.INCONCLUSIVE, "lookup.unproven"),
        ([], True, Found.INCONCLUSIVE, "lookup.malformed"),
        ({}, True, Found.INCONCLUSIVE, "lookup.malformed"),
        ({"TotalCount": "0", "Messages": []}, True, Found.INCONCLUSIVE, "lookup.malformed"),
        (listing(7), True, Found.INCONCLUSIVE, "lookup.malformed"),
        ({"TotalCount": 0}, True, Found.INCONCLUSIVE, "lookup.malformed"),
        ("OK", True, Found.INCONCLUSIVE, "lookup.malformed"),
    ],
    ids=str,
)
def test_only_a_list_that_was_read_whole_and_late_enough_proves_absence(
    said: Any, settled: bool, answer_: Found, code: str | None
) -> None:
    result, _ = asked(serving(said), replace(QUERY, settled=settled))
    assert (result.answer, result.code) == (answer_, code)


@pytest.mark.parametrize(
    ("status", "code"),
    [("401 No", "lookup.refused"), ("429 Later", "lookup.rate_limited"), ("307 Elsewhere", "lookup.unreachable")],
)
def test_what_cannot_be_asked_says_why(status: str, code: str) -> None:
    result, _ = asked(serving({"ErrorCode": 10}, status=status))
    assert (result.answer, result.code) == (Found.UNAVAILABLE, code)


def test_a_lost_answer_is_no_absence() -> None:
    result, _ = asked(after_request(end="fin"))
    assert (result.answer, result.code) == (Found.UNAVAILABLE, "lookup.unreachable")


@pytest.mark.parametrize("body", [None, b"", b"\xff", b"POST postmark email\r\n\r\n[]"], ids=ascii)
def test_without_our_marks_nobody_is_asked(body: bytes | None) -> None:
    result, requests = asked(serving(listing()), replace(QUERY, body=body))
    assert (result.answer, result.code, requests) == (Found.UNAVAILABLE, "lookup.erased", [])


@pytest.mark.parametrize(
    ("witness", "said", "answer_", "code"),
    [
        ("w-1", {"MessageID": "w-1"}, Found.NOT_FOUND, None),
        ("w-1", {"MessageID": "w-2"}, Found.INCONCLUSIVE, "lookup.other_account"),
        ("w-1", answer(b"{}", status="422 No"), Found.INCONCLUSIVE, "lookup.other_account"),
        ("w-1", answer(b"{}", status="401 No"), Found.UNAVAILABLE, "lookup.refused"),
    ],
)
def test_a_token_that_cannot_see_the_witness_proves_no_absence(
    witness: str, said: Any, answer_: Found, code: str | None
) -> None:
    result, requests = asked(serving(said, listing()), budget=replace(QUICK, witness=witness))
    assert (result.answer, result.code) == (answer_, code)
    assert requests[0].startswith(b"GET /messages/outbound/w-1/details HTTP/1.1\r\n")


def test_a_witness_that_cannot_be_asked_for_proves_no_absence() -> None:
    result, requests = asked(serving(listing()), budget=replace(QUICK, witness="../../x"))
    assert (result.answer, result.code, len(requests)) == (Found.INCONCLUSIVE, "lookup.no_witness", 1)

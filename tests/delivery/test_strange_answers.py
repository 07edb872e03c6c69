"""Whatever a provider, a proxy or an outage page answers, the attempt is recorded and the plan is kept."""

from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from notifications.providers.base import SendResult
from notifications.states import EntryKind, Known, NextAction, Outcome, Phase, ResultClass, State
from tests.delivery.adapters import Scripted
from tests.delivery.workplace import Workplace

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


def in_90_s(form: str) -> str:
    moment = datetime.now(UTC) + timedelta(seconds=90)
    return format_datetime(moment, usegmt=True) if form == "GMT" else f"{moment:%a, %d %b %Y %H:%M:%S}"


# Header → the seconds that it asks for; None: nothing that can be acted on. 3,600 is the documented cap.
WAITS: dict[str, tuple[list[str], float | None]] = {
    "seconds": (["120"], 120),
    "date": (["GMT"], 90),
    "date-without-zone": (["naive"], 90),
    "past": (["Wed, 21 Oct 2015 07:28:00 GMT"], None),
    "negative": (["-5"], None),
    "fraction": (["1.5"], None),
    "word": (["abc"], None),
    "empty": ([""], None),
    "year": (["31536000"], 3600),
    "full-width": (["１２０"], None),
    "twice": (["30", "120"], 120),
}


@pytest.mark.parametrize(("status", "own", "spread"), [(503, (48, 72), 1.0), (429, (1, 1.2), 1.2)], ids=["503", "429"])
def test_every_form_of_retry_after_is_obeyed_within_reason(
    place: Workplace, status: int, own: tuple[float, float], spread: float
) -> None:
    """H-ERR-1: never sooner than our own delay, never later than the cap, and the header is kept as it came."""
    for name, (values, wanted) in WAITS.items():
        raw = [in_90_s(value) if value in ("GMT", "naive") else value for value in values]
        intent = place.enqueue(name)
        headers = [["Retry-After", value] for value in raw]
        place.sandbox.fault(kind="status", status=status, headers=headers, match=f"ready/{name}$")
        place.turn()
        ((due_s,),) = place.sql(
            "SELECT extract(epoch FROM next_attempt_at - l.at)::float FROM notifyops_private.notifications_intent i "
            "JOIN notifyops_private.notifications_logentry l ON l.intent_id = i.id AND l.kind = 'result' "
            "WHERE i.id = %s",
            intent,
        )
        least, most = own if wanted is None else (wanted, wanted * spread)
        assert least - 3 <= due_s <= most + 0.01, (name, due_s)
        kept = place.log(intent)[-1]["detail"]["retry_after"]
        assert kept == ", ".join(raw) or (not kept.isascii() and name == "full-width")
        place.later(5000)


BODIES: dict[str, dict[str, Any]] = {
    "html": {"kind": "html", "status": 200},
    "empty": {"kind": "status", "status": 200, "body_text": ""},
    "no-id": {"kind": "status", "status": 200, "body": {}},
    "blank-id": {"kind": "status", "status": 200, "body": {"id": ""}},
    "null-id": {"kind": "status", "status": 200, "body": {"id": None}},
    "list": {"kind": "status", "status": 200, "body": []},
    "text": {"kind": "status", "status": 200, "body": "ok"},
    "created": {"kind": "status", "status": 201, "body": {}},
    "no-content": {"kind": "status", "status": 204, "body_text": ""},
    "gzip": {"kind": "gzip_cut"},
}


def test_a_success_without_a_readable_id_is_never_an_acceptance(place: Workplace) -> None:
    """H-ERR-2: two intents for each body, so that nothing of an unread id can clash."""
    for name, fault in BODIES.items():
        for number in (1, 2):
            place.enqueue(f"{name}-{number}")
        place.sandbox.fault(stage="after_accept", times=None, match=f"ready/{name}-", **fault)
    patient = place.shop(outage_failures=1000)  # what an outage page does to its account is told elsewhere
    for _ in range(3):
        assert len(place.turn(patient)) == 2 * len(BODIES)
        place.later(500)
    assert place.turn() == []
    rows = place.sql(
        "SELECT DISTINCT state, known, error_code, attempt_count, next_action, provider_message_id "
        "FROM notifyops_private.notifications_intent"
    )
    assert rows == [("needs_review", Known.UNKNOWN, "resend.malformed_response", 3, NextAction.QUERY_PROVIDER, None)]
    assert place.sandbox.order("GET", "ledger")["accepted"] == 2 * len(BODIES)


def test_a_persons_retry_then_finds_the_first_message(place: Workplace) -> None:
    """H-ERR-2: after the outage page is gone, the same key brings the id that was never read."""
    intent = place.enqueue()
    place.sandbox.fault(stage="after_accept", kind="html", status=200, times=3)
    for _ in range(3):
        place.turn()
        place.later(500)
    assert place.person(EntryKind.RETRIED, intent, State.RETRY, delay_s=0).refused is None
    place.turn()
    ledger = place.sandbox.ledger("report-ready/demo-001")
    assert (ledger.accepted, place.intent(intent).provider_message_id) == (1, ledger.ids[0])
    assert place.log(intent)[-2]["trigger"] == "manual"


def test_a_redirect_is_not_followed_and_is_a_setting_to_mend(place: Workplace) -> None:
    """H-ERR-2: here the design's word stands; a redirect says that the base URL is not the API's."""
    intent = place.enqueue()
    place.sandbox.fault(kind="redirect", location=f"{place.sandbox.url}/emails")
    place.turn()
    row = place.intent(intent)
    assert (row.state, row.next_action, row.error_code) == ("needs_review", "fix_config", "resend.302.unclassified")
    assert len(place.sandbox.requests()) == 1


NULS: dict[str, tuple[dict[str, Any], str]] = {
    "escaped-in-json": ({"status": 500, "body_text": '{"message":"boom\\u0000tail"}'}, "retry"),
    "raw-byte": ({"status": 500, "body_b64": base64.b64encode(b"boom\0tail").decode()}, "retry"),
    "in-the-name": ({"status": 500, "body_text": '{"name":"application_error\\u0000"}'}, "retry"),
    "refusal": ({"status": 422, "body_text": '{"name":"validation_error","message":"\\u0000`to`"}'}, "needs_review"),
    "half-a-surrogate": ({"status": 500, "body_text": '{"message":"\\ud800"}'}, "retry"),
    "a-megabyte": ({"status": 500, "body_text": "x" * 1_000_000}, "retry"),
}


@pytest.mark.parametrize(("answer", "state"), NULS.values(), ids=NULS)
def test_foreign_text_never_keeps_a_failure_from_being_recorded(
    place: Workplace, answer: dict[str, Any], state: str
) -> None:
    """H-ERR-4."""
    intent = place.enqueue()
    place.sandbox.fault(kind="status", **answer)
    place.turn()
    row = place.intent(intent)
    assert (row.state, row.leased_by, row.attempt_count) == (state, None, 1)
    assert place.kinds(intent) == ["claimed", "result"]


FOREIGN = "bad\0\ud800\u2028" + "x" * 400


@pytest.mark.parametrize("outcome", [Outcome.UNKNOWN, Outcome.ACCEPTED, Outcome.NOT_SENT])
def test_an_adapters_own_words_are_made_fit_for_the_database(place: Workplace, outcome: Outcome) -> None:
    """H-ERR-4, at the other side: an adapter that passes its provider's text on must not stop the loop."""
    result_class = {
        Outcome.UNKNOWN: ResultClass.UNKNOWN,
        Outcome.ACCEPTED: ResultClass.ACCEPTED,
        Outcome.NOT_SENT: ResultClass.RETRYABLE,
    }[outcome]
    hostile = SendResult(
        outcome,
        result_class,
        FOREIGN,
        Phase.ANSWER_READ,
        provider_message_id="\0id",
        http_status=10**9,
        retry_after_s=float("nan"),
        retry_after_raw=FOREIGN,
        trace_id=FOREIGN,
    )
    intent, other = place.enqueue(), place.enqueue("demo-002")
    place.turn(place.shop(Scripted([hostile])))
    assert [place.intent(one).state for one in (intent, other)] == ["retry", "retry"]
    entry = place.log(intent)[-1]
    assert (entry["http_status"], entry["provider_message_id"]) == (None, None)
    if outcome is Outcome.ACCEPTED:
        assert (entry["outcome"], entry["code"]) == ("unknown", "unknown.internal_error")
    else:
        assert entry["code"].startswith("bad\ufffd\ufffd\ufffdxxx")
        assert len(entry["code"]) == 100

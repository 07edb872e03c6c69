"""Twilio in the suite: one POST of a form, and the answers that decide."""

from __future__ import annotations

import json

from notifications.providers.twilio import Reports, TwilioProvider
from notifications.providers.twilio_message import read_text
from notifications.states import Outcome, Phase
from tests.providers.candidate_resend import after_request
from tests.providers.conformance import RAW, Candidate, Trial
from tests.providers.scripted_server import Script, answer, answering

ACCOUNT = "AC" + "0a1b2c3d" * 4
TOKEN = "token-of-the-tests-0123456789abcd"
SECRET = f"{ACCOUNT}:{TOKEN}"
SID = "SM" + "4ef9a417" * 4
TO = "+447700900123"
SENDER = "+15550001111"
REPORTS = Reports("https://shop.example.com/api/v1/providers/texts/events")


def refusal(status: int, number: int | None, *headers: str) -> Script:
    body = json.dumps({"code": number, "message": RAW, "more_info": RAW, "status": status}).encode()
    return answering(answer(body, status=f"{status} Refused", headers=("Location: /elsewhere", *headers)))


def accepted(sid: str = SID, status: str = "queued") -> bytes:
    return answer(json.dumps({"sid": sid, "status": status, "body": RAW}).encode(), status="201 Created")


def provider(port: int) -> TwilioProvider:
    return TwilioProvider(base_url=f"http://127.0.0.1:{port}", secret=SECRET, reports=REPORTS, connections=4)


def recipients(body: bytes) -> list[str]:
    text = read_text(body)
    return [] if text is None else [text.field("To")]


HALF = b'HTTP/1.1 201 Created\r\nContent-Length: 400\r\n\r\n{"sid":"' + RAW.encode()
LOST = Phase.REQUEST_WRITTEN
CANDIDATE = Candidate(
    "twilio",
    provider,
    (
        Trial("accepts", answering(accepted()), Outcome.ACCEPTED, "twilio.accepted"),
        Trial("refuses the recipient", refusal(400, 21211), Outcome.REJECTED, "twilio.bad_number"),
        Trial("refuses the account", refusal(401, 20003), Outcome.REJECTED, "twilio.login_refused"),
        Trial("takes no more for now", refusal(429, 20429), Outcome.NOT_SENT, "twilio.too_many"),
        Trial("sends us elsewhere", refusal(307, None), Outcome.REJECTED, "twilio.307.unclassified"),
        Trial("answers garbage", answering(answer(RAW.encode())), Outcome.UNKNOWN, "twilio.malformed_response"),
        Trial("fails", refusal(500, 20500), Outcome.UNKNOWN, "twilio.failed"),
        Trial("closes instead of an answer", after_request(end="fin"), Outcome.UNKNOWN, "unknown.disconnected", LOST),
        Trial("resets instead of an answer", after_request(end="rst"), Outcome.UNKNOWN, "unknown.disconnected", LOST),
        Trial("stays silent", after_request(), Outcome.UNKNOWN, "unknown.deadline", LOST),
        Trial(
            "drips without an end",
            after_request(HALF, *[b"x"] * 200, pause_s=0.02),
            Outcome.UNKNOWN,
            "unknown.deadline",
            LOST,
        ),
        Trial("answers half, then closes", after_request(HALF, end="fin"), Outcome.UNKNOWN, "unknown.truncated", LOST),
    ),
    recipients,
    to=TO,
    sender=SENDER,
)

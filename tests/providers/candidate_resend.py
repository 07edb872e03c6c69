"""Resend in the suite: one POST, and the answers that decide."""

from __future__ import annotations

import json

from notifications.providers.resend import ResendProvider
from notifications.states import Outcome, Phase
from tests.providers.attempts import API_KEY
from tests.providers.conformance import RAW, Candidate, Trial
from tests.providers.scripted_server import Peer, Script, answer, answering

ID = "4ef9a417-02e9-4d39-ad75-9611e0fcc33c"


def refusal(status: int, name: str, message: str = "") -> Script:
    body = json.dumps({"statusCode": status, "name": name, "message": message + RAW}).encode()
    return answering(answer(body, status=f"{status} Refused"))


def after_request(*parts: bytes, end: str = "wait", pause_s: float = 0.0) -> Script:
    """Give a script that reads one request, says the parts and then waits, hangs up or resets."""

    async def script(peer: Peer) -> None:
        await peer.read_request()
        await peer.say(*parts, pause_s=pause_s)
        await {"wait": peer.wait, "fin": peer.hang_up, "rst": peer.reset}[end]()

    return script


HALF = b'HTTP/1.1 200 OK\r\nContent-Length: 400\r\n\r\n{"id":"' + RAW.encode()
ELSEWHERE = answer(RAW.encode(), status="307 Elsewhere", headers=("Location: /emails",))
WRITTEN = Phase.REQUEST_WRITTEN
CANDIDATE = Candidate(
    "resend",
    lambda port: ResendProvider(base_url=f"http://127.0.0.1:{port}", api_key=API_KEY, connections=4),
    (
        Trial(
            "accepts",
            answering(answer(json.dumps({"id": ID, "note": RAW}).encode())),
            Outcome.ACCEPTED,
            "resend.accepted",
        ),
        Trial(
            "refuses the recipient",
            refusal(422, "validation_error", "Invalid `to` field. "),
            Outcome.REJECTED,
            "resend.422.validation_error",
        ),
        Trial("refuses the account", refusal(401, "missing_api_key"), Outcome.REJECTED, "resend.401.missing_api_key"),
        Trial(
            "takes no more for now",
            refusal(429, "rate_limit_exceeded"),
            Outcome.NOT_SENT,
            "resend.429.rate_limit_exceeded",
        ),
        Trial("answers garbage", answering(answer(RAW.encode())), Outcome.UNKNOWN, "resend.malformed_response"),
        Trial(
            "closes instead of an answer", after_request(end="fin"), Outcome.UNKNOWN, "unknown.disconnected", WRITTEN
        ),
        Trial(
            "resets instead of an answer", after_request(end="rst"), Outcome.UNKNOWN, "unknown.disconnected", WRITTEN
        ),
        Trial("stays silent", after_request(), Outcome.UNKNOWN, "unknown.deadline", WRITTEN),
        Trial(
            "drips without an end",
            after_request(HALF, *[b"x"] * 200, pause_s=0.02),
            Outcome.UNKNOWN,
            "unknown.deadline",
            WRITTEN,
        ),
        Trial(
            "answers half, then closes", after_request(HALF, end="fin"), Outcome.UNKNOWN, "unknown.truncated", WRITTEN
        ),
        Trial("sends us elsewhere", answering(ELSEWHERE, ELSEWHERE), Outcome.REJECTED, "resend.307.unclassified"),
    ),
    lambda body: json.loads(body)["to"],
)

"""Webhooks in the suite: one signed POST to the recipient's address, judged by its status."""

from __future__ import annotations

import base64

from notifications.providers.webhook import WebhookProvider
from notifications.providers.webhook_message import read_call
from notifications.states import Outcome, Phase
from tests.providers.candidate_resend import after_request
from tests.providers.conformance import RAW, Candidate, Trial
from tests.providers.scripted_server import Script, answer, answering

NEW = "whsec_" + base64.b64encode(b"new secret of the account, 32 b.").decode()
OLD = "whsec_" + base64.b64encode(b"old secret of the account, 32 b.").decode()
TO = "https://hooks.example.com/in?shop=7"


def saying(status: int, *headers: str) -> Script:
    return answering(answer(RAW.encode(), status=f"{status} Said", headers=("Location: /elsewhere", *headers)))


def recipients(body: bytes) -> list[str]:
    call = read_call(body)
    return [] if call is None else [call.url]


HALF = b"HTTP/1.1 200 OK\r\nContent-Length: 400\r\n\r\n" + RAW.encode()
LOST = Phase.REQUEST_WRITTEN
CANDIDATE = Candidate(
    "webhook",
    lambda port: WebhookProvider(secrets=f"{NEW},{OLD}", stand_in=f"http://127.0.0.1:{port}/in"),
    (
        Trial("accepts", saying(200), Outcome.ACCEPTED, "webhook.accepted"),
        Trial("refuses the recipient", saying(410), Outcome.REJECTED, "webhook.gone"),
        Trial("refuses the account", saying(401), Outcome.REJECTED, "webhook.signature_refused"),
        Trial("takes no more for now", saying(429), Outcome.NOT_SENT, "webhook.too_many"),
        Trial("sends us elsewhere", saying(307), Outcome.REJECTED, "webhook.redirected"),
        # What a body says proves nothing, so that only an answer that is no HTTP is garbage.
        Trial("answers garbage", after_request(RAW.encode() + b"\r\n\r\n"), Outcome.UNKNOWN, "unknown.garbled", LOST),
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
)

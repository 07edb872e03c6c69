"""Telegram in the suite: one sendMessage, and the answers that decide."""

from __future__ import annotations

import json
from typing import Any

from notifications.providers.telegram import TelegramProvider
from notifications.states import Outcome, Phase
from tests.providers.candidate_resend import after_request
from tests.providers.conformance import RAW, Candidate, Trial
from tests.providers.scripted_server import Script, answer, answering

TOKEN = "123456:bot-token-of-the-tests-0123456789"
TO = "-1001234567890"


def refusal(status: int, description: str, **parameters: Any) -> Script:
    said = {"ok": False, "error_code": status, "description": description, "note": RAW}
    body = json.dumps(said | ({"parameters": parameters} if parameters else {})).encode()
    return answering(answer(body, status=f"{status} Refused", headers=("Location: /elsewhere",)))


def accepted(number: int = 7) -> bytes:
    result = {"message_id": number, "chat": {"id": -1001234567890, "title": RAW}, "text": RAW}
    return answer(json.dumps({"ok": True, "result": result}).encode())


def provider(port: int) -> TelegramProvider:
    return TelegramProvider(base_url=f"http://127.0.0.1:{port}", token=TOKEN, connections=4)


def recipients(body: bytes) -> list[str]:
    return [str(json.loads(body.partition(b"\r\n\r\n")[2])["chat_id"])]


HALF = b'HTTP/1.1 200 OK\r\nContent-Length: 400\r\n\r\n{"ok":true,"result":"' + RAW.encode()
LOST = Phase.REQUEST_WRITTEN
BLOCKED = "Forbidden: bot was blocked by the user"
CANDIDATE = Candidate(
    "telegram",
    provider,
    (
        Trial("accepts", answering(accepted()), Outcome.ACCEPTED, "telegram.accepted"),
        Trial("refuses the recipient", refusal(403, BLOCKED), Outcome.REJECTED, "telegram.blocked"),
        Trial("refuses the account", refusal(401, "Unauthorized"), Outcome.REJECTED, "telegram.login_refused"),
        Trial(
            "takes no more for now",
            refusal(429, "Too Many Requests: retry after 34", retry_after=34),
            Outcome.NOT_SENT,
            "telegram.too_many",
        ),
        Trial("sends us elsewhere", refusal(307, ""), Outcome.REJECTED, "telegram.redirected"),
        Trial("answers garbage", answering(answer(RAW.encode())), Outcome.UNKNOWN, "telegram.malformed_response"),
        Trial("fails", refusal(502, "Bad Gateway"), Outcome.UNKNOWN, "telegram.failed"),
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

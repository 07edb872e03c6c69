"""Web push in the suite: one encrypted POST to the push service that the recipient's browser has chosen."""

from __future__ import annotations

import base64
from typing import Final

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from notifications.providers.webpush import WebPushProvider
from notifications.providers.webpush_message import read_push
from notifications.states import Outcome, Phase
from tests.providers.candidate_resend import after_request
from tests.providers.conformance import RAW, Candidate, Trial
from tests.providers.scripted_server import Script, answer, answering

# The example of RFC 8291, appendix A: the browser's keys, and the secret of the subscription.
BROWSER: Final = "q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94"
P256DH: Final = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
AUTH: Final = "BTBZMqHH6r4Tts7J_aSIgg"
# The sender's key of that example, as an account's.
SECRET: Final = "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"
ENDPOINT: Final = "https://push.example.com/wpush/v2/ana?x=7"
TO: Final = f"{ENDPOINT}#{P256DH}.{AUTH}"


def raw(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def private_key(text: str) -> ec.EllipticCurvePrivateKey:
    return ec.derive_private_key(int.from_bytes(raw(text), "big"), ec.SECP256R1())


def public_bytes(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


def saying(status: int, *headers: str) -> Script:
    return answering(answer(RAW.encode(), status=f"{status} Said", headers=("Location: /elsewhere", *headers)))


def recipients(body: bytes) -> list[str]:
    push = read_push(body)
    return [] if push is None else [push.to]


HALF = b"HTTP/1.1 201 Created\r\nContent-Length: 400\r\n\r\n" + RAW.encode()
LOST = Phase.REQUEST_WRITTEN
CANDIDATE = Candidate(
    "webpush",
    lambda port: WebPushProvider(secret=SECRET, stand_in=f"http://127.0.0.1:{port}/in"),
    (
        Trial("accepts", saying(201), Outcome.ACCEPTED, "webpush.accepted"),
        Trial("refuses the recipient", saying(410), Outcome.REJECTED, "webpush.gone"),
        Trial("refuses the account", saying(403), Outcome.REJECTED, "webpush.key_refused"),
        Trial("takes no more for now", saying(429), Outcome.NOT_SENT, "webpush.too_many"),
        Trial("sends us elsewhere", saying(307), Outcome.REJECTED, "webpush.redirected"),
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

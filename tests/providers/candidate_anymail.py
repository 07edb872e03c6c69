"""The mail services of django-anymail in the suite.

All share one adapter and one transport: three of them play every situation over a socket, one for each shape of an
answer (JSON with numbers, a form with sentences, no id at all); of the others it is asked what they make of a message,
and test_anymail_answers.py asks what their answers mean.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import parse_qs

from notifications.providers.anymail import AnymailProvider
from notifications.providers.anymail_request import read_call
from notifications.providers.esps import ESPS, Esp
from notifications.states import Outcome, Phase
from tests.providers.attempts import MESSAGE
from tests.providers.candidate_resend import after_request
from tests.providers.conformance import RAW, Candidate, Trial
from tests.providers.scripted_server import Script, answer, answering

BY_NAME: Final = {esp.name: esp for esp in ESPS}
ID: Final = "b7bc2f4a-e38e-4336-af7d-e6c392c2f817"
LOST: Final = Phase.REQUEST_WRITTEN
HALF: Final = b'HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n{"Message":"' + RAW.encode()
# Where each service's request names whom it is for.
_TO: Final[dict[str, Callable[[Any], list[str]]]] = {
    "postmark": lambda sent: [sent["To"]],
    "mailgun": lambda sent: [*sent["to"], *sent.get("cc", ()), *sent.get("bcc", ())],
    "sendgrid": lambda sent: [one["email"] for part in sent["personalizations"] for one in part["to"]],
    "brevo": lambda sent: [one["email"] for one in sent["to"]],
    "mailjet": lambda sent: [one["Email"] for part in sent["Messages"] for one in part["To"]],
    "sparkpost": lambda sent: [one["address"]["email"] for one in sent["recipients"]],
    "mailersend": lambda sent: [one["email"] for one in sent["to"]],
    "mailtrap": lambda sent: [one["email"] for one in sent["to"]],
    "scaleway": lambda sent: [one["email"] for one in sent["to"]],
    "unisender": lambda sent: [one["email"] for one in sent["message"]["recipients"]],
    "postal": lambda sent: list(sent["to"]),
}


def adapter(name: str, base_url: str) -> AnymailProvider:
    """Bind the adapter of a service to an address."""
    esp = BY_NAME[name]
    secret = ":".join(f"secret-{part}" for part in esp.secrets)
    return AnymailProvider(esp, base_url=base_url + ("?project_id=p-17" if esp.wanted else ""), secret=secret)


def sent(name: str, frozen: bytes) -> Any:
    """Give the body of a frozen request as its service would read it."""
    call = read_call(frozen, BY_NAME[name])
    assert call is not None
    return parse_qs(call.body.decode()) if name == "mailgun" else json.loads(call.body)


def accepting(name: str) -> tuple[int, Any, tuple[str, ...]]:
    """Give the answer by which the service takes the message: status, body, headers."""
    to = MESSAGE.to
    return {
        "postmark": (200, {"To": to, "MessageID": ID, "ErrorCode": 0, "Message": "OK"}, ()),
        "mailgun": (200, {"id": f"<{ID}@mg.example.com>", "message": "Queued. Thank you."}, ()),
        "sendgrid": (202, None, (f"X-Message-Id: {ID}",)),
        "brevo": (201, {"messageId": f"<{ID}@relay.example.com>"}, ()),
        "mailjet": (200, {"Messages": [{"Status": "success", "To": [{"Email": to, "MessageID": 1152921}]}]}, ()),
        "sparkpost": (
            200,
            {"results": {"total_rejected_recipients": 0, "total_accepted_recipients": 1, "id": "11668787484950529"}},
            (),
        ),
        "mailersend": (202, None, (f"X-Message-Id: {ID}",)),
        "mailtrap": (200, {"success": True, "message_ids": [ID]}, ()),
        "scaleway": (200, {"emails": [{"id": ID, "mail_rcpt": to, "status": "new"}]}, ()),
        "unisender": (200, {"status": "success", "job_id": "1ZymBc-00041N-9X", "emails": [to]}, ()),
        "postal": (200, {"status": "success", "data": {"messages": {to: {"id": 4711, "token": "abc"}}}}, ()),
    }[name]


def saying(status: int, body: Any = None, *headers: str) -> Script:
    """Give a script that answers with JSON, or with text, and whatever else nobody may keep."""
    raw = RAW if body is None else body if isinstance(body, str) else json.dumps({"note": RAW} | body)
    return answering(answer(raw.encode(), status=f"{status} Said", headers=("Location: /elsewhere", *headers)))


def yes(name: str) -> Script:
    status, body, headers = accepting(name)
    return saying(status, body or RAW, "Content-Type: text/html" if body is None else "X-A: b", *headers)


def trials(name: str, recipient: Trial, account: Trial, garbage: Trial) -> tuple[Trial, ...]:
    """Give every situation; what breaks on the way is the same whoever is called."""
    return (
        Trial("accepts", yes(name), Outcome.ACCEPTED, f"{name}.accepted"),
        *(recipient, account, garbage),
        Trial("takes no more for now", saying(429), Outcome.NOT_SENT, f"{name}.429.too_many"),
        Trial("sends us elsewhere", saying(307), Outcome.REJECTED, f"{name}.307.redirected"),
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
    )


def refused(situation: str, script: Script, code: str) -> Trial:
    return Trial(situation, script, Outcome.REJECTED, code)


def unread(script: Script, code: str) -> Trial:
    return Trial("answers garbage", script, Outcome.UNKNOWN, code)


_INACTIVE: Final = (
    f"You tried to send to a recipient that has been marked as inactive.\nFound inactive addresses: {RAW}"
)
_TRIALS: Final[dict[str, tuple[Trial, ...]]] = {
    "postmark": trials(
        "postmark",
        refused(
            "refuses the recipient",
            saying(422, {"ErrorCode": 406, "Message": _INACTIVE}),
            "postmark.422.recipient_suppressed",
        ),
        refused("refuses the account", saying(401, {"ErrorCode": 10, "Message": RAW}), "postmark.401.bad_key"),
        unread(saying(200), "postmark.200.malformed_response"),
    ),
    "mailgun": trials(
        "mailgun",
        refused(
            "refuses the recipient",
            saying(400, {"message": f"'to' parameter is not a valid address. {RAW}"}),
            "mailgun.400.recipient_invalid",
        ),
        refused("refuses the account", saying(401, "Forbidden"), "mailgun.401.bad_key"),
        unread(saying(200), "mailgun.200.malformed_response"),
    ),
    "sendgrid": trials(
        "sendgrid",
        refused(
            "refuses the recipient",
            saying(400, {"errors": [{"message": RAW, "field": "personalizations.0.to.0.email"}]}),
            "sendgrid.400.recipient_invalid",
        ),
        refused("refuses the account", saying(401, {"errors": [{"message": RAW}]}), "sendgrid.401.bad_key"),
        unread(saying(200), "sendgrid.200.malformed_response"),
    ),
}


def _candidate(esp: Esp) -> Candidate:
    return Candidate(
        esp.name,
        lambda port: adapter(esp.name, f"http://127.0.0.1:{port}/api/"),
        _TRIALS.get(esp.name, ()),
        lambda body: _TO[esp.name](sent(esp.name, body)),
    )


CANDIDATES: Final = tuple(map(_candidate, ESPS))

"""Any mail service that django-anymail knows: anymail writes the request and reads the answer, we alone send.

anymail's own call would follow redirects, ask the environment for a proxy, bound each read instead of the whole, and
raise the same class whether or not the bytes had left. So its prepared request goes through our transport, once, and
its parser is given the answer that came.
"""

from __future__ import annotations

import re
import time
from dataclasses import replace
from typing import Any, Final

import requests
from requests.structures import CaseInsensitiveDict
from yarl import URL

from notifications.providers import esp_answers
from notifications.providers.anymail_request import Call, backend_of, credentials, frozen_call, payload_for, read_call
from notifications.providers.base import Message, Request, SendResult
from notifications.providers.esps import Esp
from notifications.providers.http import Answer, Failure, Transport
from notifications.providers.outcomes import OUTCOMES, without_answer
from notifications.providers.retry_after import printable, wanted_wait
from notifications.states import Outcome, Phase, ResultClass

OTHER_KIND: Final = "anymail.other_kind"
CODES: Final = frozenset({OTHER_KIND})
_SECRET: Final = re.compile(r"[!-9;-~]{1,256}")  # no colon: it parts two
_OPTION: Final = re.compile(r"[A-Za-z0-9._-]{1,100}")
_MESSAGE_ID: Final = re.compile(r"[A-Za-z0-9._:+=/-]{1,200}")
_ACCEPTED: Final = frozenset({"sent", "queued"})


class AnymailProvider:
    """One account at one service. The base URL's query holds the service's options, such as a message stream."""

    def __init__(self, esp: Esp, *, base_url: str, secret: str, connections: int = 32) -> None:
        """Check the settings; no connection is made. Raises ValueError with a sentence, and never a secret in it."""
        if connections < 1:
            raise ValueError("The number of connections must be at least 1.")
        self.name = esp.name
        self.capabilities = esp.capabilities
        self._esp = esp
        self._base, options = base_and_options(esp, base_url)
        secrets = parts_of(esp, secret)
        self._credentials = credentials(esp, secrets, options)
        # What is prepared needs no key, and so gets none.
        self._backend = backend_of(esp, ("no-key",) * len(secrets), options)
        fixed = {"User-Agent": "notifyops/1.0", "Accept-Encoding": "identity"}
        self._transport = Transport(headers=fixed, connections=connections)

    def prepare(self, message: Message) -> bytes:
        """Give the request as anymail writes it, without the account's key. Raises Unsendable."""
        return frozen_call(self._backend, self._esp, message, self._credentials)

    async def send(self, request: Request) -> SendResult:
        """Make one call with the frozen bytes, and say what is true about it."""
        call = read_call(request.body, self._esp)
        if call is None:
            return SendResult(Outcome.REJECTED, ResultClass.FIX_CONFIG, OTHER_KIND, Phase.NOT_CONNECTED)
        url = URL(f"{self._base}{call.target}", encoded=True)
        headers = {**call.headers, **self._credentials}
        answer = await self._transport.post(url, replace(request, body=call.body), headers)
        return without_answer(answer) if isinstance(answer, Failure) else self.judged(answer, call)

    def judged(self, answer: Answer, call: Call) -> SendResult:
        """Give what a whole answer to that call proves."""
        status = answer.status
        word, message_id = self._read(answer, call)
        if 200 <= status < 300 and word in _ACCEPTED and message_id is not None:
            accepted = (Outcome.ACCEPTED, ResultClass.ACCEPTED, f"{self.name}.accepted", Phase.ANSWER_READ)
            return SendResult(*accepted, provider_message_id=message_id, http_status=status)
        name = esp_answers.BY_WORD.get(word or "") if status < 500 else None
        name = name or esp_answers.name_of(self.name, self._esp.reasons, status, answer.body)
        result_class = esp_answers.NAMES[name]
        asked = answer.headers.getall("Retry-After", ())
        return SendResult(
            OUTCOMES[result_class],
            result_class,
            f"{self.name}.{status:03d}.{name}",
            Phase.ANSWER_READ,
            http_status=status,
            retry_after_s=wanted_wait(asked, answer.headers.get("Date"), time.time) if asked else None,
            retry_after_raw=printable(asked),
            field=esp_answers.FIELDS.get(name) if status in (400, 422) else None,
        )

    async def close(self) -> None:
        """Give back the sockets."""
        await self._transport.close()

    def _read(self, answer: Answer, call: Call) -> tuple[str | None, str | None]:
        """Give anymail's word for what became of the one recipient, and an id that can be kept; None where unclear."""
        if answer.body is None:
            return None, None
        try:
            response = _recorded(answer)
            payload, message = payload_for(self._backend, call.to)
            self._backend.raise_for_status(response, payload, message)
            found = self._backend.parse_recipient_status(response, payload, message)[call.to]
            word, message_id = found.status, found.message_id
        except Exception:  # of a foreign parser: whatever it cannot read proves nothing, and its text holds the answer
            return None, None
        if self._esp.id_header is not None:
            message_id = answer.headers.get(self._esp.id_header)
        return str(word), kept_id(message_id)


def parts_of(esp: Esp, secret: str) -> tuple[str, ...]:
    """Give the parts of an account's secret. Raises ValueError with a sentence, and never the secret in it."""
    secrets = tuple(secret.split(":")) if len(esp.secrets) > 1 else (secret,)
    if len(secrets) != len(esp.secrets) or not all(map(_SECRET.fullmatch, secrets)):
        wanted = ":".join(esp.secrets)
        raise ValueError(f"The secret of kind {esp.name} is {wanted}, of printable ASCII without blanks.")
    return secrets


def kept_id(message_id: object) -> str | None:
    """Give a service's id as it is kept; None for none. Of `<1.2@mg.example.com>` it is the part before the @.

    The log holds nothing that looks like an address, and that part alone is unique at each service.
    """
    text = str(message_id).strip("<>").partition("@")[0] if isinstance(message_id, str | int) else ""
    return text if _MESSAGE_ID.fullmatch(text) else None


def base_and_options(esp: Esp, base_url: str) -> tuple[str, dict[str, str]]:
    """Part a base URL like https://api.postmarkapp.com/?message_stream=alerts. Raises ValueError with a sentence."""
    try:
        url = URL(base_url)
        usable = url.scheme in ("http", "https") and bool(url.host) and not (url.user or url.password or url.fragment)
        options = {name: url.query.getone(name) for name in url.query}
    except (ValueError, TypeError):
        usable, options = False, {}
    if not usable:
        raise ValueError(f"The base URL must be like {esp.url}, without a user and a fragment.")
    known = set(options) <= set(esp.options) and set(esp.wanted) <= set(options)
    if not known or not all(map(_OPTION.fullmatch, options.values())):
        can = ", ".join(esp.options) or "none"
        must = f" and must hold {', '.join(esp.wanted)}" if esp.wanted else ""
        raise ValueError(f"The base URL's query can hold options of {esp.name} ({can}){must}, of plain characters.")
    return str(url.with_query(None)).rstrip("/") + "/", options


def _recorded(answer: Answer) -> Any:
    """Give the answer as anymail expects it, from a session that never was."""
    response = requests.Response()
    response.status_code = answer.status
    response._content = answer.body or b""
    response.headers = CaseInsensitiveDict(answer.headers)
    response.encoding = "utf-8"
    response.url = ""
    return response

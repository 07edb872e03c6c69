"""The address that providers send their events to: verified, kept once, answered at once; applied by the chores."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping
from typing import Final

from django.conf import settings
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse, UnreadablePostError
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from notifications import wiring
from notifications.receipts.esp_verify import PROOFS, Claim
from notifications.receipts.parse import parse
from notifications.receipts.receive import Sender, Verified, receive, sender
from notifications.receipts.verify import Stamp, Unverified, stamped, verify

logger = logging.getLogger(__name__)

# Of one process: receipts come a few dozen a second, and each needs its connection for some milliseconds.
ROOM: Final = threading.BoundedSemaphore(8)
WAIT_S: Final = 3.0
# The kinds of account whose events are read.
KINDS: Final = frozenset({"resend", *PROOFS})
# What a request shows for itself, or why that is nothing, by the kind of account that it would be shown to.
Shown = Mapping[str, Stamp | Claim | Unverified]


@csrf_exempt
@require_POST
def events(request: HttpRequest, account: str) -> HttpResponse:
    """Take one event.

    200: kept, now or before, whatever it says. 401: not signed as it must be, and nothing was written. 404: no such
    account. 413: too large. 503: it could not be kept, so the provider should send it again.
    """
    body = _body(request)
    if body is None:
        return _answer("too large", 413)
    try:
        shown = _shown(request.headers, body)
        # Strangers must not be able to take all of the database's connections.
        if not ROOM.acquire(timeout=WAIT_S):
            return _try_again(account, None)
        try:
            return _kept(account, shown, body)
        finally:
            ROOM.release()
    except Unverified as refusal:
        logger.warning("receipt refused: %s", refusal, extra={"action": "receipt_refused", "account": account})
        return _answer("not verified", 401)
    except DatabaseError as error:
        return _try_again(account, error)


def _shown(headers: Mapping[str, str], body: bytes) -> Shown:
    """Give what the request shows, before anybody asks the database whose it is. Raises Unverified: it is nothing."""
    now_s = time.time()
    try:
        return {"resend": stamped(headers, now_s=now_s)}
    except Unverified as refusal:
        first = refusal
    found: dict[str, Claim | Unverified] = {}
    for kind, (show, _) in PROOFS.items():
        try:
            found[kind] = show(headers, body, now_s=now_s)
        except Unverified as refusal:
            found[kind] = refusal
    if not any(isinstance(one, Claim) for one in found.values()):
        raise first
    return {"resend": first, **found}


def _kept(account: str, shown: Shown, body: bytes) -> HttpResponse:
    """Keep what is proven by a secret of the account. Raises Unverified and DatabaseError."""
    row = sender(account)
    if row is None or row.kind not in KINDS:
        return _answer("no such account", 404)
    receive(row.id, [_verified(row, shown.get(row.kind), body)], site=settings.NOTIFYOPS_SITE, source="webhook")
    return _answer("kept", 200)


def _verified(row: Sender, shown: Stamp | Claim | Unverified | None, body: bytes) -> Verified:
    """Give the event with the id by which a repeat is known. Raises Unverified."""
    if isinstance(shown, Stamp):
        verify(shown, body, wiring.webhook_keys(row.webhook_secret_refs))
        return Verified(shown.event_id, body, parse(body))
    if not isinstance(shown, Claim):
        raise shown or Unverified("headers")
    PROOFS[row.kind][1](shown, wiring.webhook_secrets(row.webhook_secret_refs))
    # Imported for those who use it: django-anymail's parsers.
    from notifications.receipts.esp_events import READERS

    event_id, told = READERS[row.kind](body)
    return Verified(event_id, body, told)


def _body(request: HttpRequest) -> bytes | None:
    """Give the bytes as they came, or None where there are too many; no more than that is ever read."""
    most = settings.NOTIFYOPS_RECEIPT_BYTES
    length = request.META.get("CONTENT_LENGTH") or "0"
    if not (length.isascii() and length.isdigit() and len(length) < 10) or int(length) > most:
        return None
    try:
        body = request.read(most + 1)
    except UnreadablePostError:  # the sender went away: nobody hears the answer
        return b""
    return body if len(body) <= most else None


def _try_again(account: str, error: DatabaseError | None) -> HttpResponse:
    logger.error("receipt not kept", exc_info=error, extra={"action": "receipt_not_kept", "account": account})
    answer = _answer("not kept, send it again", 503)
    answer["Retry-After"] = "5"
    return answer


def _answer(text: str, status: int) -> HttpResponse:
    return HttpResponse(f"{text}\n", status=status, content_type="text/plain")

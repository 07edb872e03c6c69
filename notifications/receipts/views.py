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
from notifications.receipts.heard import KINDS, Call, Heard, hear
from notifications.receipts.receive import Verified, receive, sender
from notifications.receipts.verify import Unverified

logger = logging.getLogger(__name__)

# Of one process: receipts come a few dozen a second, and each needs its connection for some milliseconds.
ROOM: Final = threading.BoundedSemaphore(8)
WAIT_S: Final = 3.0


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
        heard = hear(Call(request.headers, body, _url(request), time.time()))
        # Strangers must not be able to take all of the database's connections.
        if not ROOM.acquire(timeout=WAIT_S):
            return _try_again(account, None)
        try:
            return _kept(account, heard, body)
        finally:
            ROOM.release()
    except Unverified as refusal:
        logger.warning("receipt refused: %s", refusal, extra={"action": "receipt_refused", "account": account})
        return _answer("not verified", 401)
    except DatabaseError as error:
        return _try_again(account, error)


def _kept(account: str, heard: Mapping[str, Heard | Unverified], body: bytes) -> HttpResponse:
    """Keep what is signed with a secret of the account. Raises Unverified and DatabaseError."""
    row = sender(account)
    if row is None or row.kind not in KINDS:
        return _answer("no such account", 404)
    claim = heard[row.kind]
    if isinstance(claim, Unverified):
        raise claim
    claim.verify(wiring.webhook_keys(row.webhook_secret_refs, claim.key_of))
    event_id, told = claim.event()
    receive(row.id, [Verified(event_id, body, told)], site=settings.NOTIFYOPS_SITE, source="webhook")
    return _answer("kept", 200)


def _url(request: HttpRequest) -> str:
    """Give the address that was called, as providers know it: a proxy may have hidden host and scheme from us."""
    public_url = settings.NOTIFYOPS_PUBLIC_URL
    path = request.get_full_path()
    return f"{public_url}{path}" if public_url else request.build_absolute_uri(path)


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

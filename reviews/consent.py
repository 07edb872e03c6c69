"""What a retry needs beside the rules: that the risk was read, and that the application still wants it."""

from __future__ import annotations

import logging

from django.db import transaction
from django.utils.translation import gettext as _

from notifications.models import Intent
from notifications.types import registry
from reviews.record import Order
from reviews.refusals import BadReason, NotAllowedNow

log = logging.getLogger(__name__)


def check_risk(order: Order, code: str, text: str) -> None:
    """Let nobody order a possible second message by the way: the reason, a text, and that the risk was read.

    Raises BadReason.
    """
    if code != "evidence_not_sent":
        raise BadReason(_("Past the key's window only “Evidence that nothing arrived” is a reason for a retry."))
    if not text:
        raise BadReason(_("This reason needs a text of 10 to 500 characters that explains it."))
    if not order.confirmed:
        raise BadReason(_("Confirm that you have read what this retry may cost."), word="not_confirmed")


def check_still_wanted(intent: Intent, text: str) -> None:
    """Ask the application whether the business has moved on; a text that says why outweighs its no.

    Raises NotAllowedNow.
    """
    kind = registry.get(intent.type)
    if kind is None or kind.still_wanted is None or text:
        return
    try:
        with transaction.atomic():
            wanted = kind.still_wanted(intent.report_id)
    except Exception:  # the application's own code: whatever it raises is no answer
        log.exception("still_wanted failed", extra={"action": "still_wanted", "type": intent.type})
        raise NotAllowedNow(
            _("The application could not say whether this is still wanted. Say in the text why it must go out."),
            word="still_wanted",
        ) from None
    if not wanted:
        raise NotAllowedNow(
            _("The application says that this is no longer wanted: close it, or say in the text why it must go out."),
            word="still_wanted",
        )

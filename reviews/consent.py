"""What an order needs beside the rules: that the risk was read, an address, a time, and that it is still wanted."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Final

from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from notifications.models import Intent
from notifications.policy.endpoints import address_for
from notifications.policy.recipients import InvalidAddress
from notifications.types import registry
from reviews import asking
from reviews.door_words import REFUSED_BY_THE_DOOR
from reviews.reasons import NO_TEXT
from reviews.record import Order
from reviews.refusals import BadReason, NotAllowedNow
from reviews.steps import Step

log = logging.getLogger(__name__)
ONLY_EVIDENCE: Final = gettext_lazy(
    "Past the key's window only “Evidence that nothing arrived” is a reason for a retry."
)
NO_SUCH_EVIDENCE: Final = gettext_lazy(
    "“Evidence that nothing arrived” is a reason only where the provider has said so of an attempt that may have been "
    "accepted, within ten minutes: ask the provider, or choose another reason."
)
# How long a case may be set aside, in minutes.
WAIT: Final = range(5, 7 * 24 * 60 + 1)


def check_risk(order: Order, code: str, text: str) -> None:
    """Let nobody order a possible second message by the way: the reason, a text, and that the risk was read.

    Raises BadReason.
    """
    if code != "evidence_not_sent":
        raise BadReason(ONLY_EVIDENCE, word="only_evidence", field="reason_code")
    if not text:
        raise BadReason(NO_TEXT, word="no_text", field="reason")
    if not order.confirmed:
        sentence = _("Confirm that you have read what this retry may cost.")
        raise BadReason(sentence, word="not_confirmed", field="confirmed")


def check_still_wanted(intent: Intent, text: str) -> bool:
    """Ask the application whether the business has moved on; say whether a text that says why outweighs its no.

    Raises NotAllowedNow where there is no text.
    """
    kind = registry.get(intent.type)
    if kind is None or kind.still_wanted is None:
        return False
    try:
        with transaction.atomic():
            wanted = asking.still_wanted(kind, intent)
    except Exception:  # the application's own code: whatever it raises is no answer
        log.exception("still_wanted failed", extra={"action": "still_wanted", "type": intent.type})
        if text:
            return True
        raise NotAllowedNow(
            _("The application could not say whether this is still wanted. Say in the text why it must go out."),
            word="still_wanted",
            field="reason",
        ) from None
    if not wanted and not text:
        raise NotAllowedNow(
            _("The application says that this is no longer wanted: close it, or say in the text why it must go out."),
            word="still_wanted",
            field="reason",
        )
    return not wanted


def checked_way(step: Step, text: str) -> Order:
    """Give the order with what was typed as it is used. Raises BadReason where something is missing or not readable."""
    order = step.order
    if step.verb == "wait" and order.minutes not in WAIT:
        raise BadReason(REFUSED_BY_THE_DOOR["bounds"], word="bounds", field="minutes")
    if step.verb == "correct":
        return replace(order, address=_address(step.intent.channel, order.address))
    if step.verb == "resend" and order.typed.strip() != step.intent.report_id:
        sentence = _("Type the report ID of this case, to be sure that it is the one you mean.")
        raise BadReason(sentence, word="not_typed", field="typed")
    resends = step.verb == "resend" or (step.verb == "approve" and step.situation.open_request(step.now) is not None)
    if resends and not order.confirmed:
        sentence = _("Confirm that you have read what this resend may cost.")
        raise BadReason(sentence, word="not_confirmed", field="confirmed")
    if resends or step.verb == "retry":
        # The claim asks once more, but of what was outweighed here.
        return replace(order, insists=check_still_wanted(step.intent, text))
    return order


def _address(channel: str, typed: str) -> str:
    """Give the address by the rules of intake. What was typed is never repeated."""
    try:
        return address_for(channel, typed)
    except InvalidAddress as refusal:
        raise BadReason(_(refusal.reason), word="address", field="address") from None

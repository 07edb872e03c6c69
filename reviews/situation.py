"""What the rules need of an intent: read once from its row, its log and what is asked about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.conf import settings
from django.db.models import Case, CharField, F, Func, Value, When

from notifications.models import Intent, LogEntry, Question
from notifications.policy import codes
from notifications.policy.claim import is_prepared_anew
from notifications.policy.windows import Protection, protection
from notifications.states import EntryKind, Known, NextAction, State
from reviews import evidence
from reviews.evidence import Asked
from reviews.holds import Held

# How long a second person has to confirm a resend; the door counts the same.
REQUEST_OPEN: Final = timedelta(minutes=30)
_NOTHING_ASKED: Final = Asked()
# Read with its intent: what is out, or may be, beside the present message (again_v1.sql). Only a case needs it.
EARLIER: Final = Case(
    When(
        state=State.NEEDS_REVIEW,
        then=Func(F("pk"), Value(settings.NOTIFYOPS_SITE_MODE), function="notifyops_private.earlier_v1"),
    ),
    default=Value(""),
    output_field=CharField(),
)
_BLOCKED: Final = {
    codes.ADDRESS_BOUNCED: "bounced",
    codes.ADDRESS_COMPLAINED: "complained",
    codes.ADDRESS_GONE: "gone",
    # The answer itself closed it (SendResult.address_gone).
    **dict.fromkeys(("webhook.gone", "webpush.gone", "twilio.opted_out"), "gone"),
    **dict.fromkeys(("telegram.blocked", "telegram.deactivated", "telegram.kicked", "telegram.chat_not_found"), "gone"),
}
_BLOCKING: Final = frozenset({Known.BOUNCED, Known.SUPPRESSED, Known.COMPLAINED})
_CAME_BACK: Final = frozenset({Known.BOUNCED, Known.SOFT_BOUNCED, Known.SUPPRESSED})


@dataclass(frozen=True, slots=True)
class Request:
    """A resend that one person asked for, and that another one may confirm until `expires_at`."""

    asked_by: str
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Situation:
    """What the rules need of an intent. `retried_by` is the actor of the last retry, `asked_by` the intent's own.

    `attempted`: it was tried at least once. `adopted`: it counts as accepted because a person adopted an answer.
    `corrected_by`: whose correction of an address made it, empty where none did. `replaced`: one with a corrected
    address goes on in its place. `request`: the resend that waits for a second person. `bound_to`: the site mode of its
    frozen bytes, where that is another than this installation's. `bytes_erased`: they are gone. `barred`: why a restore
    lets nobody have it sent once more, `recovering` or `forgotten`; empty where it does. `held`: who has taken the
    case, or had until lately. `earlier`: what is out or may be beside the present message, by the word of the
    database's `earlier_v1`; empty: nothing. `mended`: the account was changed since.
    """

    state: str
    known: str | None
    ambiguous: bool
    safe_until: datetime | None
    manual: bool
    next_action: str | None = None
    retried_by: str | None = None
    asked_by: str | None = None
    attempted: bool = False
    adopted: bool = False
    asked: Asked = _NOTHING_ASKED
    expires_at: datetime | None = None
    snoozed_until: datetime | None = None
    corrected_by: str = ""
    replaced: bool = False
    request: Request | None = None
    bound_to: str = ""
    bytes_erased: bool = False
    barred: str = ""
    held: Held | None = None
    earlier: str = ""
    mended: bool = False
    code: str = ""

    @property
    def block(self) -> str:
        """What has blocked its address, by the case's own word; empty where nothing has."""
        return _BLOCKED.get(self.code, "") or (str(self.known) if self.known in _BLOCKING else "")

    @property
    def may_be_there(self) -> bool:
        """Whether the provider may have the message, so that asking it can tell something."""
        told = self.known in (Known.UNKNOWN, Known.CONFLICT, Known.ACCEPTED) or self.state == State.ACCEPTED
        return self.attempted and (self.ambiguous or told)

    @property
    def proof_answer(self) -> str:
        """What the provider last proved, empty where it proved nothing."""
        return self.asked.proof.answer if self.asked.proof else ""

    @property
    def wants_other_address(self) -> bool:
        """Whether it is the address that keeps it from arriving, and nothing of it may be on its way."""
        if self.known in _CAME_BACK:
            return True
        refused = self.known in (Known.INVALID, Known.NOT_SENT) and not self.ambiguous
        return refused and self.next_action == NextAction.CORRECT_ADDRESS

    @property
    def is_bound_elsewhere(self) -> bool:
        """Whether its bytes cannot go out in this site mode, and no new ones may be made."""
        anew = is_prepared_anew(self.known, ambiguous=self.ambiguous, unusable=True)
        return bool(self.bound_to) and not anew

    @property
    def lacks_its_bytes(self) -> bool:
        """Whether the bytes that may be out are erased, so that no retry can send the same ones."""
        return self.ambiguous and self.bytes_erased

    def is_past_window(self, now: datetime) -> bool:
        """Whether something may have been accepted that no key protects from a second message any more."""
        return self.ambiguous and protection(self.safe_until, now) is not Protection.OPEN

    def is_expired(self, now: datetime) -> bool:
        """Whether the time is over in which it was wanted: the next claim would cancel it."""
        return self.expires_at is not None and self.expires_at <= now

    def is_snoozed(self, now: datetime) -> bool:
        """Whether a person has set it aside, for a time that is not over."""
        return self.state == State.NEEDS_REVIEW and self.snoozed_until is not None and self.snoozed_until > now

    def open_request(self, now: datetime) -> Request | None:
        """Give the resend that a second person may confirm now."""
        request = self.request
        return request if request is not None and request.expires_at > now else None


def situation_of(
    intent: Intent,
    log: Sequence[LogEntry],
    question: Question | None,
    body: tuple[str, bool] | None,
    *,
    replaced: bool = False,
) -> Situation:
    """Give what the rules need of an intent; `log` holds at least what evidence.KINDS names, in order.

    `body`: the site mode in which its present generation was prepared, and whether its bytes are erased; None where
    it was not prepared. What a restore bars is the caller's to add.
    """
    body_mode, bytes_erased = body or ("", False)
    return Situation(
        state=intent.state,
        known=intent.known,
        code=intent.error_code or "",
        ambiguous=intent.first_ambiguous_at is not None,
        safe_until=intent.safe_until,
        manual=intent.manual,
        next_action=intent.next_action,
        retried_by=next((entry.actor for entry in reversed(log) if entry.kind == EntryKind.RETRIED), None),
        asked_by=intent.actor,
        # After a restore the attempts may be forgotten.
        attempted=intent.attempt_count > 0 or intent.error_code == codes.RESTORED,
        adopted=intent.state == State.ACCEPTED and evidence.was_adopted(log),
        asked=evidence.asked(log, intent.generation, question),
        expires_at=intent.expires_at,
        snoozed_until=intent.snoozed_until,
        corrected_by=intent.created_by if intent.is_corrected else "",
        replaced=replaced,
        bound_to=body_mode if body and body_mode != settings.NOTIFYOPS_SITE_MODE else "",
        bytes_erased=bytes_erased,
        earlier=getattr(intent, "earlier", None) or "",
        request=_request(log),
    )


def _request(log: Sequence[LogEntry]) -> Request | None:
    """Give the resend that waits: nobody took it back, and nothing has moved the case since. The door asks the same."""
    counts = (
        entry
        for entry in reversed(log)
        if entry.kind in (EntryKind.RESEND_ASKED, EntryKind.RESEND_DROPPED) or entry.from_state != entry.to_state
    )
    last = next(counts, None)
    if last is None or last.kind != EntryKind.RESEND_ASKED:
        return None
    return Request(last.actor or "", last.at + REQUEST_OPEN)

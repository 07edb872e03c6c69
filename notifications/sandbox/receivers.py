"""What the receiving side does with an accepted message, and how the account hears of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from notifications.sandbox.checks import bare_address
from notifications.sandbox.happening import Happening
from notifications.sandbox.mailbox import Mail
from notifications.sandbox.world import World

# Only here: a message with this tag is carried and shown as usual, but no webhook speaks of it.
QUIET_TAG = ("webhooks", "off")


@dataclass(frozen=True, slots=True)
class Step:
    """One event after `sent`; `after` counts delivery delays."""

    event: str
    after: int
    detail: dict[str, Any]
    suppresses: str | None = None


def _bounce(bounce_type: str, sub_type: str, code: str) -> dict[str, Any]:
    return {
        "bounce": {
            "type": bounce_type,
            "subType": sub_type,
            "message": f"The receiving server answered {code}.",
            "diagnosticCode": [f"smtp; {code}"],
        }
    }


_SUPPRESSED = {
    "suppressed": {
        "reason": "previous_bounce",
        "type": "OnAccountSuppressionList",
        "message": "The address is on the suppression list of this account.",
        "diagnosticCode": [],
    }
}

SCRIPTS: dict[str, tuple[Step, ...]] = {
    "delivered": (Step("email.delivered", 1, {}),),
    "bounced": (
        Step("email.bounced", 1, _bounce("Permanent", "General", "550 5.1.1 no such user"), suppresses="bounce"),
    ),
    "complained": (Step("email.delivered", 1, {}), Step("email.complained", 2, {}, suppresses="complaint")),
    "suppressed": (Step("email.suppressed", 1, _SUPPRESSED),),
    "softbounce": (Step("email.bounced", 1, _bounce("Transient", "MailboxFull", "452 4.2.2 mailbox full")),),
    "delayed": (Step("email.delivery_delayed", 1, {}), Step("email.delivered", 2, {})),
    "failed": (Step("email.failed", 1, {"failed": {"reason": "reached_daily_quota"}}),),
}
"""Test recipients by local part, before any `+label`. The first four are the provider's, the others only ours.

Source: resend.com/docs/dashboard/emails/send-test-emails; shapes: Resend OpenAPI 2026-08-21.
"""


def carry(world: World, mail: Mail) -> None:
    """Take an accepted message on its way: now, or at the time it was scheduled for."""
    if mail.scheduled_at_s is not None:
        _tell(world, mail, "email.scheduled", {})
        await_time(world, mail)
    else:
        _depart(world, mail)


def await_time(world: World, mail: Mail) -> None:
    """Send a scheduled message when its time comes, unless it has been cancelled or moved by then."""
    due_s = mail.scheduled_at_s
    if due_s is None:
        return

    def depart_if_due() -> None:
        if mail.last_event == "scheduled" and mail.scheduled_at_s == due_s:
            _depart(world, mail)

    world.clock.at(due_s, depart_if_due)


def resume(world: World, mail: Mail) -> None:
    """Go on, after a restart, with a message that was still under way."""
    if mail.last_event == "scheduled":
        await_time(world, mail)
    elif mail.last_event == "sent":
        _plan(world, mail)


def cancel(world: World, mail: Mail) -> None:
    """Call a scheduled message back. The API has no event for it."""
    _remember_event(world, mail, "canceled")


def emit(world: World, mail: Mail, event_type: str, detail: dict[str, Any]) -> None:
    """Let an event happen to a message, as the control plane asks."""
    _tell(world, mail, event_type, detail)


def _depart(world: World, mail: Mail) -> None:
    _tell(world, mail, "email.sent", {})
    _plan(world, mail)


def _plan(world: World, mail: Mail) -> None:
    now_s = world.clock.now_s()
    for step, recipient in _steps(world, mail):
        world.clock.at(now_s + step.after * world.knobs.delivery_delay_s, _Arrival(world, mail, step, recipient))


@dataclass(frozen=True, slots=True)
class _Arrival:
    """One planned event; a value rather than a closure, because a busy sandbox holds many thousands."""

    world: World
    mail: Mail
    step: Step
    recipient: str

    def __call__(self) -> None:
        if self.step.suppresses is not None:
            self.world.suppress(self.recipient, self.step.suppresses, self.mail.id)
        _tell(self.world, self.mail, self.step.event, self.step.detail)


def _steps(world: World, mail: Mail) -> Iterator[tuple[Step, str]]:
    """Give each event once, however many recipients would cause it: the API's events do not say whose they are."""
    told: set[str] = set()
    for written in mail.recipients:
        address = bare_address(written).lower()
        local, _, domain = address.rpartition("@")
        name = local.partition("+")[0] if domain in world.knobs.scripted_domains else ""
        script = SCRIPTS["suppressed"] if address in world.suppressions else SCRIPTS.get(name, SCRIPTS["delivered"])
        for step in script:
            if step.event not in told:
                told.add(step.event)
                yield step, address


def _tell(world: World, mail: Mail, event_type: str, detail: dict[str, Any]) -> None:
    _remember_event(world, mail, event_type.removeprefix("email."))
    quiet = mail.tags.get(QUIET_TAG[0]) == QUIET_TAG[1]
    world.announce(Happening(event_type, world.clock.now_s(), mail, detail, to_webhooks=not quiet))


def _remember_event(world: World, mail: Mail, last_event: str) -> None:
    if mail.last_event == last_event:
        # As accepted: the journal knows, and a busy sandbox is spared a write for every message.
        return
    fact = {"fact": "event", "id": mail.id, "last_event": last_event, "scheduled_at_s": mail.scheduled_at_s}
    world.remember(fact)
    mail.last_event = last_event

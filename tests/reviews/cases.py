"""Cases to decide, made by the demo's own stories; and people who decide them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.contrib.auth.models import Group, User
from django.db import connections
from django.test import Client

from notifications.cli import seed
from notifications.models import Intent
from notifications.states import DeliveryStatus, EntryKind, Found, Known, NextAction, Outcome, State
from reviews.record import Order

GROUPS = {"olga": "Operators", "vera": "Viewers", "lena": "Leads", "bob_lead": "Leads", "sam": ""}

UNKNOWN = seed.unknown_thrice()
WINDOW_OVER = seed.window_over()
NOT_SENT = seed.refused_thrice()
RECIPIENT = seed.rejected("resend.422.validation_error", 422, NextAction.CORRECT_ADDRESS)
CONFLICT = seed.attempt(Outcome.CONFLICT, "resend.409.invalid_idempotent_request", State.NEEDS_REVIEW,
                        http_status=409, next_action=NextAction.QUERY_PROVIDER)  # fmt: skip
ABSENT = (*WINDOW_OVER, seed.evidence(Found.NOT_FOUND))
UNDECIDED = (*WINDOW_OVER, seed.evidence(Found.INCONCLUSIVE))
FOUND_TWICE = (*WINDOW_OVER, *seed.contradiction("id-1", "id-2"))
RETRIED = (
    *NOT_SENT,
    seed.Step(EntryKind.RETRIED, {"to_state": State.RETRY, "delay_s": 0.0, "reason_code": "provider_recovered"}),
    *seed.attempt(Outcome.NOT_SENT, "not_sent.dns", State.NEEDS_REVIEW, failure=None,
                  next_action=NextAction.RETRY_SAME_KEY),
)  # fmt: skip
ACCEPTED = seed.accepted(1)
DELIVERED = seed.accepted(2, seed.receipt(DeliveryStatus.DELIVERED))
BOUNCED = seed.accepted(3, seed.receipt(DeliveryStatus.BOUNCED, Known.BOUNCED, NextAction.CORRECT_ADDRESS))
COMPLAINED = seed.accepted(4, seed.receipt(DeliveryStatus.COMPLAINED, Known.COMPLAINED, NextAction.ASK_LEAD))
SUPPRESSED = seed.accepted(5, seed.receipt(DeliveryStatus.SUPPRESSED, Known.SUPPRESSED, NextAction.CORRECT_ADDRESS))
SOFT = seed.accepted(6, seed.receipt(DeliveryStatus.SOFT_BOUNCED, Known.SOFT_BOUNCED, NextAction.RETRY_NEW_KEY))


def make_case(steps: tuple[seed.Step, ...] = NOT_SENT, report_id: str = "", **story: Any) -> Intent:
    """Play a story as the owner; in a test of role `owner` that is the default connection."""
    recipient = story.pop("recipient", "ana@example.com")
    played = replace(seed.Story(report_id or f"r-{uuid4().hex[:10]}", steps), **story)
    intent_id = seed.play(played, using=owner(), recipient=recipient)
    assert intent_id is not None
    return Intent.objects.get(pk=intent_id)


def go_on(intent: Intent, *steps: seed.Step) -> Intent:
    """Append what a worker does next."""
    fence = intent.fence
    for step in steps:
        fence += step.kind is EntryKind.CLAIMED
        seed.append_step(step, intent.pk, fence, owner())
    return Intent.objects.get(pk=intent.pk)


def block(intent: Intent, reason: str = "bounced", mode: str = "sandbox") -> None:
    """Let a provider's word block the address of this notification."""
    with connections[owner()].cursor() as cursor:
        cursor.execute(
            "INSERT INTO notifyops_private.notifications_deliveryblock (channel, commitment, scope, reason, site_mode)"
            " SELECT i.channel, c.commitment, '', %s, %s FROM notifyops_private.notifications_content c"
            " JOIN notifyops_private.notifications_intent i ON i.id = c.intent_id WHERE i.id = %s",
            [reason, mode, intent.pk],
        )


def owner() -> str:
    """Give the alias on which everything may be written: `default`, where the test runs as the owner."""
    from django.conf import settings

    is_owner = connections["default"].settings_dict["USER"] == settings.NOTIFYOPS_ROLES["owner"]
    return "default" if is_owner else "owner"


def make_person(name: str) -> User:
    """Make one of the people, in the group of its role."""
    # Django's own kind of hash, which a served site can check, with one round: its slowness is not what we test.
    password = PBKDF2PasswordHasher().encode("pw", "salt-of-the-tests", iterations=1)
    person = User.objects.create(username=name, password=password, is_staff=name == "lena")
    if GROUPS.get(name):
        person.groups.add(Group.objects.get(name=GROUPS[name]))
    return person


def login(name: str) -> Client:
    """Give a browser in which one of the people is logged in."""
    client = Client()
    client.force_login(User.objects.filter(username=name).first() or make_person(name))
    return client


def order(intent: Intent, code: str = "", text: str = "", token: UUID | None = None) -> Order:
    """Give a decision on the case as it is in `intent`."""
    return Order(token=token or uuid4(), seq=intent.seq, reason_code=code, reason=text)


def post(client: Client, intent: Intent, verb: str, **more: Any) -> Any:
    """Send the form of one verb, with a fresh token and the version in `intent`."""
    headers: Mapping[str, str] = more.pop("headers", {})
    fields = {"action_token": str(uuid4()), "seq": str(intent.seq), "reason_code": "", "reason": ""} | more
    return client.post(f"/reviews/{intent.pk}/{verb}", fields, headers=dict(headers))

"""What the intake takes as a browser's subscription: the same by SQL, by many at once, by Python and by the adapter."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

import pytest
from django.db import connections, transaction
from django.utils import translation
from django.utils.translation import gettext

from notifications import outbox
from notifications.models import Content, ProviderAccount
from notifications.outbox_errors import InvalidRecipient
from notifications.policy.endpoints import address_for, goes_by_account, push_address
from notifications.policy.recipients import InvalidAddress, mask
from notifications.policy.subscriptions import is_pushed
from notifications.providers.base import Unsendable
from notifications.providers.webpush_message import subscription
from tests.providers.candidate_webpush import AUTH, ENDPOINT, P256DH, TO

pytestmark = pytest.mark.django_db(databases=["default", "owner"])

SQL: Final = Path(outbox.__file__).parent / "sql"
KEYS: Final = {"p256dh": P256DH, "auth": AUTH}
# As browsers give it, and as pages that encode the keys themselves do.
JSON: Final = json.dumps({"endpoint": ENDPOINT, "expirationTime": None, "keys": KEYS})
TURNED: Final = json.dumps({"keys": {"auth": AUTH + "==", "p256dh": P256DH + "="}, "endpoint": ENDPOINT, "more": [1.5]})
PLAIN: Final = json.dumps(
    {"endpoint": ENDPOINT, "keys": {name: key.replace("-", "+").replace("_", "/") for name, key in KEYS.items()}}
)
SAME: Final = (TO, f" {TO} ", JSON, TURNED, PLAIN, f" {JSON}\n ", JSON.replace(" ", "\n\t"))
OTHERS: Final = (
    f"https://fcm.googleapis.com/fcm/send/dx:APA91b-_=%3d#{P256DH}.{AUTH}",
    f"https://push.example.com:8443?t=a~b#{P256DH}.{AUTH}",
    f"https://127.0.0.1/p#{P256DH}.{AUTH}",
    "https://push.example.com/".ljust(889, "a") + f"#{P256DH}.{AUTH}",
)


def changed(**parts: Any) -> str:
    return json.dumps({"endpoint": ENDPOINT, "keys": KEYS} | parts)


OFF_CURVE: Final = P256DH[:-2] + "w8"
REFUSED: Final = (
    *(
        "",
        " ",
        "ana@example.com",
        "https://push.example.com/p",
        f"#{TO}",
        "{",
        "{}",
        "[]",
        "null",
        '{"endpoint": 1}',
        JSON[:-1],
    ),
    *(changed(endpoint=None), changed(keys=None), changed(keys=[P256DH, AUTH]), changed(keys={"auth": AUTH})),
    *(changed(endpoint={"a": 1}), changed(keys=KEYS | {"auth": 5}), changed(keys=KEYS | {"auth": ""}), JSON + "x"),
    *(TO.replace("https", "http"), TO.replace("https", "HTTPS"), TO.replace("push.", "Push."), TO.replace("#", "##")),
    *(TO.replace("#", "?#?"), TO.replace("#", " #"), TO.replace("#", "\n#"), TO.replace("push", "ana@push"), TO + "#"),
    *(TO + ".", TO + "=", TO[:-1], TO[:-1] + "h", TO.replace(f".{AUTH}", ""), TO.replace(".BTB", ".BT\u0661")),
    *(f"{ENDPOINT}#{P256DH[:-1]}5.{AUTH}", f"{ENDPOINT}#{P256DH[:-1]}.{AUTH}", f"{ENDPOINT}#{AUTH}.{P256DH}"),
    # The point at infinity, a compressed one, one beside the curve, and one whose x is the prime itself.
    *(f"{ENDPOINT}#{'A' * 87}.{AUTH}", f"{ENDPOINT}#A{P256DH[1:]}.{AUTH}", f"{ENDPOINT}#{OFF_CURVE}.{AUTH}"),
    f"{ENDPOINT}#BP____8AAAABAAAAAAAAAAAAAAAA________________{P256DH[44:]}.{AUTH}",
    *(f"https://[2001:db8::1]/p#{P256DH}.{AUTH}", f"https://push.example.com:0/p#{P256DH}.{AUTH}"),
    *(f"https:///p#{P256DH}.{AUTH}", f"https://push.example.com/é#{P256DH}.{AUTH}", f"https://#{P256DH}.{AUTH}"),
    "https://push.example.com/".ljust(890, "a") + f"#{P256DH}.{AUTH}",
    *(changed(endpoint=ENDPOINT + "\x00"), changed(more="x" * 4000), '{"a":' * 700),
)


@pytest.fixture(autouse=True)
def account(db: None) -> ProviderAccount:
    return ProviderAccount.objects.create(
        name="push", kind="webpush", channel="push", sender="a@example.com", api_key_ref="env:PUSH_KEY"
    )


def told(query: str, *values: Any, using: str = "default") -> Any:
    with connections[using].cursor() as cursor:
        cursor.execute(query, values)
        row = cursor.fetchone()
    return row and row[0]


def kept(text: str) -> str | None:
    """Give what the database keeps of it; None where it refuses."""
    plain = told("SELECT notifyops_private.push_address_v1(%s)", text, using="owner")
    return plain if told("SELECT notifyops_private.subscription_is_plain_v1(%s)", plain, using="owner") else None


@pytest.mark.parametrize("text", SAME, ids=range(len(SAME)))
def test_whatever_form_a_browsers_subscription_has_it_becomes_the_one(text: str) -> None:
    assert push_address(text) == kept(text) == TO
    assert subscription(TO)[0] == ENDPOINT


@pytest.mark.parametrize("text", OTHERS, ids=range(len(OTHERS)))
def test_what_services_use_is_taken_letter_by_letter(text: str) -> None:
    assert push_address(text) == kept(text) == text
    assert subscription(text)[0] == text.partition("#")[0]


@pytest.mark.parametrize("text", REFUSED, ids=range(len(REFUSED)))
def test_anything_else_is_refused_by_all_three_and_not_repeated(text: str) -> None:
    with pytest.raises(InvalidAddress) as refusal:
        push_address(text)
    assert refusal.value.reason.endswith(".")
    assert len(text) < 12 or text not in refusal.value.reason
    with translation.override("zh-hans"):
        assert re.search("[\u4e00-\u9fff]", gettext(refusal.value.reason))
    with pytest.raises(Unsendable):
        subscription(text)
    if "\x00" not in text:
        assert kept(text) is None


@pytest.mark.parametrize("value", [None, 7, {"endpoint": ENDPOINT}])
def test_what_is_no_text_is_no_subscription(value: object) -> None:
    with pytest.raises(InvalidAddress, match="must be text"):
        push_address(value)


@pytest.mark.parametrize("channel", ["push", "push-shop", "pushed", "webhook", "email", ""])
def test_the_database_knows_the_same_channels(channel: str) -> None:
    assert told("SELECT notifyops_private.is_pushed_v1(%s)", channel, using="owner") is is_pushed(channel)
    assert goes_by_account(channel) is (channel in ("push", "push-shop", "webhook"))
    if is_pushed(channel):
        assert address_for(channel, JSON) == TO


def test_people_see_the_host_of_it_alone() -> None:
    assert mask(TO) == mask(TO.replace("/wpush/v2/ana?x=7", "")) == "https://p•••.com"


def test_it_is_kept_in_its_one_form_and_known_again_in_any() -> None:
    for place, text in enumerate((JSON, TURNED, TO)):
        with transaction.atomic():
            made = outbox.enqueue("report_push", report_id="demo-001", to=text, data={"title": "Q3"})
        assert made.created is (place == 0)
    assert [row.recipient for row in Content.objects.all()] == [TO]
    items = [{"notification_type": "report_push", "report_id": "demo-002", "recipient": JSON, "data": {"title": "Q3"}}]
    assert told("SELECT created FROM notifyops.enqueue_many(%s::jsonb)", json.dumps(items)) is True
    first, second = Content.objects.order_by("intent_id")
    assert first.recipient == second.recipient == TO
    # A block knows the browser by this.
    assert bytes(first.commitment) == bytes(second.commitment)


@pytest.mark.parametrize("to", ["ana@example.com", TO.replace("https", "http"), f"{ENDPOINT}#{OFF_CURVE}.{AUTH}"])
def test_no_door_takes_anything_else(to: str) -> None:
    with pytest.raises(InvalidRecipient, match="push subscription"), transaction.atomic():
        outbox.enqueue("report_push", report_id="demo-001", to=to, data={"title": "Q3"})
    item = {"notification_type": "report_push", "report_id": "demo-001", "recipient": to, "data": {"title": "Q3"}}
    for call, value in (
        ("notifyops.enqueue('report_push', 'demo-001', %s, '{\"title\": \"Q3\"}', '{}')", to),
        ("notifyops.enqueue_many(%s::jsonb)", json.dumps([item])),
    ):
        with pytest.raises(Exception, match="not one push subscription") as refusal, transaction.atomic():
            told(f"SELECT count(*) FROM {call}", value)
        assert to not in str(refusal.value)
    assert not Content.objects.exists()


def test_the_way_back_leaves_what_the_intake_calls_and_the_way_forth_makes_it_anew() -> None:
    """The intake itself is left as it is by a migration's way back: without them it would take nothing at all."""
    item = {"notification_type": "report_ready", "report_id": "demo-001", "recipient": "ana@example.com"}
    items = json.dumps([item | {"data": {"title": "Q3"}}])
    with connections["owner"].cursor() as cursor:
        cursor.execute(
            "INSERT INTO notifyops_private.notifications_workspacegrant (role, workspace) VALUES (session_user, '*')"
            " ON CONFLICT DO NOTHING"
        )
        for name in ("push_v1.reverse", "push_v1"):
            cursor.execute((SQL / f"{name}.sql").read_text("utf-8"))
            cursor.execute("SELECT cardinality(notifyops_private.wishes_v1(%s::jsonb, now()))", [items])
            assert cursor.fetchone() == (1,)

"""Whatever is posted with a good signature is answered by 200, kept as words of a catalogue, and applied."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from notifications.models import ProviderEvent
from notifications.receipts.parse import SAYS
from tests.receipts.post import Provider, kept, parked, stands

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
MARK = "leak-ana@example.com"
SCRAPS: tuple[Any, ...] = (
    *(None, True, 0, -1, 1.5, 2**63 - 1, 2**63, 10**300, "", "\x00", "\ud800", MARK, MARK * 50, [], {}, [[]], "1"),
    *("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "2199-12-31T23:59:59-23:59", "email.bounced", "test"),
    *({"name": "site", "value": "test"}, [{"name": MARK}, MARK], {MARK: MARK}, "Permanent", "5.1.1 " + MARK),
)
COUNT = 100
PARTS = ("email_id", "to", "tags", "bounce", "failed", "suppressed", "created_at", "subject")


def hostile(chance: random.Random, intent: int) -> bytes:
    """Give one body: bytes of no meaning, JSON without end, or an event with something wrong in every field."""
    pick = chance.random()
    if pick < 0.15:
        return chance.randbytes(chance.randrange(400))
    if pick < 0.25:
        return chance.choice((b"[", b'{"data":', b"9", b'{"data":[')) * chance.randrange(1, 6000)
    some = lambda: chance.choice(SCRAPS)  # noqa: E731
    tags = {"site": chance.choice(("test", some())), "intent": chance.choice((str(intent), intent, some())),
            "generation": chance.choice(("1", 2, 40_000, some())), "root": some()}  # fmt: skip
    data: Any = {name: some() for name in PARTS if chance.random() < 0.7} | {"tags": chance.choice((tags, some()))}
    data["bounce"] = {"type": some(), "subType": some(), "diagnosticCode": chance.choice((some(), [some(), some()]))}
    event = {"type": chance.choice((*SAYS, some())), "created_at": some(), "data": chance.choice((data, data, some()))}
    text = json.dumps(event, ensure_ascii=chance.random() < 0.5)
    return text.encode(chance.choice(("utf-8", "utf-16", "utf-32")), "surrogatepass")


def test_hostile_bodies_are_kept_as_words_and_applied_without_a_fault(provider: Provider) -> None:
    intent = provider.accepted()
    chance = random.Random(20261201)
    bodies = [hostile(chance, intent) for _ in range(COUNT)]
    answers = {provider.post(body) for body in bodies}
    assert (answers, kept()) == ({200}, COUNT)
    fields = [field.attname for field in ProviderEvent._meta.concrete_fields if field.attname != "raw_sha256"]
    for row in ProviderEvent.objects.values_list(*fields):
        assert "leak" not in repr(row)
        assert "example" not in repr(row)
    provider.apply()
    while parked():
        provider.place.later(86_400)
        provider.apply()
    assert provider.place.sql("SELECT * FROM notifyops_private.verify_v1(0, 1000000)") == []
    assert stands(intent)[0] in ("accepted", "needs_review")

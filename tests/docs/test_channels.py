"""What the pages of the channels say is what the adapters declare."""

from __future__ import annotations

import re

import pytest

from notifications.policy.text_codes import TELEGRAM_CODES, TWILIO_CODES
from notifications.providers.base import Capabilities
from tests.docs.test_pages import page, section
from tests.providers.candidates import CANDIDATES


def row(kind: str, declared: Capabilities) -> list[str]:
    repeat: str = declared.idempotency
    if declared.idempotency_window is not None:
        repeat += f", {declared.idempotency_window.total_seconds() / 3600:g} h"
    return [f"`{kind}`", repeat, ", ".join(sorted(declared.lookup)) or "–", ", ".join(sorted(declared.receipts)) or "–"]


def test_the_table_of_promises_is_the_adapters() -> None:
    table = section(page("add-a-provider.md"), "What ours declare")
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.strip().splitlines()[2:]]
    assert sorted(rows) == sorted(row(one.kind, one.open(9).capabilities) for one in CANDIDATES)


@pytest.mark.parametrize(("name", "known"), [("sms.md", TWILIO_CODES), ("telegram.md", TELEGRAM_CODES)])
def test_every_code_that_a_page_names_is_one_and_every_refusal_is_named(name: str, known: dict[str, str]) -> None:
    kind = next(iter(known)).partition(".")[0]
    named = set(re.findall(rf"`({kind}\.[a-z_]+)`", page(name)))
    assert named <= set(known)
    transient = {code for code in known if code.endswith(("failed", "unavailable", "malformed_response", "redirected"))}
    waits = {"twilio.too_many", "twilio.queue_full", "twilio.not_sms", "telegram.not_telegram"}
    assert set(known) - transient - waits <= named

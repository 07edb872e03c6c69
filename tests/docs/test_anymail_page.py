"""The page of the mail services says what the code does: the table of services, the names, the example."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from notifications.providers.esp_answers import NAMES
from notifications.providers.esps import ESPS, Esp
from notifications.providers.kinds import Kind, kinds

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "anymail.md").read_text(encoding="utf-8")


def row(esp: Esp) -> str:
    window = esp.capabilities.idempotency_window
    retention = esp.capabilities.lookup_retention
    options = ", ".join(f"{name} (needed)" if name in esp.wanted else name for name in esp.options)
    cells = (
        f"`{esp.name}`",
        ":".join(esp.secrets),
        options or "–",
        f"{window.total_seconds() / 60:.0f} minutes" if window else "no",
        f"{retention.days} days" if retention else "no",
        "yes" if esp.capabilities.receipts else "no",
        esp.marks,
    )
    return f"| {' | '.join(cells)} |"


def test_the_table_of_services_is_the_codes() -> None:
    table = [line for line in PAGE.splitlines() if re.match(r"\| `\w+` \|(?: [^|]+\|){6}$", line)]
    assert table == [row(esp) for esp in ESPS]
    assert {esp.name for esp in ESPS} <= set(kinds())
    assert all(esp.url in PAGE for esp in ESPS if esp.name not in ("postal", "postmark", "mailgun"))


def test_every_name_of_an_answer_is_explained() -> None:
    section = PAGE[PAGE.index("## What an answer means") : PAGE.index("## Receipts")]
    assert set(NAMES) <= set(re.findall(r"`([a-z_]+)`", section))


def test_receipts_are_promised_where_they_are_read() -> None:
    from notifications.receipts.esp_events import READERS
    from notifications.receipts.esp_verify import PROOFS

    promised = {esp.name for esp in ESPS if esp.capabilities.receipts}
    assert promised == set(READERS) == set(PROOFS)


def test_the_example_makes_a_kind() -> None:
    (block,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    made: dict[str, Any] = {}
    exec(compile(block, "anymail.md", "exec"), made)  # noqa: S102 - the page is ours
    assert isinstance(made["KIND"], Kind)

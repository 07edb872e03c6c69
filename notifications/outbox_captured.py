"""For the tests of a host project: see what the code under test owes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.db.models import Max

from notifications.models import Content, Intent


@dataclass(frozen=True, slots=True)
class Captured:
    """One notification that stands in the database since the box was opened.

    `attachments` are what is kept beside their bytes: name, media_type, size, sha256, and url where it has one.
    """

    notification_id: str
    notification_type: str
    report_id: str
    to: str
    data: Mapping[str, Any]
    workspace: str
    attachments: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True, repr=False)
class Box:
    """The notifications owed since it was opened, read anew at each look: what was rolled back is not among them."""

    after_id: int
    using: str

    def __iter__(self) -> Iterator[Captured]:
        rows = Content.objects.using(self.using).filter(intent_id__gt=self.after_id)
        for row in rows.select_related("intent").order_by("intent_id"):
            intent = row.intent
            yield Captured(
                intent.notification_id,
                intent.type,
                intent.report_id,
                row.recipient or "",
                row.data or {},
                intent.workspace,
                tuple(row.attachments or ()),
            )

    def __repr__(self) -> str:
        return f"Box({list(self)!r})"

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __getitem__(self, index: int) -> Captured:
        return list(self)[index]


@contextmanager
def captured(using: str = "default") -> Iterator[Box]:
    """For the tests of a host project: see what the code under test owes, by whatever door it came.

    All checks of the real intake apply, and nothing is delivered: a test database has no worker.
    """
    newest = Intent.objects.using(using).aggregate(Max("id"))["id__max"] or 0
    yield Box(newest, using)

"""`/types`: what can be enqueued here, and which data each type wants."""

from __future__ import annotations

from typing import Any, Literal

from ninja import Router, Schema
from pydantic import Field

from notifications.api.gate import Gate
from notifications.api.intents import Asker
from notifications.models import NotificationTypeRow
from notifications.types import registry


class DataField(Schema):
    """One key of a type's `data`."""

    type: str = Field(examples=["string"])
    required: bool


class Type(Schema):
    """One type of notifications. With `approval` required a person releases each, and `options.actor` is wanted."""

    name: str = Field(examples=["report_ready"])
    channel: str = Field(examples=["email"])
    approval: Literal["none", "required"]
    data: dict[str, DataField]


class Types(Schema):
    """All types that are taken now, by name."""

    items: list[Type]


router = Router(tags=["types"])


@router.get("", response=Types, auth=Gate("enqueue"), summary="What can be enqueued")
def types(request: Asker) -> dict[str, Any]:
    """Give the types that this installation declares and takes now, by name."""
    taken = {row.name: row for row in NotificationTypeRow.objects.filter(enabled=True)}
    kinds = sorted((kind for kind in registry if kind.name in taken), key=lambda kind: kind.name)
    items = [
        {
            "name": kind.name,
            "channel": kind.channel,
            "approval": taken[kind.name].approval,
            "data": {key: {"type": form, "required": required} for key, (form, required) in kind.fields().items()},
        }
        for kind in kinds
    ]
    return {"items": items}

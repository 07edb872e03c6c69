"""`/previews`: what a message would look like."""

from __future__ import annotations

from ninja import Router

from notifications.api.gate import Gate
from notifications.api.intents import Asker
from notifications.api.problems import Problem
from notifications.api.schemas import Preview, PreviewWish
from notifications.outbox_errors import SchemaError
from notifications.outbox_json import holds_all, plain
from notifications.preview import preview
from notifications.providers.base import Unsendable
from notifications.types import registry

router = Router(tags=["previews"])


@router.post("", response=Preview, auth=Gate("enqueue"), summary="See it first")
def show(request: Asker, body: PreviewWish) -> Preview:
    """Render a type with data. Sends and writes nothing."""
    kind = registry.get(body.notification_type)
    if kind is None:
        raise Problem("unknown_type", "This installation declares no such type.", field_="notification_type")
    data = plain(body.data, "data")
    wrong = kind.problems(data)
    if wrong:
        wants = ", ".join(f"{key} as {kind.fields()[key][0]}" for key in wrong)
        raise SchemaError("data does not fit the type", hint=f"It wants {wants}.", field=f"data.{wrong[0]}")
    if not all(holds_all(text) for text in (body.report_id, body.locale or "")):
        raise Problem("invalid", "report_id or locale has a character that cannot be kept.", field_="report_id")
    try:
        seen = preview(kind, data, report_id=body.report_id, locale=body.locale)
    except Unsendable as refusal:
        raise Problem("invalid", f"The type's templates cannot be rendered ({refusal.code}).") from None
    parts = seen.rendered
    return Preview(
        type=kind.name,
        subject=parts.subject,
        text=parts.text,
        html=parts.html,
        template_version=parts.template_version,
        warnings=seen.warnings,
    )

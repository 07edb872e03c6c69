"""What a message would look like: rendered from a type's templates, sent to nobody, written nowhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.utils.translation import gettext as _

from notifications.delivery.render import Rendered, render, unfilled
from notifications.types import NotificationType

# RFC 5322 section 2.1.1: no line of a message may be longer.
LONGEST_LINE: Final = 998
LONG_SUBJECT: Final = 78  # the same section's advice; most inboxes show less
_SAMPLES: Final[Mapping[str, Any]] = {"number": 3, "boolean": True, "array": ["one", "two"], "object": {}}


@dataclass(frozen=True, slots=True)
class Preview:
    """The rendered parts, and what somebody should look at before anything is sent."""

    rendered: Rendered
    warnings: list[str]


def preview(kind: NotificationType, data: Mapping[str, Any], *, report_id: str, locale: str | None) -> Preview:
    """Render a type with data that fits its schema. Raises Unsendable where its templates cannot be rendered."""
    rendered = render(kind, data, report_id=report_id, locale=locale)
    return Preview(rendered, [*_warnings(kind, data, rendered), *_missing(kind, locale)])


def sample(kind: NotificationType) -> dict[str, Any]:
    """Give made-up data that fits the type's schema."""
    return {key: _SAMPLES.get(form, f"Example of {key}") for key, (form, _required) in kind.fields().items()}


def _missing(kind: NotificationType, locale: str | None) -> list[str]:
    names = unfilled(kind, locale)
    said = _("the templates print %(name)s, which no data of this type gives: it stays empty")
    return [said % {"name": name} for name in names]


def _warnings(kind: NotificationType, data: Mapping[str, Any], rendered: Rendered) -> list[str]:
    strange = sorted(set(data) - set(kind.fields()))
    found = [_("data.%(key)s is not in the type's schema") % {"key": key} for key in strange]
    count = len(rendered.subject)
    if not rendered.subject:
        found.append(_("the subject is empty, so this would stop for a person"))
    elif count > LONGEST_LINE:
        said = _("the subject has more than %(most)s characters, so this would stop for a person")
        found.append(said % {"most": LONGEST_LINE})
    elif count > LONG_SUBJECT:
        said = _("the subject has %(count)s characters; most inboxes show %(most)s at most")
        found.append(said % {"count": count, "most": LONG_SUBJECT})
    if not rendered.text.strip() and not (rendered.html or "").strip():
        found.append(_("the body is empty, so this would stop for a person"))
    elif not rendered.text.strip():
        found.append(_("there is no text part: readers without HTML see nothing"))
    return found

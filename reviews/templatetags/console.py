"""How times, badges and ids look on every page."""

from __future__ import annotations

from datetime import datetime

from django import template
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from reviews import hints
from reviews.words import Badge

register = template.Library()


@register.simple_tag
def when(at: datetime | None, now: datetime) -> SafeString | str:
    """Give a moment as UTC with its age; both as text, since a title is out of reach on a phone."""
    if at is None:
        return "–"
    return format_html(
        '<time datetime="{}">{} UTC</time> <span class="age">{}</span>',
        at.isoformat(),
        f"{at:%Y-%m-%d %H:%M:%S}",
        age(at, now),
    )


@register.simple_tag
def verb_url(verb: str, intent_id: int) -> str:
    """Give the address of a verb on one case."""
    return reverse(f"reviews:{verb}", args=[intent_id])


@register.simple_tag
def age(at: datetime, now: datetime) -> str:
    """Give how long ago a moment was, or how far ahead it is."""
    if at > now:
        return _("in %(span)s") % {"span": hints.span(at - now)}
    return _("%(span)s ago") % {"span": hints.span(now - at)}


@register.simple_tag
def badge(found: Badge | None) -> SafeString | str:
    """Give a word with its icon and tone."""
    if found is None:
        return "–"
    return format_html(
        '<span class="badge {}"><span class="icon" aria-hidden="true">{}</span>{}</span>',
        found.tone,
        found.icon,
        found.word,
    )

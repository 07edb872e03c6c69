"""How times, badges and ids look on every page."""

from __future__ import annotations

import re
from datetime import datetime
from functools import lru_cache
from typing import Final

from django import template
from django.conf import settings
from django.templatetags.static import static
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

from reviews import hints, icons, news, times
from reviews.standing import Standing
from reviews.words import Badge

register = template.Library()
_PARTS: Final = re.compile(r"[^._]*[._]+|[^._]+")


@register.simple_tag
def when(at: datetime | None, now: datetime) -> SafeString | str:
    """Give a moment in the reader's zone with its age; both as text, since a title is out of reach on a phone."""
    if at is None:
        return "–"
    return format_html('{} <span class="age">{}</span>', moment(at, "%Y-%m-%d %H:%M:%S"), age(at, now))


@register.simple_tag
def moment(at: datetime, form: str) -> SafeString:
    """Give a moment in the reader's zone, whose day a narrow column does not break at its hyphens."""
    day, _space, rest = times.clock(at, form).partition(" ")
    return format_html('<time datetime="{}"><span>{}</span> {}</time>', at.isoformat(), day, rest)


@register.filter
def clock(at: datetime, form: str = "%H:%M:%S") -> str:
    """Give a moment in the reader's zone, with the zone."""
    return times.clock(at, form)


@register.filter
def breakable(code: str) -> SafeString:
    """Give a code that a narrow column breaks behind its dots and underscores, and nowhere in a word."""
    return format_html_join(mark_safe("<wbr>"), "{}", ((part,) for part in _PARTS.findall(code)))


@register.simple_tag
def faulty(bad: str, name: str, place: str, described_by: str = "") -> SafeString:
    """Give the attributes of a form's field: that it is the one at fault, has the focus, and which texts explain it.

    `bad` names the field that was refused, empty where none was; `place` makes the form's ids its own.
    """
    if bad != name:
        return format_html(' aria-describedby="{}"', described_by) if described_by else mark_safe("")
    ids = f"fault-{place} {described_by}".strip()
    return format_html(' aria-invalid="true" autofocus aria-describedby="{}"', ids)


@register.simple_tag
def fault(bad: str, name: str, place: str, sentence: str) -> SafeString:
    """Give what is to be mended in a field, beside it."""
    if bad != name:
        return mark_safe("")
    return format_html('<small class="fault" id="fault-{}">{}</small>', place, sentence)


@register.simple_tag
def verb_url(verb: str, intent_id: int) -> str:
    """Give the address of a verb on one case."""
    return reverse(f"reviews:{verb}", args=[intent_id])


@register.simple_tag
def news_url(live: news.Live, standing: Standing) -> str:
    """Give the address at which a page asks what is new."""
    return news.ask_url(live, standing)


@register.simple_tag
def age(at: datetime, now: datetime) -> str:
    """Give how long ago a moment was, or how far ahead it is."""
    if at > now:
        return _("in %(span)s") % {"span": hints.span(at - now)}
    return _("%(span)s ago") % {"span": hints.span(now - at)}


@register.simple_tag
def icon(name: str) -> SafeString:
    """Give a shape of the sprite; it stands beside a word that says the same, so that nobody needs it."""
    return _shape(name, settings.STATIC_URL)


# A page of the queue holds some two hundred, of a dozen kinds.
@lru_cache(maxsize=256)
def _shape(name: str, _static_url: str) -> SafeString:
    return format_html(
        '<svg class="icon" width="16" height="16" aria-hidden="true"><use href="{}#{}"/></svg>',
        static("icons.svg"),
        name,
    )


@register.simple_tag
def icon_of(word: str) -> SafeString | str:
    """Give the icon of a verb, a suggested action or a risk by its slug."""
    name = icons.of(word)
    return icon(name) if name else ""


@register.simple_tag
def badge(found: Badge | None) -> SafeString | str:
    """Give a word with its icon and tone."""
    if found is None:
        return "–"
    return format_html('<span class="badge {}">{}{}</span>', found.tone, icon(found.icon), found.word)

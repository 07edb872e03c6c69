"""Render a notification's templates, in the nearest language; the files are read once a process."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.template import Context, Template, TemplateDoesNotExist, TemplateSyntaxError, engines
from django.template.base import NodeList, Variable, VariableNode
from django.template.defaulttags import ForNode, WithNode
from django.utils import translation

from notifications.delivery.inlined import with_styles
from notifications.policy import codes
from notifications.providers.base import Unsendable
from notifications.types import NotificationType, Registry

_PLAIN_LANGUAGE = "en"
_AS_IT_IS = contextlib.nullcontext()
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


@dataclass(frozen=True, slots=True)
class Rendered:
    """The parts of one message. `template_version` names the exact sources that it was rendered from."""

    subject: str
    text: str
    html: str | None
    template_version: str
    short: str | None = None


@dataclass(frozen=True, slots=True)
class _Sources:
    subject: Template
    text: Template
    html: Template | None
    version: str
    short: Template | None = None


def plain_language() -> contextlib.AbstractContextManager[None]:
    """Set the language of messages that name none, for a run of `freeze`: finding it out for each costs too much."""
    return translation.override(_PLAIN_LANGUAGE)


def render(kind: NotificationType, data: Mapping[str, Any], *, report_id: str, locale: str | None = None) -> Rendered:
    """Render the type's templates. Raises Unsendable where the data does not fit or a template fails."""
    with plain_language():
        return rendered_by(kind, data, report_id=report_id, locale=locale, short=True)


def rendered_by(
    kind: NotificationType, data: Mapping[str, Any], *, report_id: str, locale: str | None, short: bool
) -> Rendered:
    """Render the parts, the short one on request; only inside `plain_language`. Raises Unsendable."""
    if kind.problems(data):
        raise Unsendable(codes.INVALID_DATA)
    try:
        sources = _sources(kind.template, _folder(locale))
        values = {**data, "report_id": report_id}
        with translation.override(locale) if locale and locale != _PLAIN_LANGUAGE else _AS_IT_IS:
            subject, text, html = _parts(sources, values)
            brief = _brief(sources, values) if short else None
    except Exception as error:  # a template may raise anything at all; one message must not stop the loop
        raise Unsendable(codes.INVALID_DATA) from error
    line = subject if subject.isprintable() else _CONTROL.sub(" ", subject)
    return Rendered(line.strip(), text, html, sources.version, brief)


def unfilled(kind: NotificationType, locale: str | None) -> list[str]:
    """Name what the templates print and neither the type's data nor they themselves give: it would be left empty."""
    sources = _sources(kind.template, _folder(locale))
    found: set[str] = set()
    for part in (sources.subject, sources.text, sources.html, sources.short):
        if part is not None:
            found |= _printed(part.nodelist) - _given(part.nodelist)
    return sorted(found - set(kind.fields()) - {"report_id"})


def _printed(nodes: NodeList) -> set[str]:
    """Give the first names of what is printed; of constants there is none."""
    printed = [node.filter_expression.var for node in _of_type(nodes, VariableNode)]
    return {var.lookups[0] for var in printed if isinstance(var, Variable) and var.lookups}


def _given(nodes: NodeList) -> set[str]:
    """Give what loops and `with` name for what stands in them."""
    loops = [name for node in _of_type(nodes, ForNode) for name in (*node.loopvars, "forloop")]
    return {*loops, *(name for node in _of_type(nodes, WithNode) for name in node.extra_context)}


def _of_type(nodes: NodeList, kind: type[Any]) -> list[Any]:
    return list(nodes.get_nodes_by_type(kind))


def _parts(sources: _Sources, values: dict[str, Any]) -> tuple[str, str, str | None]:
    """Render subject, text and HTML with one context: making one costs as much as rendering a part."""
    context = Context(values, autoescape=False)
    with context.bind_template(sources.text):
        subject, text = _part(sources.subject, context), _part(sources.text, context)
        if sources.html is None:
            return subject, text, None
        context.autoescape = True
        return subject, text, with_styles(_part(sources.html, context))


def _brief(sources: _Sources, values: dict[str, Any]) -> str | None:
    """Render the short text, where the type has one; its file's last line break is no part of it."""
    if sources.short is None:
        return None
    return str(sources.short.render(Context(values, autoescape=False))).strip()


def _part(template: Template, context: Context) -> str:
    with context.push():  # what a part sets for itself, the next one does not see
        return str(template.render(context))


def warm(types: Registry) -> None:
    """Read every type's templates now: the first of a process costs half a second, which no claim should hold open."""
    for kind in types:
        unreadable(kind)


def unreadable(kind: NotificationType) -> str:
    """Say why the type's plain templates cannot be read; empty where they can."""
    try:
        _sources(kind.template, "")
    except (TemplateDoesNotExist, TemplateSyntaxError) as error:
        return str(error)
    return ""


def _folder(locale: str | None) -> str:
    return (locale or "").lower()


@functools.lru_cache(maxsize=256)
def _sources(template: str, locale: str) -> _Sources:
    """Read a type's templates in the nearest language: `zh-hans-cn`, then `zh-hans`, then `zh`, then the plain ones."""
    parts = locale.split("-") if locale else []
    folders = [f"{template}/{'-'.join(parts[:count])}" for count in range(len(parts), 0, -1)] + [template]
    subject = _first(folders, "subject.txt")
    text = _first(folders, "body.txt")
    if subject is None or text is None:
        raise TemplateDoesNotExist(f"{template}/subject.txt and body.txt")
    html, short = _first(folders, "body.html"), _first(folders, "short.txt")
    digest = hashlib.sha256()
    for part in (subject, text, html, *([short] if short else [])):
        digest.update(b"\0" if part is None else str(part.source).encode())
    return _Sources(subject, text, html, digest.hexdigest()[:12], short)


def _first(folders: list[str], name: str) -> Template | None:
    for folder in folders:
        try:
            found: Any = engines["django"].get_template(f"{folder}/{name}")
        except TemplateDoesNotExist:
            continue
        return found.template  # type: ignore[no-any-return]
    return None

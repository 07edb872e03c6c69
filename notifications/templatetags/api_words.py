"""How the texts of the API's description look on its page."""

from __future__ import annotations

import re
from typing import Final

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

register = template.Library()
_CODE: Final = re.compile(r"`([^`]+)`")


@register.filter(is_safe=True)
def coded(text: str) -> SafeString:
    """Show what stands between backticks as code; all else is escaped."""
    parts = _CODE.split(text)  # every second one stood between backticks
    return format_html_join(
        "", "{}", ((format_html("<code>{}</code>", one) if n % 2 else one,) for n, one in enumerate(parts))
    )

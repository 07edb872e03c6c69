"""Styles of a message's HTML, moved to where mail programs look for them: many read no style sheet at all."""

from __future__ import annotations

import functools
import re
from typing import Final

import css_inline

_HAS_STYLES: Final = re.compile("<style", re.IGNORECASE)


def with_styles(html: str) -> str:
    """Give the HTML with the rules of its `<style>` in the elements' own `style`; without one it stays as it is.

    What cannot stand in an element (media queries, `:hover`) is left in `<style>`. Nothing is read from elsewhere.
    """
    return _inliner().inline(html) if _HAS_STYLES.search(html) else html


@functools.cache
def _inliner() -> css_inline.CSSInliner:
    return css_inline.CSSInliner(
        load_remote_stylesheets=False, keep_style_tags=True, remove_inlined_selectors=True, keep_link_tags=True
    )

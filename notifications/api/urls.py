"""Addresses below /api/v1, but for the providers' own."""

from __future__ import annotations

from django.urls import URLPattern, path, re_path

from notifications.api import pages, push
from notifications.api.gate import roomed
from notifications.api.v1 import api


def _calls() -> list[URLPattern]:
    found = [pattern for pattern in api.urls[0] if isinstance(pattern, URLPattern) and pattern.name != "api-root"]
    for pattern in found:
        pattern.callback = roomed(pattern.callback)
    return found


urlpatterns = [
    path("openapi.json", pages.document, name="api-openapi"),
    path("docs", pages.docs, name="api-docs"),
    path("push/key", push.key, name="api-push-key"),
    *_calls(),
    re_path(r"^(?!providers/)", pages.nothing),
]

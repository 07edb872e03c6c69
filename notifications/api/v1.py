"""The API as one object: its routers, its answers to errors, its description."""

from __future__ import annotations

from typing import Any, Final

from django.http import HttpRequest
from ninja import NinjaAPI
from ninja.parser import Parser

from notifications.api import intents, openapi, outcomes, previews, refusals, types


class Parsed(Parser):
    """Gives the body that the gate has read already."""

    def parse_body(self, request: HttpRequest) -> Any:
        """Give the document."""
        return request.document  # type: ignore[attr-defined]


api: Final = NinjaAPI(
    title="notifyops",
    version="1",
    description=openapi.DESCRIPTION,
    openapi_url=None,
    docs_url=None,
    urls_namespace="api-v1",
    parser=Parsed(),
)
api.add_router("/intents", intents.router)
api.add_router("/previews", previews.router)
api.add_router("/types", types.router)
api.add_router("/outcomes", outcomes.router)
refusals.install(api)

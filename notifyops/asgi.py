"""The console and the API under ASGI: `python -m uvicorn notifyops.asgi:application --lifespan off`."""

from __future__ import annotations

import json
import os

from django.core.asgi import get_asgi_application

from notifyops.bodies import Refusal, limited

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "notifyops.settings")
os.environ["NOTIFYOPS_PROCESS"] = "served"
_django = get_asgi_application()

from django.conf import settings  # noqa: E402 - only now are there settings to read

# The problem `too_large` of the API, which knows its own words, but too late.
_TOO_LARGE = {
    "type": "/api/v1/docs#problem-too_large",
    "title": "The request is too large",
    "status": 413,
    "code": "too_large",
    "detail": f"The body has more than {settings.DATA_UPLOAD_MAX_MEMORY_SIZE} bytes.",
    "hint": "Put large content behind a link; split a batch.",
}
_refusal = Refusal(json.dumps(_TOO_LARGE).encode(), b"application/problem+json")
# What strangers may post to must not fill our disk. A form of the console has some hundred bytes.
_page = Refusal(b"The request is too large. Nothing was done.\n", b"text/plain; charset=utf-8")
_pages = limited(_django, prefix="/", most=settings.DATA_UPLOAD_MAX_MEMORY_SIZE, refusal=_page)
_api = limited(_pages, prefix="/api/v1/", most=settings.DATA_UPLOAD_MAX_MEMORY_SIZE, refusal=_refusal)
application = limited(_api, prefix="/api/v1/providers/", most=settings.NOTIFYOPS_RECEIPT_BYTES)

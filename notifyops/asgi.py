"""The console and the API under ASGI: `python -m uvicorn notifyops.asgi:application --lifespan off`."""

from __future__ import annotations

import os

from django.core.asgi import get_asgi_application

from notifyops.bodies import limited

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "notifyops.settings")
_django = get_asgi_application()

from django.conf import settings  # noqa: E402 - only now are there settings to read

# What strangers may post to must not fill our disk.
application = limited(_django, prefix="/api/v1/providers/", most=settings.NOTIFYOPS_RECEIPT_BYTES)

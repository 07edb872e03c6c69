"""The console and the API under ASGI: `python -m uvicorn notifyops.asgi:application --lifespan off`."""

from __future__ import annotations

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "notifyops.settings")
application = get_asgi_application()

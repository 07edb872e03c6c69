"""The console and the API under WSGI, for servers that know no ASGI; live streams fall back to polling there."""

from __future__ import annotations

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "notifyops.settings")
os.environ["NOTIFYOPS_PROCESS"] = "served"
application = get_wsgi_application()

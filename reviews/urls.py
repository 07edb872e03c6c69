"""One verb, one URL."""

from __future__ import annotations

from django.urls import URLPattern

app_name = "reviews"
urlpatterns: list[URLPattern] = []

"""The address that providers send their events to."""

from __future__ import annotations

from django.urls import path

from notifications.receipts import views

urlpatterns = [path("providers/<slug:account>/events", views.events, name="provider-events")]

"""One verb, one URL. Verbs have no trailing slash."""

from __future__ import annotations

from django.urls import path

from reviews import views
from reviews.models import VERBS

app_name = "reviews"
urlpatterns = [
    path("", views.queue, name="queue"),
    path("<int:intent_id>/", views.show, name="case"),
    *(path(f"<int:intent_id>/{verb}", views.decide, {"verb": verb}, name=verb) for verb in VERBS),
]

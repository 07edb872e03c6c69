"""One verb, one URL. Verbs have no trailing slash."""

from __future__ import annotations

from django.urls import path

from reviews import live, pauses, runs_page, team_pages, team_views, views
from reviews.bulk import views as bulk
from reviews.models import VERBS

app_name = "reviews"
urlpatterns = [
    path("", views.queue, name="queue"),
    path("groups/", bulk.groups, name="groups"),
    path("bulk/new", bulk.new, name="bulk_new"),
    path("bulk/<int:bulk_id>/", bulk.show, name="bulk"),
    path("bulk/<int:bulk_id>/start", bulk.start, name="bulk_start"),
    path("bulk/<int:bulk_id>/<slug:word>", bulk.steer, name="bulk_steer"),
    path("runs/", runs_page.index, name="runs"),
    path("runs/<int:run_id>/", runs_page.show, name="run"),
    path("runs/<int:run_id>/<slug:word>", runs_page.steer, name="steer_run"),
    path("pauses/", pauses.show, name="pauses"),
    path("pauses/pause", pauses.begin, name="pause"),
    path("pauses/<int:pause_id>/resume", pauses.end, name="end_pause"),
    path("pauses/accounts/<int:account_id>/close", pauses.close, name="close_circuit"),
    path("watching/", team_pages.watch, name="watching"),
    path("log/", team_pages.log, name="log"),
    path("log/export", team_pages.export_log, name="export_log"),
    path("stats/", team_pages.figures, name="stats"),
    path("help/", team_pages.explain, name="help"),
    path("live", live.live, name="live"),
    path("next", team_views.take_next, name="next"),
    path("views", team_views.save_view, name="save_view"),
    path("views/<int:view_id>/delete", team_views.delete_view, name="delete_view"),
    path("<int:intent_id>/", views.show, name="case"),
    path("<int:intent_id>/beat", team_views.beat, name="beat"),
    path("<int:intent_id>/before", team_views.neighbour, {"way": "before"}, name="before"),
    path("<int:intent_id>/after", team_views.neighbour, {"way": "after"}, name="after"),
    path("<int:intent_id>/answers", views.answers, name="answers"),
    path("<int:intent_id>/outcome", views.outcome, name="outcome"),
    *(path(f"<int:intent_id>/{verb}", views.decide, {"verb": verb}, name=verb) for verb in VERBS),
]

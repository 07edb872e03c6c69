"""Every address of the site."""

from __future__ import annotations

from django.contrib import admin
from django.contrib.auth.views import LogoutView
from django.templatetags.static import static
from django.urls import include, path
from django.views.generic import RedirectView

from notifications.metrics import metrics
from notifyops import probes
from reviews import theme, zone
from reviews.signin.login import Login

urlpatterns = [
    path("", RedirectView.as_view(url="/reviews/"), name="home"),
    path("api/v1/", include("notifications.receipts.urls")),
    path("api/v1/", include("notifications.api.urls")),
    path("reviews/", include("reviews.urls", namespace="reviews")),
    path("second-factor/", include("reviews.signin.urls")),
    # One login for all: the same lock, the same words, in both languages.
    path("admin/login/", RedirectView.as_view(pattern_name="login", query_string=True)),
    path("admin/", admin.site.urls),
    path("login/", Login.as_view(), name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("theme/", theme.choose, name="set_theme"),
    path("time-zone/", zone.choose, name="set_zone"),
    path("i18n/", include("django.conf.urls.i18n")),
    # Asked for by browsers on pages that name no icon, such as an answer in plain text.
    path("favicon.ico", RedirectView.as_view(url=static("favicon.svg"), permanent=True)),
    path("healthz", probes.healthz, name="healthz"),
    path("readyz", probes.readyz, name="readyz"),
    path("metrics", metrics, name="metrics"),
]

handler403 = "reviews.signin.errors.forbidden"
handler404 = "reviews.signin.errors.not_found"

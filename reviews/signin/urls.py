"""The pages of the second factor."""

from __future__ import annotations

from django.urls import path

from reviews.signin import views

urlpatterns = [
    path("", views.show, name="second_factor"),
    path("enrol/", views.enrol, name="second_factor_enrol"),
    path("enrol/picture.svg", views.picture, name="second_factor_picture"),
    path("codes", views.codes, name="second_factor_codes"),
    path("off", views.switch_off, name="second_factor_off"),
]

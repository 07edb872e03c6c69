"""The app of the review console."""

from __future__ import annotations

from django.apps import AppConfig
from django.db.models.signals import post_migrate
from django.utils.translation import gettext_lazy as _


class ReviewsConfig(AppConfig):
    """Makes the three groups after each migrate."""

    name = "reviews"
    verbose_name = _("Reviews")

    def ready(self) -> None:
        """Connect what must run after a migrate."""
        from reviews import groups

        post_migrate.connect(groups.refill, sender=self, dispatch_uid="reviews.groups")

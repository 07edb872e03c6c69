"""The app of the delivery core."""

from __future__ import annotations

from django.apps import AppConfig
from django.db.models.signals import post_migrate
from django.utils.translation import gettext_lazy as _


class NotificationsConfig(AppConfig):
    """Registers the checks, and refills the database's copy of what code declares after each migrate."""

    name = "notifications"
    verbose_name = _("Notifications")

    def ready(self) -> None:
        """Connect what must run after a migrate, and the start-up checks."""
        from notifications import reference

        post_migrate.connect(reference.refill, sender=self, dispatch_uid="notifications.reference")

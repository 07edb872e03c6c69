"""The app of the delivery core."""

from __future__ import annotations

from django.apps import AppConfig
from django.core.exceptions import ImproperlyConfigured
from django.db.models.signals import post_migrate
from django.utils.module_loading import autodiscover_modules
from django.utils.translation import gettext_lazy as _


class NotificationsConfig(AppConfig):
    """Finds every app's notification types; after each migrate refills the database's copy of what code declares."""

    name = "notifications"
    verbose_name = _("Notifications")

    def ready(self) -> None:
        """Load each app's `notification_types`, and connect what must run after a migrate.

        Raises ImproperlyConfigured where an app's types cannot be loaded: without them its notifications would be
        retired, or stop for a person one by one.
        """
        from notifications import reference

        try:
            autodiscover_modules("notification_types")
        except Exception as error:  # code of others may raise anything while it is imported
            raise ImproperlyConfigured(
                f"The notification types of an app cannot be loaded: {type(error).__name__}: {error}. "
                f"Mend its notification_types.py, or take the app out of NOTIFYOPS_APPS."
            ) from error

        post_migrate.connect(reference.refill, sender=self, dispatch_uid="notifications.reference")

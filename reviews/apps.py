"""The app of the review console."""

from __future__ import annotations

from django.apps import AppConfig, apps
from django.contrib.auth.signals import user_logged_in
from django.db.models.signals import post_migrate
from django.utils.translation import gettext_lazy as _


class ReviewsConfig(AppConfig):
    """Makes the three groups after each migrate, lets each login begin a session that ages, and names bulk work
    and what live pages hear of.
    """

    name = "reviews"
    verbose_name = _("Reviews")

    def ready(self) -> None:
        """Connect what must run after a migrate, and let the cluster carry out what people order in bulk."""
        from notifications import advising, works
        from notifications.live.hub import HUB
        from reviews import groups, live_sources, terminal
        from reviews.bulk import carry, outcomes, plan
        from reviews.signin import gate

        # At the first of our apps: Django has then made no permission yet, and what is new can be told.
        first = apps.get_app_config("notifications")
        post_migrate.connect(groups.refill, sender=first, dispatch_uid="reviews.groups")
        # By whichever way somebody logs in, the session knows when it began.
        user_logged_in.connect(gate.begin, dispatch_uid="reviews.signin.begin")
        works.register(works.Work("bulk", outcomes.waiting, carry.carry, outcomes.shortfalls))
        advising.register(terminal.suggested)
        HUB.read_from(live_sources.Cases)
        HUB.read_from(live_sources.Site)
        works.register_chore(works.Chore("forget_plans", plan.FORGET_EVERY_S, plan.FORGET))

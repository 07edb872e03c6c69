"""`manage.py seed_demo`: fill the first screen with a case of every kind. Run twice, it adds nothing."""

from __future__ import annotations

from io import StringIO
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError

from notifications.cli import seed
from notifications.cli.terminal import counted
from notifications.command_line import refusals_as_sentences
from notifications.models import Intent

# Closed by the review command, so that its case shows a decision with its reason.
CLOSED = "demo-116"


class Command(BaseCommand):
    """Play the stories as the tables' owner, who may write what workers, receipts and people write."""

    help = "Fills the review queue with a case of every kind; running it again adds nothing."

    def handle(self, *args: Any, **options: Any) -> None:
        """Refuse on a live site: these rows would stand beside real ones for ever."""
        with refusals_as_sentences(self, traceback=options.get("traceback", False)):
            self._play()

    def _play(self) -> None:
        if settings.NOTIFYOPS_SITE_MODE == "live":
            raise CommandError("This site is live: demo cases can never be removed from its log, so none are added.")
        if "owner" not in settings.DATABASES:
            raise CommandError(
                "The demo is written as the tables' owner, which is not known here: set NOTIFYOPS_OWNER_DATABASE_URL, "
                "or run this where `make up` runs."
            )
        played = [(story, seed.play(story, using="owner")) for story in seed.stories()]
        made = [story.report_id for story, intent_id in played if intent_id is not None]
        if CLOSED in made:
            key = f"report-ready/{CLOSED}"
            call_command("review", "close", key, reason_code="delivered_elsewhere", stdout=StringIO())
        waiting = Intent.objects.filter(state="needs_review").count()
        there, needing = counted(len(played) - len(made), "was", "were"), counted(waiting, "needs", "need")
        self.stdout.write(f"{len(made)} demo notifications added, {there} there; {needing} review.")

"""The words of all that stands in the record of decisions: about one case, a run of many as a whole, or a pause."""

from __future__ import annotations

from typing import Final

from django.utils.translation import gettext_lazy as _

from reviews.refusals import Sentence
from reviews.words import VERBS

DEEDS: Final[dict[str, Sentence]] = VERBS | {
    "bulk_plan": _("Plan in bulk"),
    "bulk_start": _("Start of a run in bulk"),
    "bulk_pause": _("Pause of a run in bulk"),
    "bulk_resume": _("Going on with a run in bulk"),
    "bulk_cancel": _("End of a run in bulk"),
    "pause": _("Pause of sending"),
    "pause_end": _("End of a pause"),
}
PAUSE_REASONS: Final[dict[str, Sentence]] = {
    "wrong_content": _("The content is wrong"),
    "too_many": _("Too many at once"),
    "provider_trouble": _("The provider has trouble"),
    "maintenance": _("Maintenance"),
    "owner_asked": _("The owner asked for it"),
    "other": _("Another reason"),
}

"""What a person asks of a run: to pause, or to be cancelled."""

from __future__ import annotations

from notifications.models.run import UNFINISHED, Run


def wish(pk: int, word: str, by: str) -> bool:
    """Ask a run to `pause` or to `cancel`, obeyed before its next step; give whether there was one to ask.

    A run that is not under way now is cancelled at once, and cannot be paused.
    """
    asked = Run.objects.filter(pk=pk, state="running").update(wish=word, wished_by=by)
    if not asked and word == "cancel":
        unfinished = Run.objects.filter(pk=pk, state__in=UNFINISHED)
        asked = unfinished.update(state="cancelled", code="", wish="", wished_by=by)
    return bool(asked)

"""Why a decision was not carried out. Each refusal has an HTTP status, a word for the record, and a sentence."""

from __future__ import annotations

from collections.abc import Iterable

from django.utils.functional import Promise
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

Sentence = str | Promise


class Refused(Exception):
    """Nothing was done; `sentence` says why, and how to mend it."""

    status = 422
    word = "refused"

    def __init__(self, sentence: Sentence, *, word: str = "") -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.word = word or self.word

    def __str__(self) -> str:
        return str(self.sentence)


class NotPermitted(Refused):
    """This person may not do that to this case."""

    status = 403
    word = "not_permitted"


class ChangedMeanwhile(Refused):
    """The case moved after the page was read: the decision was about something that is no longer so."""

    status = 409
    word = "changed"


class NotAllowedNow(Refused):
    """What is known about the message forbids this."""

    word = "not_allowed"


class BadReason(Refused):
    """The reason is missing or may not be kept."""

    word = "bad_reason"


class UnreadableForm(Refused):
    """The form lacks its token or version, or was used for something else."""

    word = "bad_form"

    def __init__(self) -> None:
        super().__init__(_("This form cannot be read; reload the page and decide again."))


class UnknownCase(Refused):
    """There is no such notification."""

    status = 404
    word = "unknown"

    def __init__(self, workspaces: Iterable[str] = ()) -> None:
        """`workspaces` are those in which there is one of this ID; for the terminal, which names one."""
        places = ", ".join(f"--workspace '{name}'" for name in workspaces)
        if places:
            sentence = format_lazy(_("There is no such notification here; there is one with {places}."), places=places)
        else:
            sentence = _("There is no such notification; check its ID and workspace.")
        super().__init__(sentence)

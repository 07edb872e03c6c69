"""Why a decision was not carried out. Each refusal has an HTTP status, a word for the record, and a sentence."""

from __future__ import annotations

from collections.abc import Iterable

from django.utils.functional import Promise
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

Sentence = str | Promise


class Refused(Exception):
    """Nothing was done; `sentence` says why, and how to mend it.

    `field` names the field of the form that is to be mended; empty where it is none of them. `is_kept`: a try that has
    its place on the record of decisions.
    """

    status = 422
    word = "refused"
    is_kept = True

    def __init__(self, sentence: Sentence, *, word: str = "", field: str = "") -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.word = word or self.word
        self.field = field

    def __str__(self) -> str:
        return str(self.sentence)


class NotPermitted(Refused):
    """This person may not do that to this case."""

    status = 403
    word = "not_permitted"


class NotProven(Refused):
    """This cannot be taken back, and the second factor was not shown a short while ago."""

    word = "second_factor"

    def __init__(self) -> None:
        super().__init__(_("This needs your second factor once more: show it, come back, and decide again."))


class ChangedMeanwhile(Refused):
    """The case moved after the page was read: the decision was about something that is no longer so."""

    status = 409
    word = "changed"


class TakenByOther(Refused):
    """Somebody else looks after this case now."""

    status = 409
    word = "taken"


class NotAllowedNow(Refused):
    """What is known about the message forbids this."""

    word = "not_allowed"


class BadReason(Refused):
    """The reason is missing or may not be kept."""

    word = "bad_reason"


class NoSuchReason(BadReason):
    """A slip at a terminal, or a form that is none of ours: no page offers such a code, so nobody decided anything."""

    word = "no_such_reason"
    is_kept = False


class UnreadableForm(Refused):
    """The form lacks its token or version, or was used for something else."""

    word = "bad_form"

    def __init__(self) -> None:
        super().__init__(_("This form cannot be read; reload the page and decide again."))


class UnknownCase(Refused):
    """There is no such notification."""

    status = 404
    word = "unknown"

    def __init__(self, workspaces: Iterable[str] = (), hint: Sentence = "") -> None:
        """`workspaces` are those in which there is one of this ID; `hint`: what else is strange. For the terminal."""
        places = ", ".join(f"--workspace '{name}'" for name in workspaces)
        if places:
            sentence = format_lazy(_("There is no such notification here; there is one with {places}."), places=places)
        else:
            sentence = _("There is no such notification; check its ID and workspace.")
            sentence = format_lazy("{sentence} {hint}", sentence=sentence, hint=hint) if hint else sentence
        super().__init__(sentence)

"""All adapters that the suite asks; a new one is one entry here."""

from __future__ import annotations

from typing import Final

from tests.providers import (
    candidate_anymail,
    candidate_console,
    candidate_resend,
    candidate_smtp,
    candidate_telegram,
    candidate_twilio,
    candidate_webhook,
    candidate_webpush,
)
from tests.providers.conformance import Candidate, Trial

CANDIDATES: Final[tuple[Candidate, ...]] = (
    candidate_resend.CANDIDATE,
    candidate_smtp.CANDIDATE,
    candidate_console.CANDIDATE,
    candidate_webhook.CANDIDATE,
    candidate_twilio.CANDIDATE,
    candidate_telegram.CANDIDATE,
    candidate_webpush.CANDIDATE,
    *candidate_anymail.CANDIDATES,
)
TRIALS: Final[tuple[tuple[Candidate, Trial], ...]] = tuple(
    (candidate, trial) for candidate in CANDIDATES for trial in candidate.trials
)

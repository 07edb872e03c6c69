"""The terminal in the suite: there is no network, so only what it makes of a message is asked."""

from __future__ import annotations

import io

from notifications.providers.console import ConsoleProvider
from tests.providers.conformance import Candidate

CANDIDATE = Candidate(
    "console",
    lambda port: ConsoleProvider(io.StringIO()),
    (),
    lambda body: [line[4:] for line in body.decode().split("\n") if line.startswith("To: ")],
)

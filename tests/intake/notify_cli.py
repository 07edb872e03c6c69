"""Run a verb of `manage.py notify` in this process, and see what a person or a program would."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from typing import Any

from django.core.management import call_command


@dataclass(frozen=True, slots=True)
class Answer:
    """What one run printed, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """Give stdout as the one JSON document that it must be."""
        return json.loads(self.out)


def notify(*arguments: str) -> Answer:
    """Run one verb."""
    out, err = io.StringIO(), io.StringIO()
    code = 0
    try:
        call_command("notify", *arguments, stdout=out, stderr=err)
    except SystemExit as end:
        code = int(end.code or 0)
    return Answer(code, out.getvalue(), err.getvalue())

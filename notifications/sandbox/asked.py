"""One call to an endpoint, with its body read as the API reads it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from notifications.sandbox.refusals import Refusal
from notifications.sandbox.wire import Call
from notifications.sandbox.world import World


@dataclass(frozen=True, slots=True)
class Asked:
    """One call with the variable parts of its path."""

    world: World
    call: Call
    parts: tuple[str, ...]

    def body(self) -> dict[str, Any]:
        """Give the JSON object of the body; an empty body is an empty object. Raises Refusal."""
        if not self.call.body:
            return {}
        try:
            body = json.loads(self.call.body)
        except (ValueError, RecursionError):
            raise Refusal("validation_error", "The request body is not valid JSON.", status=400) from None
        if not isinstance(body, dict):
            raise Refusal("validation_error", "The request body must be a JSON object.")
        return body


Respond = Callable[[Asked], dict[str, Any]]
Route = tuple[str, re.Pattern[str], Respond]


def route(method: str, path: str, respond: Respond) -> Route:
    """Give one row of a route table; `*` in the path stands for one variable part."""
    return method, re.compile(re.escape(path).replace(r"\*", "([^/]+)")), respond

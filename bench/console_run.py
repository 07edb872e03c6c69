"""Asks for the console's screens as a lead, in the role that its environment names; prints one JSON object."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, Final
from uuid import uuid4

import django

TIMES: Final = 40
# Templates, forms and plans are made once a process.
WARM: Final = 3
_PAGES: Final = {
    "queue": "/reviews/",
    "queue: by code": "/reviews/?code=not_sent.refused",
    "queue: by workspace": "/reviews/?workspace=w3&sort=oldest",
    "queue: unknown, window open": "/reviews/?known=unknown&window=open",
    "queue: nothing matches": "/reviews/?code=rate_limited",
    "queue: deep": "/reviews/?after=infinity_500000",
    "queue: search": "/reviews/?q=case-4711",
    "groups": "/reviews/groups/",
    "watching": "/reviews/watching/",
    "log": "/reviews/log/",
    "log: one person": "/reviews/log/?who=p7",
    "figures": "/reviews/stats/",
    "offer of a plan": "/reviews/bulk/new?code=not_sent.refused",
}


class NotAnswered(Exception):
    """The page answered something else than it should; the text says what."""


def main() -> int:
    """Measure all of it."""
    django.setup()
    from django.conf import settings

    settings.ALLOWED_HOSTS = ["testserver"]
    client, cases = _lead(), _whole()
    found: dict[str, list[float]] = {}
    failed: dict[str, str] = {}
    for name, ask, more in _asked(client, cases):
        try:
            found[name] = _timed(ask, **more)
        except NotAnswered as other:  # the other pages are measured all the same
            failed[name] = str(other)
    kb = len(client.get("/reviews/").content) / 1000
    print(json.dumps({"ms": found, "kb": kb, "failed": failed}))
    return 0


def _asked(client: Any, cases: list[int]) -> Iterator[tuple[str, Callable[[], Any], dict[str, Any]]]:
    """Give each screen's name, how it is asked for, and what its answer should be."""
    for name, url in _PAGES.items():
        yield name, lambda url=url: client.get(url), {}  # type: ignore[misc]
    yield "case", lambda: client.get(f"/reviews/{cases.pop()}/"), {}
    yield "action: note", lambda: _post(client, cases.pop(), "note", {"reason": "Asked its owner about it."}), {}
    yield "action: retry", lambda: _post(client, cases.pop(), "retry", {"reason_code": "code_fixed"}), {"is_ok": _moved}
    yield "action: next", lambda: client.post("/reviews/next", {"action_token": str(uuid4())}), {"is_ok": _moved}
    yield "plan of 10,000", lambda: _plan(client), {"is_ok": _moved, "times": 5, "warm": 1}


def _timed(
    ask: Callable[[], Any], *, is_ok: Callable[[Any], bool] | None = None, times: int = TIMES, warm: int = WARM
) -> list[float]:
    """Give the milliseconds of each answer. An answer that is none ends the measurement."""
    taken = []
    for number in range(times + warm):
        began = time.perf_counter()
        answer = ask()
        took_ms = 1000 * (time.perf_counter() - began)
        if not (is_ok or _shown)(answer):
            raise NotAnswered(f"{answer.request['PATH_INFO']} answered {answer.status_code}")
        if number >= warm:
            taken.append(took_ms)
    return taken


def _shown(answer: Any) -> bool:
    return answer.status_code in (200, 303)


def _moved(answer: Any) -> bool:
    return bool(answer.status_code == 303)


def _lead() -> Any:
    from django.contrib.auth.models import Group, User
    from django.test import Client

    person, _is_new = User.objects.get_or_create(username="lena")
    person.groups.add(Group.objects.get(name="Leads"))
    client = Client()
    client.force_login(person)
    return client


def _whole() -> list[int]:
    """Give cases with all that their pages show, none of them protected by a key: a retry of each is allowed."""
    from bench.console_rows import WHOLE
    from notifications.models import Intent

    open_ones = Intent.objects.filter(state="needs_review", known="not_sent").extra(where=[f"id %% {WHOLE} = 0"])  # noqa: S610 (a constant)
    return list(open_ones.values_list("pk", flat=True)[: 4 * (TIMES + WARM)])


def _post(client: Any, intent_id: int, verb: str, fields: dict[str, str]) -> Any:
    fields = {"action_token": str(uuid4()), "seq": "6", "reason": "", "reason_code": ""} | fields
    return client.post(f"/reviews/{intent_id}/{verb}", fields)


def _plan(client: Any) -> Any:
    fields = {"action_token": str(uuid4()), "do": "retry-all", "query": "code=not_sent.refused"}
    return client.post("/reviews/bulk/new", fields)


if __name__ == "__main__":
    sys.exit(main())

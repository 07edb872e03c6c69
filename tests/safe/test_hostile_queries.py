"""No query string, however strange, makes a page of the console fail: it is read, or refused in words."""

from __future__ import annotations

from typing import Final

import pytest

from notifications.models import Intent
from reviews.bulk.models import BulkRun
from tests.reviews import cases
from tests.reviews.bulk_cases import make_cases, planned
from tests.reviews.cases import login, make_case

pytestmark = [pytest.mark.django_db(databases=["default", "owner"]), pytest.mark.role("owner")]
VALUES: Final = (
    "%00", "%ed%a0%80", "';--", "%25", "..%2f..%2fetc", "-1", "1e9", "9" * 30, "%D9%A3", "NaN", "%F0%9F%92%A9",
    "x" * 3000, "%0d%0aA:b", "infinity_" + "9" * 19, "9999-12-31T23:59:59.999999%2B00:00_1", "2026-13-45T99:99:99_1",
    "0001-01-01", "9999-12-31",
)  # fmt: skip
NAMES: Final = {
    "/reviews/": ("q", "code", "kind", "known", "next", "provider", "channel", "type", "workspace", "window", "age",
                  "attempts", "state", "waiting", "taken", "after", "before", "size", "sort"),
    "/reviews/log/": ("who", "verb", "outcome", "reason", "case", "since", "until", "after", "size"),
    "/reviews/log/export": ("who", "since", "until", "case"),
    "/reviews/watching/": ("who",),
    "/reviews/bulk/new": ("q", "state", "after", "attempts"),
    "/reviews/live": ("of", "since", "shown", "stands", "after"),
    "/time-zone/": ("next",),
    "/login/": ("next",),
}  # fmt: skip

FIELDS: Final = (
    "action_token", "seq", "reason_code", "reason", "minutes", "query", "id", "do", "name", "scope", "leaving",
)  # fmt: skip


@pytest.mark.parametrize("path", NAMES)
def test_a_strange_value_is_read_or_refused(path: str) -> None:
    make_case(cases.UNKNOWN)
    lena = login("lena")
    bad = []
    for name in NAMES[path]:
        for value in VALUES:
            status = lena.get(f"{path}?{name}={value}").status_code
            if status not in (200, 204, 302, 400, 404, 422):
                bad.append((name, value[:40], status))
    assert bad == []


def test_names_given_twice_unknown_ones_and_many_are_read_or_refused() -> None:
    bulk, lena = planned(make_cases(1)), login("lena")
    many = "&".join(f"name{number}=1" for number in range(900))
    queries = (
        "state=any&state=closed&q=a&q=b",
        "%00=%00",
        "=",
        "&&&",
        many,
        "known[]=unknown",
        "known=unknown;state=any",
    )
    case = Intent.objects.get()
    for path in (*NAMES, f"/reviews/{case.pk}/", f"/reviews/bulk/{bulk.pk}/", "/reviews/groups/", "/reviews/stats/"):
        for query in queries:
            assert lena.get(f"{path}?{query}").status_code in (200, 204, 302, 400, 404, 422), (path, query[:40])
    for value in VALUES:
        assert lena.get(f"/reviews/bulk/{bulk.pk}/?outcome={value}&after={value}").status_code in (200, 400, 404), value


@pytest.mark.parametrize("value", [value for value in VALUES if "%" not in value] + ["\x00", "\U0001f600"])
def test_a_strange_body_decides_nothing(value: str) -> None:
    intent, lena = make_case(cases.UNKNOWN), login("lena")
    for path in (f"/reviews/{intent.pk}/close", f"/reviews/{intent.pk}/retry", f"/reviews/{intent.pk}/wait",
                 "/reviews/bulk/new", "/reviews/next", "/reviews/views", "/reviews/pauses/pause"):  # fmt: skip
        fields = dict.fromkeys(
            (
                "action_token",
                "seq",
                "reason_code",
                "reason",
                "minutes",
                "query",
                "id",
                "do",
                "name",
                "scope",
                "leaving",
            ),
            value,
        )
        assert lena.post(path, fields).status_code in (303, 400, 422), path
    assert Intent.objects.get(pk=intent.pk).seq == intent.seq
    assert not BulkRun.objects.exists()

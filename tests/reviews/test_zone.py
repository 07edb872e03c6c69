"""Times in the reader's zone, with its distance from UTC; what programs read, and the admin, stay in UTC."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.test import Client
from django.utils import formats, timezone

from notifications.models import Intent, ProviderAccount
from notifications.pausing import pause
from reviews import stats, times, zone
from tests.reviews import cases
from tests.reviews.bulk_cases import make_cases, planned
from tests.reviews.cases import login, make_case, post
from tests.reviews.deciding import decide

pytestmark = [pytest.mark.django_db(databases=["default", "owner"]), pytest.mark.role("owner")]
PLACE, OFFSET = "Asia/Kolkata", "UTC+5:30"
NOON = datetime(2026, 11, 30, 12, 3, 10, tzinfo=UTC)
# Numbers beside a chart, whose zone is named in their table's head and at the foot of the page.
_OF_A_CHART = re.compile(r'<svg.*?</svg>|<p class="ends">.*?</p>|<details><summary>The numbers.*?</details>', re.DOTALL)
_TIME = re.compile(r"(?<![\d:])\d\d:\d\d(?::\d\d)?(?! UTC\+5:30)(?![\d:])")


def in_india(name: str) -> Client:
    client = login(name)
    client.cookies[zone.DEVICE] = PLACE
    return client


def text(client: Client, path: str, status: int = 200) -> str:
    answer = client.get(path)
    assert answer.status_code == status, path
    return words(answer)


def words(answer: Any) -> str:
    """Give what a person reads of a page, each piece on a line."""
    html = re.sub(r"<(option|head)\b.*?</\1>", "", _OF_A_CHART.sub("", answer.content.decode()), flags=re.DOTALL)
    return re.sub(r"<[^>]+>", "\n", re.sub(r"</?span>", "", html))


def test_every_time_on_every_page_is_the_readers_and_says_so() -> None:
    mine, theirs, _old = make_case(cases.UNKNOWN), make_case(cases.RETRIED), make_case(cases.ABSENT)
    decide("take", mine, "lena", text="")
    decide("take", theirs, "olga", text="")
    decide("wait", make_case(cases.WINDOW_OVER), "olga", text="", minutes=60)
    bulk = planned(make_cases(2))
    pause("account", ProviderAccount.objects.get().name, span=timedelta(hours=1), reason=("too_many", ""),
          actor="user:lena")  # fmt: skip
    lena = in_india("lena")
    pages = [f"/reviews/{one.pk}/" for one in Intent.objects.order_by("pk")]
    pages += ["/reviews/?taken=any&waiting=any", f"/reviews/bulk/{bulk.pk}/"]
    pages += [f"/reviews/{name}/" for name in ("groups", "runs", "pauses", "watching", "log", "stats", "help")]
    seen = ""
    for page in pages:
        seen += text(lena, page)
    assert seen.count(OFFSET) > 60
    assert [line for line in seen.splitlines() if _TIME.search(line)] == []
    for said in ("yours until", "taken by olga until", "Risk: medium. No key", "The same key protects you until"):
        assert said in seen
    refused = words(post(lena, theirs, "close", reason_code="duplicate"))
    assert re.search(rf"olga has taken this case until \d\d:\d\d {re.escape(OFFSET)}:", refused)


def test_the_head_and_the_foot_name_the_zone_and_lead_to_another() -> None:
    html = in_india("vera").get("/reviews/").content.decode()
    assert f'<span class="key">{PLACE}</span>' in html
    assert f"Times are those of {PLACE}." in html
    assert 'href="/time-zone/?next=/reviews/"' in html
    html = login("vera").get("/reviews/").content.decode()
    assert "Times are those of UTC." in html
    assert re.search(r"<time [^>]+>\d\d:\d\d:\d\d UTC</time></li>", html)


def test_what_is_chosen_outweighs_the_device_until_it_is_taken_back() -> None:
    vera = in_india("vera")
    page = vera.get("/time-zone/?next=/reviews/log/").content.decode()
    assert f"As the device ({PLACE})" in page
    assert '<optgroup label="Europe">' in page
    led = vera.post("/time-zone/", {"zone": "America/St_Johns", "next": "/reviews/log/"})
    assert led["Location"] == "/reviews/log/"
    assert (led.cookies["zone"]["httponly"], led.cookies["zone"]["samesite"]) == (True, "Lax")
    assert "Times are those of America/St_Johns." in text(vera, "/reviews/")
    assert "<option selected>America/St_Johns</option>" in vera.get("/time-zone/").content.decode()
    vera.post("/time-zone/", {"zone": "", "next": "/reviews/"})
    assert f"Times are those of {PLACE}." in text(vera, "/reviews/")


@pytest.mark.parametrize(
    "said", ["../../etc/passwd", "/etc/localtime", "Europe", "europe/berlin", "x" * 5000, "", "\x00", "%00", "UTC\n"]
)
def test_what_is_no_zone_is_none(said: str) -> None:
    vera = login("vera")
    for name in (zone.CHOSEN, zone.DEVICE):
        vera.cookies[name] = said
    assert "Times are those of UTC." in text(vera, "/reviews/")
    assert "zone" not in {
        name for name, cookie in vera.post("/time-zone/", {"zone": said}).cookies.items() if cookie.value
    }


@pytest.mark.parametrize("to", ["https://example.com/", "//example.com", "javascript:alert(1)", ""])
def test_choosing_leads_to_no_other_site(to: str) -> None:
    client = Client()
    assert client.post("/time-zone/", {"zone": "UTC", "next": to})["Location"] == "/"
    assert f'href="{to}"' not in client.get("/time-zone/", {"next": to}).content.decode()


def test_exports_and_the_admin_stay_in_utc_and_nobody_inherits_a_zone() -> None:
    intent = make_case(cases.WINDOW_OVER)
    decide("close", intent, "olga", "duplicate", text="")
    lena = in_india("lena")
    exported = b"".join(lena.get("/reviews/log/export").streaming_content).decode()  # type: ignore[attr-defined]
    assert "+00:00" in exported
    assert "+05:30" not in exported
    row = Intent.objects.get(pk=intent.pk)
    shown = text(lena, f"/admin/notifications/intent/{row.pk}/change/")
    assert formats.date_format(row.created_at, "DATETIME_FORMAT") in shown
    assert "Times are those of UTC." in shown
    assert timezone.get_current_timezone_name() == "UTC"


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("UTC", "12:03:10 UTC"),
        ("Europe/Berlin", "13:03:10 UTC+1"),
        ("Asia/Shanghai", "20:03:10 UTC+8"),
        ("Asia/Kolkata", "17:33:10 UTC+5:30"),
        ("America/St_Johns", "08:33:10 UTC\N{MINUS SIGN}3:30"),
        ("Pacific/Marquesas", "02:33:10 UTC\N{MINUS SIGN}9:30"),
        ("Asia/Kathmandu", "17:48:10 UTC+5:45"),
    ],
)
def test_a_time_says_how_far_from_utc_it_is(name: str, shown: str) -> None:
    with timezone.override(ZoneInfo(name)):
        assert times.clock(NOON) == shown


def test_the_offset_is_the_one_of_the_moment_and_not_of_today() -> None:
    with timezone.override(ZoneInfo("Europe/Berlin")):
        assert times.clock(datetime(2026, 7, 1, 12, tzinfo=UTC)) == "14:00:00 UTC+2"


@pytest.mark.parametrize("name", ["UTC", "Asia/Kathmandu", "America/New_York"])
def test_figures_count_by_the_readers_hours_and_days(name: str) -> None:
    make_case()
    moment = timezone.now()
    with timezone.override(ZoneInfo(name)):
        found = stats.read(moment)
        today = timezone.localtime(moment).date()
        for slots in (found["hours"], found["days"]):
            assert [slot.came for slot in slots if slot.came] == [1]
            assert slots[-1].came == 1
        assert {timezone.localtime(slot.at).minute for slot in found["hours"]} == {0}
        assert timezone.localtime(found["days"][-1].at).date() == today
        assert {timezone.localtime(slot.at).hour for slot in found["days"]} == {0}


def test_a_day_that_the_clocks_are_put_back_has_twenty_five_hours() -> None:
    with timezone.override(ZoneInfo("Europe/Berlin")):
        begins = [datetime(2026, 10, day, tzinfo=ZoneInfo("Europe/Berlin")) for day in (25, 26)]
        hour = timedelta(hours=1)
        quarters = [(datetime(2026, 10, 24, 22, tzinfo=UTC) + hour * place, 1, 0) for place in range(26)]
        assert [slot.came for slot in stats._slots(begins, quarters)] == [25, 1]

"""Whose a case is: take, release, take over, and what is refused to others meanwhile."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from notifications.models import Intent
from reviews import actions, holds
from reviews.models import VERBS, Hold, Presence, Review
from reviews.person import Person
from reviews.refusals import BadReason, NotAllowedNow, NotPermitted, TakenByOther
from tests.reviews import cases
from tests.reviews.cases import login, make_case, order, post
from tests.reviews.deciding import TEXT, decide, now, put_on

pytestmark = [pytest.mark.django_db(databases=["default", "owner"]), pytest.mark.role("owner")]
HTMX = {"HX-Request": "true"}
MOVING: dict[str, dict[str, Any]] = {
    "retry": {"code": "code_fixed"},
    "close": {"code": "duplicate"},
    "wait": {"minutes": 15},
    "withdraw": {"code": "sent_in_error"},
}


def holder(intent: Intent) -> str:
    return str(Hold.objects.get(pk=intent.pk).holder)


def test_a_take_is_on_record_for_a_quarter_of_an_hour_and_moves_nothing() -> None:
    intent = make_case()
    done = decide("take", intent, "olga", text="")
    hold = Hold.objects.get(pk=intent.pk)
    assert (hold.holder, hold.taken_by, hold.expires_at - hold.taken_at) == ("olga", "user:olga", timedelta(minutes=15))
    assert now(intent).seq == intent.seq
    record = Review.objects.get(intent_id=intent.pk)
    assert (record.action, record.outcome, record.actor, record.seq_after) == ("take", "done", "user:olga", intent.seq)
    assert done.after["taken_until"] == hold.expires_at.isoformat(timespec="seconds")


@pytest.mark.parametrize("verb", MOVING)
def test_a_taken_case_is_refused_to_others_and_open_to_its_holder(verb) -> None:
    intent = make_case()
    decide("take", intent, "olga", text="")
    with pytest.raises(TakenByOther, match=r"olga has taken this case until \d\d:\d\d UTC"):
        decide(verb, intent, "lena", **MOVING[verb])
    assert now(intent).seq == intent.seq
    assert Review.objects.get(action=verb).refusal == "taken"
    if verb != "withdraw":  # a lead's
        decide(verb, intent, "olga", **MOVING[verb])
        assert now(intent).seq == intent.seq + 1
        assert not Hold.objects.exists(), "what is decided is anybody's"


def test_a_question_and_a_remark_are_open_to_all() -> None:
    intent = make_case(cases.UNKNOWN)
    decide("take", intent, "olga", text="")
    decide("note", intent, "lena")
    decide("query", intent, "lena", text="")
    assert holder(intent) == "olga"


def test_an_expired_take_is_free() -> None:
    intent = make_case()
    decide("take", intent, "olga", text="")
    with pytest.raises(TakenByOther):
        decide("take", intent, "lena", text="", shift_s=14 * 60.0)
    decide("take", intent, "lena", text="", shift_s=15 * 60.0 + 5)
    assert holder(intent) == "lena"


def test_an_expired_take_keeps_nobody_from_deciding() -> None:
    intent = make_case()
    decide("take", intent, "olga", text="")
    decide("close", intent, "lena", "duplicate", text="", shift_s=15 * 60.0 + 5)
    assert now(intent).state == "closed"


def test_ones_own_is_taken_anew_and_given_back() -> None:
    intent = make_case()
    decide("take", intent, "olga", text="")
    first = Hold.objects.get().expires_at
    decide("take", intent, "olga", text="", shift_s=60.0)
    assert Hold.objects.get().expires_at > first
    with pytest.raises(NotAllowedNow, match="You have not taken this case"):
        decide("release", intent, "lena", text="")
    decide("release", intent, "olga", text="")
    assert not Hold.objects.exists()
    decide("take", intent, "lena", text="")


def test_only_a_lead_takes_over_and_says_why() -> None:
    intent = make_case()
    decide("take", intent, "olga", text="")
    with pytest.raises(NotPermitted):
        decide("take_over", intent, "vera")
    with pytest.raises(BadReason, match="needs a text"):
        decide("take_over", intent, "lena", text="")
    decide("take_over", intent, "lena", text="Olga has gone home for today.")
    assert holder(intent) == "lena"
    record = Review.objects.get(action="take_over", outcome="done")
    assert record.before
    assert (record.before["taken_by"], record.reason) == ("user:olga", "Olga has gone home for today.")
    with pytest.raises(TakenByOther):
        decide("close", intent, "olga", "duplicate", text="")
    with pytest.raises(NotAllowedNow, match="Nobody else has this case"):
        decide("take_over", intent, "lena")


def test_what_does_not_need_review_cannot_be_taken() -> None:
    with pytest.raises(NotAllowedNow, match="Only a case that needs review can be taken"):
        decide("take", make_case(cases.DELIVERED), "olga", text="")


def test_one_person_at_the_page_and_at_the_terminal_is_one_holder() -> None:
    intent = make_case()
    decide("take", intent, "olga", text="")
    terminal = Person("cli:olga@anywhere.example.com", None, frozenset(VERBS))
    actions.perform("close", intent.pk, order(now(intent), "duplicate"), terminal)
    assert now(intent).state == "closed"


def test_the_case_says_who_has_it_and_offers_what_each_may_do() -> None:
    intent = make_case()
    decide("take", intent, "olga", text="")
    mine = login("olga").get(f"/reviews/{intent.pk}/").content.decode()
    assert re.search(r"yours until \d\d:\d\d UTC", mine)
    assert f'action="/reviews/{intent.pk}/release"' in mine
    others = login("lena").get(f"/reviews/{intent.pk}/").content.decode()
    assert re.search(r"taken by olga until \d\d:\d\d UTC", others)
    assert f'action="/reviews/{intent.pk}/take_over"' in others
    assert f'action="/reviews/{intent.pk}/take"' not in others
    assert "olga has taken this case until" in others[others.index('id="why-close"') :]
    viewer = login("vera").get(f"/reviews/{intent.pk}/").content.decode()
    assert not re.search(r'action="/reviews/\d+/(take|release|take_over)"|action="/reviews/next"', viewer)
    assert f'href="/reviews/{intent.pk}/after"' in viewer


def test_a_409_keeps_the_typed_text_and_says_who_has_the_case() -> None:
    intent = make_case()
    decide("take", intent, "lena", text="")
    answer = post(login("olga"), intent, "close", reason_code="cannot_be_fixed", reason=TEXT, headers=HTMX)
    html = answer.content.decode()
    assert answer.status_code == 409
    assert "lena has taken this case until" in html
    assert f"readonly>{TEXT}</textarea>" in html


def test_a_beat_renews_what_is_mine_says_who_is_there_and_writes_no_record() -> None:
    intent = make_case()
    decide("take", intent, "olga", text="")
    before = Hold.objects.get().expires_at
    put_on(60.0)
    assert "olga" not in login("olga").post(f"/reviews/{intent.pk}/beat", headers=HTMX).content.decode()
    html = login("lena").post(f"/reviews/{intent.pk}/beat", headers=HTMX).content.decode()
    assert "olga has it open too" in html
    assert "taken by olga" in html
    assert Hold.objects.get().expires_at > before + timedelta(seconds=30)
    assert Review.objects.count() == 1
    assert now(intent).seq == intent.seq
    put_on(60.0 + 15 * 60)  # olga's last beat is over, and so is her time: a beat of hers brings nothing back
    html = login("lena").post(f"/reviews/{intent.pk}/beat", headers=HTMX).content.decode()
    assert "olga" not in html
    assert "taken by nobody" in html
    login("olga").post(f"/reviews/{intent.pk}/beat", headers=HTMX)
    held = holds.of(intent.pk)
    assert held is not None
    assert not held.stands(held.until)


def test_a_page_shows_who_was_there_already_without_a_query_more() -> None:
    intent = make_case()
    login("lena").post(f"/reviews/{intent.pk}/beat", headers=HTMX)
    assert "lena has it open too" in login("olga").get(f"/reviews/{intent.pk}/").content.decode()
    assert Presence.objects.count() == 1, "opening a page writes nothing"


@pytest.mark.parametrize(("name", "status"), [("sam", 403), ("vera", 200)])
def test_presence_is_for_those_who_may_see_cases(name, status) -> None:
    assert login(name).post(f"/reviews/{make_case().pk}/beat", headers=HTMX).status_code == status


def test_a_beat_of_no_case_is_404_a_get_405_and_an_ended_session_ends_the_beating() -> None:
    from django.test import Client

    intent = make_case()
    assert login("olga").post("/reviews/999999/beat").status_code == 404
    assert login("olga").get(f"/reviews/{intent.pk}/beat").status_code == 405
    ended = Client().post(f"/reviews/{intent.pk}/beat", headers=HTMX)
    assert (ended.status_code, ended["HX-Reswap"]) == (286, "none")


def test_presence_is_unlogged_and_swept_when_it_falls_silent() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT relpersistence FROM pg_class WHERE relname = 'reviews_presence'")
        assert cursor.fetchone() == ("u",)
    first, second = make_case(), make_case()
    login("olga").post(f"/reviews/{first.pk}/beat", headers=HTMX)
    put_on(11 * 60.0)
    login("olga").post(f"/reviews/{second.pk}/beat", headers=HTMX)
    assert list(Presence.objects.values_list("intent_id", flat=True)) == [second.pk]


def test_the_queue_leaves_out_what_others_have_and_its_filter_finds_it() -> None:
    mine, theirs, free = make_case(report_id="mine"), make_case(report_id="theirs"), make_case(report_id="free")
    decide("take", mine, "olga", text="")
    decide("take", theirs, "lena", text="")
    olga = login("olga")

    def listed(query: str) -> set[str]:
        html = olga.get(f"/reviews/{query}").content.decode()
        return set(re.findall(r'<a class="id" href="/reviews/\d+/">report-ready/(\w+)<', html))

    assert listed("") == {"mine", "free"}
    assert listed("?taken=any") == {"mine", "theirs", "free"}
    assert listed("?taken=mine") == {"mine"}
    assert listed("?taken=others") == {"theirs"}
    assert listed("?taken=free") == {"free"}
    assert listed("?q=theirs") == {"theirs"}, "a search finds whatever it is asked for"
    html = olga.get("/reviews/?taken=others").content.decode()
    assert re.search(r"<span>lena</span><small>until \d\d:\d\d UTC", html)
    put_on(15 * 60.0 + 5)
    assert listed("") == {"mine", "theirs", "free"}
    assert free.pk

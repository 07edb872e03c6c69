"""Every decision as its page's own form says it, with no script: without its token it is 422, and with it, done."""

from __future__ import annotations

from datetime import timedelta
from html.parser import HTMLParser
from typing import Any

import pytest
from django.test import Client

from notifications.models import Intent
from notifications.pausing import standing
from reviews.bulk.models import BulkRun
from reviews.models import VERBS, Hold, Note, Review
from reviews.reading import now as moment
from tests.reviews import cases
from tests.reviews.bulk_cases import Provider, carried, make_cases, planned
from tests.reviews.cases import login, make_case, post
from tests.reviews.deciding import now
from tests.reviews.test_permissions import EXPLAINED, MORE, REASON, case_for

pytestmark = pytest.mark.django_db(transaction=True)
# What each form lacks in turn: the token of its one use, the version that was seen, or either as no form writes it.
LACKS: tuple[dict[str, str], ...] = (
    {"action_token": ""}, {"action_token": "no-uuid"}, {"seq": ""}, {"seq": "-1"}, {"action_token": "", "seq": ""},
)  # fmt: skip


class Forms(HTMLParser):
    """Reads the forms of a page: by action, what a browser without a script would send, and which names there are."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.fields: dict[str, dict[str, str]] = {}
        self.names: dict[str, set[str]] = {}
        self._at = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = {name: value or "" for name, value in attrs}
        if tag == "form":
            self._at = said.get("action", "")
            self.fields[self._at], self.names[self._at] = {}, set()
            assert said.get("method", "get") in ("get", "post")
        if tag in ("input", "select", "textarea") and self._at and "name" in said:
            self.names[self._at].add(said["name"])
            if said.get("type") == "hidden":
                self.fields[self._at][said["name"]] = said.get("value", "")

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._at = ""


def read(client: Client, path: str) -> Forms:
    return Forms(client.get(path).content.decode())


def filled(client: Client, intent: Intent, verb: str) -> dict[str, str]:
    """Give what a person sends who fills the form in by hand: fields that are not on the page cannot be filled."""
    forms, action = read(client, f"/reviews/{intent.pk}/"), f"/reviews/{intent.pk}/{verb}"
    assert action in forms.fields, f"no form for {verb}"
    wanted: dict[str, str] = {"reason_code": REASON.get(verb, ""), "reason": EXPLAINED, **MORE.get(verb, {})}
    wanted |= {"typed": intent.report_id, "confirmed": "yes"}
    typed = {name: value for name, value in wanted.items() if name in forms.names[action]}
    return forms.fields[action] | typed


@pytest.mark.parametrize("verb", VERBS)
def test_a_form_without_its_token_is_422_and_as_it_stands_on_the_page_is_done(verb: str) -> None:
    client = login("lena")
    intent = case_for(verb, "lena")
    sent = filled(client, intent, verb)
    before = decisions(intent)
    for lack in LACKS:
        answer = client.post(f"/reviews/{intent.pk}/{verb}", sent | lack)
        assert answer.status_code == 422, (verb, lack)
        assert "reload the page and decide again" in answer.content.decode()
    assert decisions(intent) == before
    assert client.post(f"/reviews/{intent.pk}/{verb}", sent).status_code == 303, verb
    assert decisions(intent) != before


def decisions(intent: Intent) -> tuple[Any, ...]:
    """Give all that a decision changes: the case's version, its record, its remarks, and who has it."""
    done = Review.objects.filter(intent_id=intent.pk, outcome="done").count()
    held = tuple(Hold.objects.filter(pk=intent.pk).values_list("taken_by", flat=True))
    return now(intent).seq, done, Note.objects.filter(intent_id=intent.pk).count(), held


@pytest.mark.parametrize(
    ("verb", "steps", "mark"),
    [
        ("retry", cases.ABSENT, "confirmed"),
        ("resend", cases.UNDECIDED, "confirmed"),
        ("resend", cases.UNDECIDED, "typed"),
    ],
)
def test_what_may_arrive_twice_wants_the_mark_of_its_form_as_well(verb: str, steps: Any, mark: str) -> None:
    client, intent = login("lena"), make_case(steps)
    sent = filled(client, intent, verb) | ({"reason_code": "evidence_not_sent"} if verb == "retry" else {})
    for said in ("", "no", "YES", "on"):
        assert client.post(f"/reviews/{intent.pk}/{verb}", sent | {mark: said}).status_code == 422, said
    assert now(intent).seq == intent.seq
    assert client.post(f"/reviews/{intent.pk}/{verb}", sent).status_code == 303


def test_a_resend_is_confirmed_with_the_mark_of_its_form_alone() -> None:
    intent = make_case(cases.UNDECIDED)
    post(login("bob_lead"), intent, "resend", typed=intent.report_id, confirmed="yes", reason=EXPLAINED)
    lena, asked = login("lena"), now(intent)
    sent = filled(lena, asked, "approve")
    assert lena.post(f"/reviews/{intent.pk}/approve", sent | {"confirmed": ""}).status_code == 422
    assert now(intent).seq == asked.seq
    assert lena.post(f"/reviews/{intent.pk}/approve", sent).status_code == 303


def test_next_bulk_and_pauses_want_what_their_forms_carry_too() -> None:
    lena, made = login("lena"), make_cases(3)
    bulk = planned(made)
    forms = read(lena, f"/reviews/bulk/{bulk.pk}/")
    start = f"/reviews/bulk/{bulk.pk}/start"
    sent = forms.fields[start] | {"reason_code": "provider_recovered", "rate": "5", "canary": "5", "max_bad": "20"}
    assert set(sent) <= forms.names[start] | {"csrfmiddlewaretoken"}
    plan = {"do": "close-all", "query": "code=not_sent.refused", "id": ""}
    assert lena.post("/reviews/next").status_code == 303  # back to the list, with nothing taken
    for path, fields in (("/reviews/bulk/new", plan), (start, sent)):
        for token in ({}, {"action_token": ""}, {"action_token": "no-uuid"}):
            kept = {name: value for name, value in fields.items() if name != "action_token"}
            assert lena.post(path, kept | token).status_code == 422, (path, token)
    assert lena.post("/reviews/pauses/pause", {"scope": "type", "name": "report_ready"}).status_code == 422
    assert not Hold.objects.exists()
    assert BulkRun.objects.count() == 1
    assert BulkRun.objects.get().run is None
    assert not standing(moment())
    assert lena.post(start, sent).status_code == 303


def test_a_retry_of_all_that_a_filter_lists_leaves_the_rest_alone(settings: Any) -> None:
    settings.NOTIFYOPS_UNDO_S = 0
    lena = login("lena")
    wanted = [make_case(workspace="acme") for _ in range(4)]
    others = [make_case(), make_case(cases.UNKNOWN, workspace="acme"), make_case(workspace="other")]
    query = "code=not_sent.refused&workspace=acme"
    offered = read(lena, f"/reviews/bulk/new?{query}").fields["/reviews/bulk/new"]
    lena.post("/reviews/bulk/new", offered | {"do": "retry-all"})
    late = make_case(workspace="acme")
    bulk = BulkRun.objects.get()
    start = f"/reviews/bulk/{bulk.pk}/start"
    sent = read(lena, f"/reviews/bulk/{bulk.pk}/").fields[start]
    sent |= {"reason_code": "provider_recovered", "rate": "200", "canary": "5", "max_bad": "20"}
    assert lena.post(start, sent).status_code == 303
    provider = Provider(bulk)
    carried(BulkRun.objects.get(), provider)
    assert sorted(provider.seen) == [one.pk for one in wanted]
    assert {now(one).state for one in wanted} == {"accepted"}
    assert [now(one).seq for one in (*others, late)] == [one.seq for one in (*others, late)]


def test_a_plan_of_more_than_an_hour_ago_offers_no_start_and_takes_none() -> None:
    lena, made = login("lena"), make_cases(2)
    bulk = planned(made)
    start = f"/reviews/bulk/{bulk.pk}/start"
    sent = read(lena, f"/reviews/bulk/{bulk.pk}/").fields[start]
    sent |= {"reason_code": "provider_recovered", "rate": "5", "canary": "5", "max_bad": "20"}
    BulkRun.objects.using("owner").update(planned_at=bulk.planned_at - timedelta(minutes=61))
    assert start not in read(lena, f"/reviews/bulk/{bulk.pk}/").fields
    refused = lena.post(start, sent)
    assert refused.status_code == 409
    assert "more than an hour old" in refused.content.decode()
    assert BulkRun.objects.get().run is None
    assert [now(one).seq for one in made] == [one.seq for one in made]

"""All that match a filter means exactly these (H-CON-4); who may do it; and what a stolen worker login cannot do."""

from __future__ import annotations

import re
from typing import Any
from uuid import uuid4

import pytest
from django.db import DatabaseError, connection, transaction
from django.test import Client

from notifications import door
from notifications.models import Intent, Run
from notifications.states import EntryKind, State
from reviews.bulk.models import BulkItem, BulkRun
from reviews.models import Review
from tests.reviews import cases
from tests.reviews.bulk_cases import carried, make_cases, outcomes, planned, role, started, steered, who
from tests.reviews.cases import login, make_case

pytestmark = pytest.mark.django_db(transaction=True)
WANTED = "code=not_sent.refused&workspace=acme"


@pytest.mark.slow
def test_all_that_match_are_exactly_those_that_the_plan_counts() -> None:
    """Fifty rows over several pages, two filters at once, the place in the list no part of them."""
    wanted = make_cases(30, workspace="acme")
    others = [*make_cases(12), *make_cases(8, cases.UNKNOWN, workspace="acme")]
    client = login("lena")
    page = client.get(f"/reviews/?{WANTED}&size=25").content.decode()
    link = re.search(r'href="(/reviews/bulk/new\?[^"]+)"', page)
    assert link is not None
    offer = client.get(link[1].replace("&amp;", "&")).content.decode()
    assert "30 cases match now" in offer
    for chip in ("Error code: <b>not_sent.refused</b>", "Workspace: <b>acme</b>"):
        assert chip in offer
    query = re.search(r'name="query" value="([^"]*)"', offer)
    assert query is not None
    said = {"action_token": str(uuid4()), "do": "close-all", "query": query[1].replace("&amp;", "&")}
    plan = client.get(client.post("/reviews/bulk/new", said)["Location"]).content.decode()
    assert "30 of 30 cases are eligible" in plan
    assert "Workspace: <b>acme</b>" in plan
    bulk = carried(started(BulkRun.objects.get()))
    assert outcomes(bulk) == {"closed": 30}
    assert set(BulkItem.objects.filter(bulk=bulk).values_list("intent_id", flat=True)) == {one.pk for one in wanted}
    assert {Intent.objects.get(pk=one.pk).seq for one in others} == {one.seq for one in others}
    assert {Intent.objects.get(pk=one.pk).state for one in others} == {"needs_review"}


@pytest.mark.parametrize("name", ["sam", "vera", "olga", "lena"])
def test_every_address_of_bulk_answers_by_role_and_refuses_without_a_trace_on_the_cases(name: str) -> None:
    intents, client = make_cases(2), login(name)
    planned(intents, "bob_lead")
    mine = name in ("olga", "lena")
    sees = name != "sam"
    said = {"action_token": str(uuid4()), "do": "close-selected", "id": [str(one.pk) for one in intents]}
    assert client.post("/reviews/bulk/new", said).status_code == (303 if mine else 403)
    theirs = started(BulkRun.objects.get(actor="user:bob_lead"), "bob_lead")
    for url in ("/reviews/groups/", "/reviews/bulk/new", f"/reviews/bulk/{theirs.pk}/"):
        assert client.get(url).status_code == (200 if sees else 403), url
    for word in ("pause", "cancel", "resume"):
        expected = 303 if name == "lena" else 403
        assert client.post(f"/reviews/bulk/{theirs.pk}/{word}").status_code == expected, word
        Run.objects.update(state="running", wish="", ended_at=None)
    again = {"action_token": str(theirs.start_token), "reason_code": "provider_recovered"}
    assert client.post(f"/reviews/bulk/{theirs.pk}/start", again).status_code == 403
    assert ("Plan for all" in client.get("/reviews/groups/").content.decode()) is mine
    assert [Intent.objects.get(pk=one.pk).seq for one in intents] == [one.seq for one in intents]
    assert not Review.objects.filter(intent__isnull=False).exists()
    assert Review.objects.filter(outcome="done", actor=f"user:{name}").exists() is (name == "lena")


def test_strangers_reach_the_login_and_nothing_else() -> None:
    bulk, client = planned(make_cases(1)), Client()
    for url in ("/reviews/groups/", "/reviews/bulk/new", f"/reviews/bulk/{bulk.pk}/"):
        assert "login" in client.get(url)["Location"]
    for url in ("/reviews/bulk/new", f"/reviews/bulk/{bulk.pk}/start", f"/reviews/bulk/{bulk.pk}/cancel"):
        assert "login" in client.post(url)["Location"]
    assert not Run.objects.exists()


def test_an_operator_starts_an_own_plan_only_and_steers_an_own_run_only() -> None:
    bulk = started(planned(make_cases(2), "olga"), "olga")
    assert steered(bulk, "pause", "olga")
    other = started(planned(make_cases(2), "lena"))
    assert login("olga").post(f"/reviews/bulk/{other.pk}/pause").status_code == 403
    assert who("lena").leads
    assert steered(bulk, "cancel", "lena")


def close(intent: Intent, bulk: BulkRun | None, **said: Any) -> str | None:
    """Try to close a case in Lena's name, as whoever the connection is; give the door's refusal."""
    facts: dict[str, Any] = {"reason_code": "duplicate", "seq": intent.seq} | said
    if bulk is not None:
        facts["detail"] = {"bulk": bulk.pk}
    with transaction.atomic():
        entry = door.Entry(id=intent.pk, to_state=State.CLOSED, **facts)
        (done,) = door.append(EntryKind.CLOSED, [entry], actor=said.pop("actor", "user:lena"))
    return done.refused


def test_a_worker_decides_only_what_a_person_ordered() -> None:
    """Each condition is missed once; with all of them met the worker may write exactly this entry, once."""
    chosen, other = make_case(), make_case()
    plan = planned([chosen], verb="close")
    with role("worker"):
        assert close(chosen, plan) == "role"  # planned is not ordered
    bulk = started(plan)
    with role("worker"):
        assert close(chosen, None) == "role"
        assert close(other, bulk) == "role"
        assert close(chosen, bulk, reason_code="test_data") == "role"
        with transaction.atomic():
            entry = door.Entry(id=chosen.pk, to_state=State.CLOSED, seq=chosen.seq, reason_code="duplicate",
                               detail={"bulk": bulk.pk})  # fmt: skip
            assert door.append(EntryKind.CLOSED, [entry], actor="user:vera")[0].refused == "role"
            entry = entry._replace(to_state=State.RETRY)
            assert door.append(EntryKind.RETRIED, [entry], actor="user:lena")[0].refused == "role"
        Run.objects.update(state="paused", ended_at="2026-01-01T00:00:00Z")
        assert close(chosen, bulk) == "role"
        with role("web"):
            Run.objects.update(state="running", ended_at=None)
        assert close(chosen, bulk) is None
        chosen.refresh_from_db()
        assert close(chosen, bulk) in ("role", "move")


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO reviews_review (intent_id, action, actor, outcome, action_token) "
        "VALUES (1, 'close', 'user:lena', 'done', gen_random_uuid())",
        "UPDATE reviews_bulkitem SET intent_id = intent_id + 1",
        "UPDATE reviews_bulkitem SET seq = seq + 1",
        "UPDATE reviews_bulkrun SET actor = 'user:lena'",
        "INSERT INTO reviews_bulkitem (bulk_id, place, intent_id, seq) SELECT id, 99, 1, 1 FROM reviews_bulkrun",
        "DELETE FROM reviews_bulkitem",
    ],
)
def test_a_worker_makes_up_no_order_and_no_record(statement: str) -> None:
    started(planned(make_cases(1), verb="close"))
    with role("worker"), pytest.raises(DatabaseError), connection.cursor() as cursor:
        cursor.execute(statement)


def test_the_frozen_list_stays_as_it_is_for_its_owner_too() -> None:
    bulk = carried(started(planned(make_cases(1), verb="close")))
    for change in ("outcome = 'left'", "seq = 1", "intent_id = 7"):
        with role("owner"), pytest.raises(DatabaseError, match="frozen"), connection.cursor() as cursor:
            cursor.execute(f"UPDATE reviews_bulkitem SET {change} WHERE bulk_id = %s", [bulk.pk])

"""The way of a person: queue or groups, plan, start, progress; each step by plain forms, and nothing by a GET."""

from __future__ import annotations

import re
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client

from notifications.models import ConfigRevision, Intent, ProviderAccount
from reviews.bulk.models import BulkItem, BulkRun
from reviews.models import Review
from tests.reviews import cases
from tests.reviews.bulk_cases import FAILS, Provider, carried, make_cases, outcomes, planned, started
from tests.reviews.cases import go_on, login, make_case
from tests.reviews.deciding import decide

pytestmark = pytest.mark.django_db(transaction=True)


def ask(client: Client, do: str, ids: list[int] | None = None, query: str = "", **more: Any) -> Any:
    fields = {"action_token": str(uuid4()), "do": do, "id": ids or [], "query": query}
    return client.post("/reviews/bulk/new", fields | more)


def begin(client: Client, bulk: BulkRun, **more: Any) -> Any:
    fields = {"action_token": str(bulk.start_token), "reason_code": "provider_recovered", "reason": "", "rate": "200",
              "canary": "5", "max_bad": "20", "typed": ""}  # fmt: skip
    return client.post(f"/reviews/bulk/{bulk.pk}/start", fields | more)


def html_of(client: Client, url: str, **headers: str) -> str:
    response = client.get(url, headers=headers)
    assert response.status_code == 200
    return response.content.decode()


def test_select_plan_start_and_see_what_came_of_it(settings: Any) -> None:
    settings.NOTIFYOPS_UNDO_S = 0
    first, second = make_cases(2)
    bounced = make_case(cases.BOUNCED)
    other = make_case()
    client = login("olga")
    page = html_of(client, "/reviews/")
    assert page.count('form="bulk"') == 4
    answer = ask(client, "retry-selected", [first.pk, second.pk, bounced.pk])
    bulk = BulkRun.objects.get()
    assert (answer.status_code, answer["Location"]) == (303, f"/reviews/bulk/{bulk.pk}/")
    plan = html_of(client, f"/reviews/bulk/{bulk.pk}/")
    for fact in ("2 of 3 cases are eligible", "Selected one by one.", "The receiving server refused this address",
                 first.notification_id, "Retry 2 cases"):  # fmt: skip
        assert fact in plan, fact
    assert re.search(r'<option value="[a-z_]+"[^>]*selected', plan.split("h-start")[1].split("<textarea")[0]) is None
    assert begin(client, bulk).status_code == 303
    bulk = carried(BulkRun.objects.get(), Provider(bulk))
    done = html_of(client, f"/reviews/bulk/{bulk.pk}/")
    assert "2 of 2 with an outcome (100 %)" in done
    assert f'href="/reviews/{first.pk}/"' in done
    case = html_of(client, f"/reviews/{first.pk}/")
    assert f'href="/reviews/bulk/{bulk.pk}/"' in case
    for intent in (bounced, other):
        assert Intent.objects.get(pk=intent.pk).seq == intent.seq


def test_a_get_changes_nothing_and_neither_does_a_plan(django_assert_max_num_queries: Any) -> None:
    intents = make_cases(3)
    client = login("lena")
    html_of(client, "/reviews/bulk/new?code=not_sent.refused")
    html_of(client, "/reviews/groups/")
    assert not BulkRun.objects.exists()
    ask(client, "close-all", query="code=not_sent.refused")
    bulk = BulkRun.objects.get()
    with django_assert_max_num_queries(11):
        html_of(client, f"/reviews/bulk/{bulk.pk}/")
    assert client.get(f"/reviews/bulk/{bulk.pk}/start").status_code == 405
    assert client.get(f"/reviews/bulk/{bulk.pk}/cancel").status_code == 405
    assert [Intent.objects.get(pk=one.pk).seq for one in intents] == [one.seq for one in intents]
    assert not Review.objects.exists()


def test_an_order_without_the_plans_token_or_the_typed_number_is_422() -> None:
    bulk, client = planned(make_cases(2)), login("lena")
    for token in ("", "x", str(uuid4()), str(bulk.plan_token)):
        assert begin(client, bulk, action_token=token).status_code == 422, token
    for wrong in ({"reason_code": ""}, {"reason_code": "evidence_not_sent"}, {"reason_code": "other"}, {"rate": "0"},
                  {"rate": "7"}, {"canary": "0"}, {"canary": "x"}, {"max_bad": "99"},
                  {"reason": "write to ana@example.com"}):  # fmt: skip
        refused = begin(client, bulk, **wrong)
        assert refused.status_code == 422, wrong
        assert 'role="alert"' in refused.content.decode()
    assert BulkRun.objects.get().run is None
    BulkRun.objects.update(eligible_count=201)
    assert begin(client, bulk).status_code == 422
    assert begin(client, bulk, typed="200").status_code == 422
    assert begin(client, bulk, typed="201").status_code == 303


def test_the_same_form_twice_makes_one_plan_and_one_run() -> None:
    client, token, ids = login("olga"), str(uuid4()), [one.pk for one in make_cases(2)]
    places = {ask(client, "retry-selected", ids, action_token=token)["Location"] for _ in range(2)}
    assert len(places) == BulkRun.objects.count() == 1
    bulk = BulkRun.objects.get()
    assert begin(client, bulk).status_code == 303
    again = begin(client, bulk)
    assert again.status_code == 200
    assert "Already started by you at" in again.content.decode()
    bulk = carried(bulk, lambda: bool(BulkItem.objects.filter(bulk=bulk, outcome="released").exists()))
    assert outcomes(bulk) == {"released": 2}
    assert Review.objects.filter(intent__isnull=False).count() == 2
    assert Review.objects.filter(intent__isnull=True).count() == 1


def test_bad_forms_plan_nothing_and_say_why() -> None:
    client, intent = login("lena"), make_case()
    for said in ({"do": "resend-all"}, {"do": "retry-selected", "id": ["x"]}, {"do": "retry-selected"},
                 {"do": "retry-all", "query": "cod=1"}, {"do": "retry-all", "query": "code=none"},
                 {"do": "retry-selected", "id": [str(intent.pk)], "action_token": "x"}):  # fmt: skip
        answer = client.post("/reviews/bulk/new", {"action_token": str(uuid4())} | said)
        assert answer.status_code == 422, said
        assert 'role="alert"' in answer.content.decode(), said
    assert not BulkRun.objects.exists()
    assert client.get("/reviews/bulk/99/").status_code == 404
    assert begin(client, BulkRun(pk=99, start_token=uuid4())).status_code == 404
    assert client.post("/reviews/bulk/99/pause").status_code == 404
    assert client.post("/reviews/bulk/99/explode").status_code == 404


def test_without_a_row_ticked_the_whole_list_is_planned_by_a_further_step_that_names_its_number() -> None:
    make_cases(3)
    client = login("olga")
    answer = ask(client, "retry-selected")
    html = answer.content.decode()
    assert answer.status_code == 422
    offer = html[html.index('<details id="whole">') : html.index("</details>", html.index('<details id="whole">'))]
    assert "Plan for all these 3 cases instead of the cases that you tick" in offer
    assert ("Plan a retry of 3 cases" in offer, "Plan a close of 3 cases" in offer) == (True, True)
    assert html.count('value="retry-all"') == offer.count('value="retry-all"') == 1
    assert "primary" not in offer
    asked_for = html_of(client, "/reviews/bulk/new")
    assert '<details id="whole">' not in asked_for
    assert "Plan a retry of 3 cases" in asked_for


@pytest.mark.slow
def test_a_run_with_one_failure_is_not_done_and_says_what_failed(settings: Any) -> None:
    settings.NOTIFYOPS_UNDO_S = 0
    bulk = started(planned(make_cases(7)), max_bad=50)
    bulk = carried(bulk, Provider(bulk, fails=1))
    page = html_of(login("vera"), f"/reviews/bulk/{bulk.pk}/")
    assert "Ended, and not all of it went well" in page
    assert "host name could not be resolved" in page
    assert 'hx-trigger="every 2s"' not in page
    listed = html_of(login("vera"), f"/reviews/bulk/{bulk.pk}/?outcome=failed")
    lines = listed.split('id="h-items"')[1]
    assert lines.split("<tbody")[1].count("<tr") == 1
    assert login("vera").get(f"/reviews/runs/{bulk.run_id}/").status_code == 302


def test_progress_asks_for_itself_while_it_runs_only_as_a_fragment() -> None:
    bulk = started(planned(make_cases(2)))
    page = html_of(login("vera"), f"/reviews/bulk/{bulk.pk}/")
    assert 'hx-trigger="every 2s"' in page
    assert "0 of 2 with an outcome (0 %)" in page
    assert "Cancel for good" not in page
    part = html_of(login("vera"), f"/reviews/bulk/{bulk.pk}/?shown=running-0", **{"HX-Request": "true"})
    assert part.lstrip().startswith('<section id="progress"')


def test_a_mended_configuration_releases_its_group_in_one_planned_run(settings: Any) -> None:
    from notifications.cli import seed
    from notifications.states import NextAction

    settings.NOTIFYOPS_UNDO_S = 0
    wrong = seed.rejected("resend.403.validation_error", 403, NextAction.FIX_CONFIG)
    intents = make_cases(3, wrong)
    client = login("lena")
    account = ProviderAccount.objects.get()
    link = f"/admin/notifications/provideraccount/{account.pk}/change/"
    assert link in html_of(client, "/reviews/groups/")
    assert link in html_of(client, f"/reviews/{intents[0].pk}/")
    assert "configuration changed" not in html_of(client, "/reviews/groups/")
    ConfigRevision.objects.create(account=account, revision=12, actor="user:lena", reason="New sender.", after={})
    groups = html_of(client, "/reviews/groups/")
    assert "configuration changed, revision 12" in groups
    url = re.search(r'href="(/reviews/bulk/new\?[^"]+configuration_fixed)"', groups)
    assert url is not None
    offer = html_of(client, url[1].replace("&amp;", "&"))
    assert "3 cases match now" in offer
    query = re.search(r'name="query" value="([^"]*)"', offer)
    assert query is not None
    answer = ask(client, "retry-all", query=query[1].replace("&amp;", "&"), reason_code="configuration_fixed")
    plan = html_of(client, answer["Location"])
    assert '<option value="configuration_fixed" selected>' in plan
    bulk = BulkRun.objects.get()
    assert begin(client, bulk, reason_code="configuration_fixed").status_code == 303
    assert outcomes(carried(bulk, Provider(bulk))) == {"accepted": 3}


def test_a_plan_says_how_many_were_retried_by_hand_before(settings: Any) -> None:
    settings.NOTIFYOPS_UNDO_S = 0
    first, second = make_cases(2)
    decide("retry", first, "olga", "code_fixed", text="")
    go_on(Intent.objects.get(pk=first.pk), *FAILS)
    lena = login("lena")
    said = "1 of these was retried by hand before."
    assert said in html_of(lena, f"/reviews/bulk/{planned([first, second]).pk}/")
    assert said not in html_of(lena, f"/reviews/bulk/{planned([second]).pk}/")
    assert said not in html_of(lena, f"/reviews/bulk/{planned([first, second], verb='close').pk}/")

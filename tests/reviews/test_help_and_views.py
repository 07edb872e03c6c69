"""Help says what is meant and what one may do; saved views are one's own or shared, by permission."""

from __future__ import annotations

import re

import pytest
from django.utils import translation

from notifications.policy.codes import REVIEW_CODES, SERVICE_CODES, SMTP_CODES, TRANSPORT_CODES, WEBHOOK_CODES
from notifications.policy.cures import CURES
from reviews import code_classes, hints
from reviews.models import POWERS, VERBS, SavedView
from tests.reviews import cases
from tests.reviews.cases import login, make_case

pytestmark = [pytest.mark.django_db(databases=["default", "owner"]), pytest.mark.role("owner")]


def save(who: str, name: str, query: str = "known=unknown", **more: str):
    return login(who).post("/reviews/views", {"name": name, "query": query} | more)


def views_of(who: str) -> list[str]:
    html = login(who).get("/reviews/").content.decode()
    return re.findall(r'<a class="name" href="[^"]*">([^<]+)</a>', html)


def test_help_explains_every_code_and_says_what_may_be_done_and_why_not() -> None:
    html = login("olga").get("/reviews/help/").content.decode()
    for code in (*REVIEW_CODES, *TRANSPORT_CODES, *SMTP_CODES, *WEBHOOK_CODES, *SERVICE_CODES):
        assert f'id="code-{code}"' in html
    may = html[html.index('<section id="may"') : html.index('<section id="risks"')]
    assert may.count("<tr>") == 1 + len(VERBS) + len(POWERS)
    assert "ask a lead." in html
    assert "no</span><small>" not in login("lena").get("/reviews/help/").content.decode()


@pytest.mark.parametrize("code", [*REVIEW_CODES, *TRANSPORT_CODES, *SMTP_CODES, *WEBHOOK_CODES, *SERVICE_CODES])
def test_every_code_of_a_case_has_its_cure_and_its_kind_in_both_languages(code) -> None:
    assert hints.cure(code)
    assert code_classes.class_of(code) in code_classes.CLASSES
    with translation.override("zh-hans"):
        assert re.search("[\u4e00-\u9fff]", hints.cure(code))
    assert set(CURES) == {*REVIEW_CODES, *TRANSPORT_CODES, *SMTP_CODES, *WEBHOOK_CODES, *SERVICE_CODES}


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("resend.401.missing_api_key", "configuration"),
        ("resend.422.validation_error", "refused"),
        ("resend.500.internal", "unanswered"),
        ("other.code", ""),
    ],
)
def test_a_providers_code_has_its_kind_by_its_status(code, kind) -> None:
    assert code_classes.class_of(code) == kind


def test_the_kind_of_error_is_a_filter_in_review_and_outside() -> None:
    make_case(cases.NOT_SENT, "net")
    make_case(cases.RECIPIENT, "refused")
    make_case(cases.BOUNCED, "back")
    client = login("olga")

    def listed(query: str) -> list[str]:
        html = client.get(f"/reviews/?{query}").content.decode()
        return re.findall(r'<a class="id" href="/reviews/\d+/">report-ready/(\w+)<', html)

    for kind, name in (("not_sent", "net"), ("refused", "refused"), ("returned", "back")):
        assert listed(f"kind={kind}") == [name]
        assert listed(f"kind={kind}&state=any") == [name]
    assert listed("kind=configuration") == []


def test_a_view_is_ones_own_until_it_is_shared() -> None:
    assert save("olga", "My unknowns").status_code == 303
    assert save("olga", "For all", share="yes")["Location"] == "/reviews/?known=unknown"
    assert views_of("olga") == ["For all", "My unknowns"]
    assert views_of("lena") == ["For all"]


def test_the_place_in_the_list_and_empty_fields_are_not_saved_and_a_name_is_saved_anew() -> None:
    save("olga", "A  view\nof mine", "known=unknown&code=&after=infinity_4&size=25&sort=oldest")
    view = SavedView.objects.get()
    assert (view.name, view.query, view.owner) == ("A view of mine", "known=unknown&size=25&sort=oldest", "olga")
    save("olga", "A view of mine", "known=not_sent")
    assert SavedView.objects.get().query == "known=not_sent"


@pytest.mark.parametrize(
    ("name", "query", "said"),
    [
        ("", "", "Give the view a name"),
        ("x" * 61, "", "Give the view a name"),
        ("a\u202eb", "", "Give the view a name"),
        ("ana@example.com", "", "an e-mail address"),
        ("fine", "q=ana@example.com", "an e-mail address"),
        ("fine", "known=nonsense", "cannot be read"),
        ("fine", "cod=x", "cannot be read"),
        ("fine", "q=" + "x" * 1600, "too long"),
    ],
)
def test_what_cannot_be_kept_is_refused_in_words(name, query, said) -> None:
    client = login("olga")
    answer = client.post("/reviews/views", {"name": name, "query": query})
    assert answer.status_code == 422
    html = answer.content.decode()
    assert said in html
    assert 'role="alert"' in html
    # At the field, where it is one; else the focus is on the sentence.
    assert html.count("autofocus") == 1
    is_of_the_name = name != "fine"
    field = re.search(r'<input name="name"[^>]*>', html)
    assert (
        'aria-invalid="true" autofocus aria-describedby="fault-save_view"' in (field[0] if field else "")
    ) is is_of_the_name
    assert ('id="fault-save_view"' in html) is is_of_the_name
    if is_of_the_name:
        assert f'value="{name}"' in html
        assert 'name="query" value="' + query.replace("&", "&amp;") in html
    assert not SavedView.objects.exists()


def test_who_may_share_delete_and_see() -> None:
    assert save("vera", "Mine").status_code == 303
    assert save("vera", "Ours", share="yes").status_code == 403
    assert save("sam", "Mine").status_code == 403
    save("olga", "Ours", share="yes")
    ours, private = SavedView.objects.get(name="Ours"), SavedView.objects.get(name="Mine")
    assert save("lena", "Ours", share="yes").status_code == 422
    assert SavedView.objects.filter(name="Ours").count() == 1, "one name, one shared view"
    assert login("vera").post(f"/reviews/views/{ours.pk}/delete").status_code == 403
    assert login("lena").post(f"/reviews/views/{private.pk}/delete").status_code == 404
    assert login("lena").get(f"/reviews/views/{ours.pk}/delete").status_code == 405
    assert login("vera").post(f"/reviews/views/{private.pk}/delete").status_code == 303
    assert login("lena").post(f"/reviews/views/{ours.pk}/delete").status_code == 303
    assert not SavedView.objects.exists()


def test_thirty_views_are_enough() -> None:
    SavedView.objects.bulk_create(SavedView(name=f"v{n}", query="", owner="olga") for n in range(30))
    save("olga", "one more")
    assert SavedView.objects.count() == 30
    save("olga", "v3", "known=unknown")
    assert SavedView.objects.get(name="v3").query == "known=unknown"


def test_a_name_that_is_shared_already_is_marked_at_its_field_and_what_was_chosen_stays() -> None:
    save("lena", "Ours", share="yes")
    answer = save("olga", "Ours", "code=none", share="yes")
    html = answer.content.decode()
    assert answer.status_code == 422
    assert re.search(r'<input name="name"[^>]*value="Ours"[^>]*aria-invalid="true"', html)
    assert 'name="share" value="yes" checked' in html
    assert 'name="query" value="code=none"' in html
    assert SavedView.objects.count() == 1


@pytest.mark.parametrize("url", ["/reviews/?known=nonsense", "/reviews/?known=nonsense&q=r-1"])
def test_a_filter_that_cannot_be_read_is_marked_at_its_field_with_the_reason_beside_it(url) -> None:
    html = login("olga").get(url).content.decode()
    field = re.search(r'<select name="known"[^>]*>', html)
    assert field is not None
    assert 'aria-invalid="true"' in field[0]
    (described,) = re.findall(r'aria-describedby="([^"]+)"', field[0])
    assert all(f'id="{one}"' in html for one in described.split())
    assert "<details open>" in html


def test_the_offer_of_a_plan_names_the_filter_that_cannot_be_read() -> None:
    answer = login("lena").get("/reviews/bulk/new?known=nonsense&cod=1")
    html = answer.content.decode()
    assert answer.status_code == 422
    assert "There is no filter named “cod”" in html
    assert "nonsense" in html[html.index('id="problems"') :]
    assert 'role="alert" tabindex="-1" autofocus' in html

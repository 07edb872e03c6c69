"""The action itself refuses whom nobody permitted, whatever page or program calls it; and what it does not know."""

from __future__ import annotations

from dataclasses import replace

import pytest

from notifications.models import Intent
from reviews import actions
from reviews.models import VERBS, Review
from reviews.person import Person, from_host
from reviews.refusals import NotPermitted
from tests.reviews.cases import make_case, order
from tests.reviews.deciding import person

pytestmark = [pytest.mark.django_db(databases=["default", "owner"]), pytest.mark.role("owner")]
WHY = "Looked at it together with the owner."


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_is_refused_to_whoever_has_all_others(verb: str) -> None:
    intent = make_case()
    all_but_it = replace(from_host(), verbs=frozenset(VERBS) - {verb})
    wish = replace(order(intent, "other", WHY), confirmed=True, minutes=15, address="bea@example.com")
    for nobody in (all_but_it, Person("user:sam", None, frozenset())):
        with pytest.raises(NotPermitted):
            actions.perform(verb, intent.pk, wish, nobody)
    assert Intent.objects.get(pk=intent.pk).seq == intent.seq
    assert set(Review.objects.values_list("outcome", "refusal")) == {("refused", "not_permitted")}
    with pytest.raises(NotPermitted):  # before it is looked up: who may nothing learns nothing
        actions.perform(verb, 999_999, wish, all_but_it)


def test_a_word_that_is_no_verb_is_refused_to_everybody() -> None:
    intent = make_case()
    for who in (from_host(), person("lena")):
        with pytest.raises(NotPermitted):
            actions.perform("delete", intent.pk, order(intent), who)

"""The demo people of a first run: made once, and never at the cost of somebody's account."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from notifyops import people

OLGA = {"username": "olga", "password": "kept-1", "role": "operator"}
LENA = {"username": "lena", "password": "kept-2", "role": "lead"}
VERA = {"username": "vera", "password": "kept-3", "role": "viewer"}


@pytest.mark.django_db
def test_each_person_is_in_the_group_of_the_role_and_the_lead_reaches_the_admin() -> None:
    assert people.make([OLGA, LENA, VERA]) == ["olga", "lena", "vera"]
    found = {user.username: user for user in User.objects.all()}
    groups = {name: user.groups.get().name for name, user in found.items()}
    assert groups == {"olga": "Operators", "lena": "Leads", "vera": "Viewers"}
    assert [name for name, user in found.items() if user.is_staff] == ["lena"]
    assert not any(user.is_superuser for user in found.values())


@pytest.mark.django_db
def test_an_interrupted_first_run_goes_on_with_the_same_passwords() -> None:
    assert people.make([OLGA]) == ["olga"]
    assert people.make([OLGA, VERA]) == ["olga", "vera"]
    assert User.objects.count() == 2


@pytest.mark.django_db
def test_an_account_that_was_there_keeps_its_password() -> None:
    User.objects.create_user("olga", password="her own")
    assert people.make([OLGA, VERA]) == ["vera"]
    assert User.objects.get(username="olga").check_password("her own")

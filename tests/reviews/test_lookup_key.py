"""The look-up key of an account: a reference of its own, changed in the admin with a reason and a revision."""

from __future__ import annotations

import pytest

from notifications.models import ConfigRevision, ProviderAccount
from tests.reviews.test_admin import EDIT, boss, fields

pytestmark = [pytest.mark.django_db(databases=["default", "owner"]), pytest.mark.role("owner")]
USUAL = "env:NOTIFYOPS_RESEND_LOOKUP_KEY"


@pytest.mark.parametrize("reference", ["", "env:NOTIFYOPS_OTHER_LOOKUP_KEY"])
def test_the_look_up_key_has_a_reference_and_a_revision_of_its_own(reference) -> None:
    account = ProviderAccount.objects.get(name="resend")
    response = boss().post(EDIT.format(account.pk), fields(account, lookup_key_ref=reference))
    assert response.status_code == 302
    assert ProviderAccount.objects.get(pk=account.pk).lookup_key_ref == reference
    revision = ConfigRevision.objects.get(account=account)
    assert revision.before is not None
    assert (revision.before["lookup_key_ref"], revision.after["lookup_key_ref"]) == (USUAL, reference)


@pytest.mark.parametrize("reference", ["re_secret_key", "env:lower", "env:", "NOTIFYOPS_RESEND_LOOKUP_KEY"])
def test_the_key_itself_is_refused_where_its_name_belongs(reference) -> None:
    account = ProviderAccount.objects.get(name="resend")
    response = boss().post(EDIT.format(account.pk), fields(account, lookup_key_ref=reference))
    assert response.status_code == 200
    assert "errorlist" in response.content.decode()
    assert ProviderAccount.objects.get(pk=account.pk).lookup_key_ref == USUAL
    assert not ConfigRevision.objects.exists()

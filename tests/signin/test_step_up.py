"""What cannot be taken back wants the second factor once more, on a live site: in the action, not only on the page."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from notifications.models import Intent, Pause, ProviderAccount
from reviews import actions, rules
from reviews.models import Review
from reviews.refusals import NotProven
from reviews.signin import proof
from tests.reviews import cases
from tests.reviews.cases import make_case, order, post
from tests.reviews.deciding import person
from tests.signin.factors import SHOW, code_of, put_back, required, shown

pytestmark = pytest.mark.django_db(transaction=True)
WHY = "Agreed with the owner of the report."
WANTED = {
    "withdraw": (cases.NOT_SENT, {"reason_code": "sent_in_error", "reason": WHY}),
    "correct": (cases.BOUNCED, {"address": "bea@example.com", "reason": WHY}),
    "adopt": (cases.FOUND_TWICE, {"reason_code": "evidence_found"}),
    "resend": (cases.UNDECIDED, {"reason": WHY, "confirmed": "yes"}),
}


def old(client: Client, settings: Any) -> Client:
    """Let the second factor of this browser be older than a lead's decision may have it."""
    put_back(client, proof.SHOWN, settings.NOTIFYOPS_STEP_UP_S + 1)
    return client


def test_every_verb_that_wants_it_is_tried_here() -> None:
    assert set(WANTED) == rules.PROVEN


@pytest.mark.parametrize("verb", WANTED)
def test_an_old_second_factor_refuses_and_a_fresh_one_lets_it_pass(settings: Any, verb: str) -> None:
    required(settings)
    client = old(shown("lena"), settings)
    steps, fields = WANTED[verb]
    intent = make_case(steps)
    more = fields | ({"typed": intent.report_id} if verb == "resend" else {})
    page = client.get(f"/reviews/{intent.pk}/").content.decode()
    assert f'action="/reviews/{intent.pk}/{verb}"' not in page
    assert f"{SHOW}?next=/reviews/{intent.pk}/" in page
    refused = post(client, intent, verb, **more)
    assert refused.status_code == 422
    assert "This needs your second factor once more" in refused.content.decode()
    assert (Review.objects.get().refusal, Intent.objects.get(pk=intent.pk).seq) == ("second_factor", intent.seq)
    from django_otp.plugins.otp_totp.models import TOTPDevice

    client.post(SHOW, {"code": code_of(TOTPDevice.objects.get())})
    assert f'action="/reviews/{intent.pk}/{verb}"' in client.get(f"/reviews/{intent.pk}/").content.decode()
    assert post(client, intent, verb, **more).status_code == 303


def test_the_second_lead_of_a_resend_shows_it_too_and_another_approval_does_not(settings: Any) -> None:
    required(settings)
    intent = make_case(cases.UNDECIDED)
    post(shown("bob_lead"), intent, "resend", typed=intent.report_id, confirmed="yes", reason=WHY)
    client = old(shown("lena"), settings)
    now = Intent.objects.get(pk=intent.pk)
    assert post(client, now, "approve", confirmed="yes", reason=WHY).status_code == 422
    held = make_case((), type="report_approved")
    assert post(client, held, "approve", reason_code="content_checked").status_code == 303


def test_what_can_be_taken_back_passes_with_an_old_one(settings: Any) -> None:
    required(settings)
    client = old(shown("lena"), settings)
    assert post(client, make_case(), "retry", reason_code="provider_recovered").status_code == 303
    assert post(client, make_case(), "close", reason_code="duplicate").status_code == 303


def test_the_action_itself_refuses_whatever_page_or_program_calls_it(settings: Any) -> None:
    """A person that did not come by a marked request is nobody who has shown anything."""
    lena = person("lena")
    intent = make_case()
    required(settings)
    with pytest.raises(NotProven):
        actions.perform("withdraw", intent.pk, order(intent, "sent_in_error", WHY), person("lena"))
    actions.perform("withdraw", intent.pk, order(intent, "sent_in_error", WHY), lena)


def test_the_terminal_needs_none(settings: Any) -> None:
    required(settings)
    intent = make_case()
    call_command("review", "withdraw", str(intent.pk), "--reason-code", "sent_in_error", "--reason", WHY)
    assert Intent.objects.get(pk=intent.pk).state == "cancelled"


def test_pausing_and_resuming_want_it(settings: Any) -> None:
    required(settings)
    client = old(shown("lena"), settings)
    wish = {"scope": "type", "name": "report_ready", "minutes": "15", "reason_code": "maintenance", "reason": WHY}
    refused = client.post("/reviews/pauses/pause", wish)
    assert refused.status_code == 422
    assert f"{SHOW}?next=/reviews/pauses/" in refused.content.decode()
    assert not Pause.objects.exists()
    settings.NOTIFYOPS_STEP_UP_S = 86_400
    assert client.post("/reviews/pauses/pause", wish).status_code == 303
    settings.NOTIFYOPS_STEP_UP_S = 900
    pause = Pause.objects.get()
    assert client.post(f"/reviews/pauses/{pause.pk}/resume", {"reason": WHY}).status_code == 422
    account = ProviderAccount.objects.get()
    assert client.post(f"/reviews/pauses/accounts/{account.pk}/close", {"reason": WHY}).status_code == 422


def test_every_change_in_the_admin_wants_it_and_reading_does_not(settings: Any) -> None:
    required(settings)
    client = old(shown("lena"), settings)
    account = ProviderAccount.objects.get()
    url = f"/admin/notifications/provideraccount/{account.pk}/change/"
    assert client.get(url).status_code == 200
    refused = client.post(url, {"reason": WHY})
    assert refused.status_code == 403
    assert "Nothing was changed." in refused.content.decode()
    assert client.post("/admin/notifications/apitoken/add/", {}).status_code == 403
    settings.NOTIFYOPS_STEP_UP_S = 86_400
    assert client.post(url, {"reason": WHY}).status_code == 200, "the form with its errors"


def test_where_none_is_required_nothing_changes() -> None:
    client = cases.login("lena")
    assert post(client, make_case(), "withdraw", reason_code="sent_in_error", reason=WHY).status_code == 303

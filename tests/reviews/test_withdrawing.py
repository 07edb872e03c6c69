"""Taking back, declining, and erasing: nothing more is sent, the record stays, and it verifies."""

from __future__ import annotations

import pytest
from django.db import DatabaseError, transaction

from notifications import door, outbox
from notifications.cli import seed
from notifications.doctor import check_moved
from notifications.models import Content, Intent, Prepared
from notifications.states import EntryKind, Outcome, State
from reviews.refusals import BadReason, NotAllowedNow, NotPermitted
from tests.intake.notify_cli import notify
from tests.reviews import cases
from tests.reviews.cases import login, make_case
from tests.reviews.deciding import correct, decide, last, now

pytestmark = [pytest.mark.django_db(databases=["default", "owner"]), pytest.mark.role("owner")]
RETRY = seed.attempt(Outcome.NOT_SENT, "not_sent.refused", State.RETRY)
MAYBE = seed.attempt(Outcome.UNKNOWN, "unknown.deadline", State.RETRY)
SENDING = (seed.Step(EntryKind.CLAIMED),)


@pytest.mark.parametrize(
    ("steps", "maybe"),
    [((), False), (RETRY, False), (MAYBE, True), (cases.NOT_SENT, False), (cases.WINDOW_OVER, True),
     (cases.CONFLICT, True), (cases.BOUNCED, True)],
)  # fmt: skip
def test_what_has_not_left_is_taken_back_and_what_may_have_left_says_so(steps, maybe) -> None:
    intent = make_case(steps)
    done = decide("withdraw", intent, code="sent_in_error")
    assert (now(intent).state, last(intent).kind) == ("cancelled", "withdrawn")
    assert bool(done.after.get("maybe_sent")) is maybe
    html = login("lena").get(f"/reviews/{intent.pk}/").content.decode()
    assert ("may have reached the recipient" in html) is maybe
    assert Content.objects.get(pk=intent.pk).recipient is not None


def test_persons_and_applications_mean_the_same_by_maybe_sent() -> None:
    for steps in (RETRY, MAYBE, cases.CONFLICT, cases.WINDOW_OVER, ()):
        by_person, by_caller = make_case(steps), make_case(steps)
        after = decide("withdraw", by_person, code="sent_in_error").after
        outcome = outbox.cancel(by_caller.notification_id, "ordered in error").outcome
        assert (outcome == "cancelled_maybe_sent") is bool(after.get("maybe_sent"))


@pytest.mark.parametrize(
    ("steps", "sentence"),
    [(SENDING, "A worker is sending this now"), (cases.ACCEPTED, "cannot be taken back"),
     (cases.DELIVERED, "cannot be taken back")],
)  # fmt: skip
def test_what_has_left_is_not_taken_back(steps, sentence) -> None:
    intent = make_case(steps)
    with pytest.raises(NotAllowedNow, match=sentence):
        decide("withdraw", intent, code="sent_in_error")
    assert now(intent).seq == intent.seq


def test_reason_and_text_are_wanted_and_only_a_lead_may() -> None:
    intent = make_case()
    for code, text in (
        ("", "Agreed with the owner."),
        ("privacy_request", ""),
        ("duplicate", "Agreed with the owner."),
    ):
        with pytest.raises(BadReason):
            decide("withdraw", intent, code=code, text=text)
    for name in ("olga", "vera", "sam"):
        with pytest.raises(NotPermitted):
            decide("withdraw", intent, name, "privacy_request")
    decide("withdraw", intent, code="privacy_request")
    with pytest.raises(NotAllowedNow, match="has ended already"):
        decide("withdraw", now(intent), code="privacy_request")


@pytest.mark.parametrize("steps", [(), MAYBE, cases.NOT_SENT, cases.WINDOW_OVER, cases.BOUNCED])
def test_erasing_leaves_a_story_without_content_that_every_page_and_command_can_tell(steps) -> None:
    intent = make_case(steps, "r-1", recipient="canary.local@example.com")
    done = decide("withdraw", intent, code="privacy_request", erase=True)
    assert done.after["erased"] == 1
    content = Content.objects.get(pk=intent.pk)
    assert (content.recipient, content.data, content.salt, bytes(content.commitment)) == (None, None, None, b"")
    assert content.erased_at is not None
    assert [(one.body, one.subject) for one in Prepared.objects.filter(intent_id=intent.pk)] == [(None, None)] * bool(
        steps
    )
    assert check_moved(0)[0] == []
    lena = login("lena")
    for url in (f"/reviews/{intent.pk}/", "/reviews/?state=any", f"/admin/notifications/intent/{intent.pk}/change/"):
        assert "canary" not in lena.get(url).content.decode()
    assert "<dd>erased</dd>" in lena.get(f"/reviews/{intent.pk}/").content.decode()
    for verb in ("show", "explain"):
        assert "canary" not in notify(verb, intent.notification_id).out
    assert "content erased" in notify("explain", intent.notification_id).out
    assert notify("verify").code == 0


def test_erasing_takes_the_whole_line_of_corrected_addresses() -> None:
    first = make_case(cases.BOUNCED)
    undone = correct(first, "first.canary@example.com")
    decide("undo", undone, code="clicked_by_mistake")
    decide("reopen", now(first), code="closed_by_mistake")
    new = correct(now(first))
    done = decide("withdraw", new, code="privacy_request", erase=True)
    assert done.after["erased"] == 3
    assert not Content.objects.filter(recipient__isnull=False).exists()
    assert check_moved(0)[0] == []


def test_nothing_is_erased_that_was_not_withdrawn_for_it() -> None:
    intent = make_case()
    for step in (lambda: None, lambda: decide("withdraw", now(intent), code="privacy_request")):
        step()
        with pytest.raises(DatabaseError, match="just withdrawn for erasing"), transaction.atomic():
            door.erase(intent.pk)
    assert Content.objects.get(pk=intent.pk).recipient is not None


def test_a_new_notification_of_the_same_key_stays_impossible_after_erasing() -> None:
    intent = make_case((), "r-1")
    decide("withdraw", intent, code="privacy_request", erase=True)
    again = outbox.enqueue("report_ready", "r-1", "ana@example.com", {"title": "Report r-1"})
    assert (again.created, again.state) == (False, "cancelled")


def test_a_held_one_is_declined_with_a_reason_also_by_who_asked_for_it() -> None:
    owed = outbox.enqueue("report_approved", "r-1", "ana@example.com", {"title": "Q3"}, actor="user:lena")
    intent = Intent.objects.get(pk=owed.id)
    with pytest.raises(NotPermitted):
        decide("approve", intent, code="content_checked")
    with pytest.raises(BadReason, match="Choose a reason"):
        decide("decline", intent)
    with pytest.raises(NotPermitted):
        decide("decline", intent, "olga", "content_wrong")
    decide("decline", intent, code="content_wrong")
    assert (now(intent).state, last(intent).reason_code) == ("closed", "content_wrong")
    with pytest.raises(NotAllowedNow, match="does not wait for approval"):
        decide("decline", make_case(), code="content_wrong")

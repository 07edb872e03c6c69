"""A corrected address: a new, linked notification with a key of its own, and the address nowhere but in its content."""

from __future__ import annotations

import hashlib
from dataclasses import asdict
from uuid import uuid4

import pytest
from django.db import connection

from notifications import outbox
from notifications.cli import seed
from notifications.doctor import check_moved
from notifications.models import Content, DeliveryBlock, Intent, LogEntry
from notifications.policy.codes import ADDRESS_BOUNCED
from notifications.states import EntryKind, Known, NextAction, Outcome, State
from reviews.models import Review
from reviews.refusals import BadReason, ChangedMeanwhile, NotAllowedNow, NotPermitted
from tests.reviews import cases
from tests.reviews.cases import make_case
from tests.reviews.deciding import NEW, correct, decide, last, now, put_on

pytestmark = [pytest.mark.django_db(databases=["default", "owner"]), pytest.mark.role("owner")]
BLOCKED = (
    seed.Step(
        EntryKind.BLOCKED,
        {"to_state": State.NEEDS_REVIEW, "code": ADDRESS_BOUNCED, "known": Known.NOT_SENT,
         "next_action": NextAction.CORRECT_ADDRESS},
    ),
)  # fmt: skip


def written() -> tuple[int, int, int]:
    return Intent.objects.count(), Content.objects.count(), LogEntry.objects.count()


@pytest.mark.parametrize("steps", [cases.BOUNCED, cases.SUPPRESSED, cases.SOFT, cases.RECIPIENT, BLOCKED])
def test_what_an_address_kept_from_arriving_is_owed_to_another_one(steps) -> None:
    old = make_case(steps, "r-1", recipient="ana@example.com")
    new = correct(old)
    assert (new.notification_id, new.provider_key) == ("report-ready/r-1~a2", "report-ready/r-1~a2")
    assert (new.state, new.generation, new.attempt_count, new.supersedes_id) == ("pending", 1, 0, old.pk)
    assert (new.report_id, new.type, new.lane) == (old.report_id, old.type, old.lane % 16), "an order is urgent"
    assert new.next_attempt_at is not None
    assert new.next_attempt_at > new.created_at
    content = Content.objects.get(pk=new.pk)
    assert (content.recipient, content.data) == (NEW, Content.objects.get(pk=old.pk).data)
    assert (now(old).state, last(old).reason_code) == ("closed", "address_corrected")
    assert check_moved(0)[0] == []


def test_the_record_has_masks_and_a_salted_hash_and_the_address_stands_nowhere_else() -> None:
    old = make_case(cases.BOUNCED)
    new = correct(old)
    review = Review.objects.get(intent_id=old.pk)
    assert ((review.before or {})["recipient"], (review.after or {})["recipient"]) == ("a•••@e•••.com", "b•••@e•••.com")
    assert (review.reason_code, review.outcome) == ("address_corrected", "done")
    content, detail = Content.objects.get(pk=new.pk), last(old).detail
    salted = hashlib.sha256(bytes(content.salt or b"") + NEW.encode()).hexdigest()
    assert detail == {"by": new.notification_id, "from": "a•••@e•••.com", "to": "b•••@e•••.com", "hash": salted}
    with connection.cursor() as cursor:
        for table in ("logentry", "intent", "intentkey", "prepared", "question"):
            cursor.execute(f"SELECT t::text FROM notifyops_private.notifications_{table} t")
            assert "canary" not in str(cursor.fetchall())
        cursor.execute("SELECT t::text FROM notifyops_private.reviews_review t")
        assert "canary" not in str(cursor.fetchall())


def test_an_order_does_not_print_its_address() -> None:
    order = cases.order(make_case(cases.BOUNCED))
    assert asdict(order)["address"] == ""
    from dataclasses import replace

    assert "canary" not in repr(replace(order, address=NEW))


@pytest.mark.parametrize(
    ("steps", "sentence"),
    [
        (cases.UNKNOWN, "It is not the address"),
        (cases.NOT_SENT, "It is not the address"),
        (cases.COMPLAINED, "It is not the address"),
        (cases.CONFLICT, "It is not the address"),
        (cases.ACCEPTED, "Only a case that needs review"),
        ((), "Only a case that needs review"),
    ],
)
def test_no_other_case_gets_another_address(steps, sentence) -> None:
    intent = make_case(steps)
    before = written()
    with pytest.raises(NotAllowedNow, match=sentence):
        correct(intent)
    assert written() == before
    assert Review.objects.get(intent_id=intent.pk).outcome == "refused"


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("", "The address is empty"),
        ("Bea <bea@example.com>", "bare address, without a name"),
        ("bea@example.com, ana@example.com", "one address only"),
        ("bea@example", "needs a dot"),
        ("bea@example.com\nBcc: eve@example.com", "line break"),
        ("x" * 300 + "@example.com", "more than 254"),
    ],
)
def test_an_address_that_intake_would_not_take_is_refused_and_not_repeated(address, sentence) -> None:
    intent = make_case(cases.BOUNCED)
    before = written()
    with pytest.raises(BadReason, match=sentence) as caught:
        correct(intent, address)
    assert "bea@example.com" not in str(caught.value)
    assert written() == before


def test_the_same_address_and_a_blocked_one_are_refused() -> None:
    intent, other = make_case(cases.BOUNCED), make_case(cases.BOUNCED, recipient=NEW)
    with pytest.raises(NotAllowedNow, match="the address that it went to before"):
        correct(intent, "ana@EXAMPLE.com")
    DeliveryBlock.objects.create(
        channel="email", commitment=Content.objects.get(pk=other.pk).commitment, reason="complained"
    )
    with pytest.raises(NotAllowedNow, match="bounced, complained, or wants no such mail"):
        correct(intent)
    DeliveryBlock.objects.all().delete()
    assert correct(intent).state == "pending"


def test_a_text_is_wanted_and_only_a_lead_may() -> None:
    intent = make_case(cases.BOUNCED)
    with pytest.raises(BadReason, match="needs a text"):
        correct(intent, text="")
    for name in ("olga", "vera", "sam"):
        with pytest.raises(NotPermitted):
            correct(intent, who=name)
    assert now(intent).seq == intent.seq


def test_the_same_form_twice_is_one_and_a_stale_page_is_told() -> None:
    intent, token = make_case(cases.BOUNCED), uuid4()
    correct(intent, token=token)
    assert decide("correct", intent, address=NEW, token=token).repeated
    with pytest.raises(ChangedMeanwhile):
        correct(intent, "other@example.com")
    assert Intent.objects.count() == 2


def test_the_callers_own_key_stays_what_it_was() -> None:
    intent = make_case(cases.BOUNCED, "r-1")
    correct(intent)
    again = outbox.enqueue("report_ready", "r-1", "ana@example.com", {"title": "Report r-1"})
    assert (again.created, again.id, again.state) == (False, intent.pk, "closed")
    with pytest.raises(outbox.KeyReused):
        outbox.enqueue("report_ready", "r-1", NEW, {"title": "Report r-1"})
    assert Intent.objects.count() == 2


def test_numbers_go_on_over_corrections_that_were_undone() -> None:
    first = make_case(cases.BOUNCED, "r-1")
    second = correct(first)
    decide("undo", second, code="clicked_by_mistake")
    assert (now(second).state, last(second).kind) == ("cancelled", "withdrawn")
    decide("reopen", now(first), code="closed_by_mistake")
    third = correct(now(first), "carl@example.com")
    assert (third.notification_id, third.supersedes_id) == ("report-ready/r-1~a3", first.pk)
    put_on(9)
    fourth = correct(cases.go_on(third, *seed.rejected("resend.422.invalid_to_address", 422,
                                                        NextAction.CORRECT_ADDRESS)), "dora@example.com")  # fmt: skip
    assert (fourth.notification_id, fourth.supersedes_id) == ("report-ready/r-1~a4", third.pk)


def test_what_goes_on_elsewhere_is_not_reopened_beside_it() -> None:
    first = make_case(cases.BOUNCED)
    correct(first)
    with pytest.raises(NotAllowedNow, match="both would be sent"):
        decide("reopen", now(first), code="closed_by_mistake")
    assert now(first).state == "closed"


def test_an_operator_does_not_undo_a_leads_correction_and_nobody_does_after_its_attempt() -> None:
    new = correct(make_case(cases.BOUNCED))
    with pytest.raises(NotPermitted):
        decide("undo", new, "olga", "clicked_by_mistake")
    put_on(9)
    tried = cases.go_on(new, *seed.attempt(Outcome.NOT_SENT, "not_sent.refused", State.RETRY))
    with pytest.raises(NotAllowedNow):
        decide("undo", tried, code="clicked_by_mistake")


def test_the_applications_cancel_and_its_newer_notification_reach_the_one_that_goes_on() -> None:
    new = correct(make_case(cases.BOUNCED, "r-1"))
    done = outbox.cancel("report-ready/r-1", "report was withdrawn")
    assert (done.notification_id, done.outcome) == (new.notification_id, "cancelled")
    other = correct(make_case(cases.BOUNCED, "r-2"))
    outbox.enqueue("report_ready", "r-2", "x@example.com", {"title": "T"}, supersedes="report-ready/r-2",
                   notification_id="newer")  # fmt: skip
    assert (now(other).state, last(other).kind) == ("cancelled", "superseded")


def test_what_needs_approval_is_held_again_and_not_approved_by_who_corrected_it() -> None:
    held = make_case((), "r-1", type="report_approved")
    decide("approve", held, "bob_lead", "content_checked")
    bounced = cases.go_on(now(held), *seed.rejected("resend.422.invalid_to_address", 422, NextAction.CORRECT_ADDRESS))
    new = correct(bounced)
    assert (new.state, new.known) == ("needs_review", "awaiting_approval")
    with pytest.raises(NotPermitted, match="somebody else must approve"):
        decide("approve", new, "lena", "content_checked")
    decide("approve", new, "bob_lead", "content_checked")
    assert now(new).state == "pending"


def test_a_key_of_two_hundred_characters_and_one_that_two_workspaces_share() -> None:
    long = make_case(cases.BOUNCED, "r" * 187)
    assert len(long.notification_id) == 200
    assert correct(long).notification_id == long.notification_id + "~a2"
    keys = {correct(make_case(cases.BOUNCED, name, workspace=space)).provider_key
            for name, space in (("r-1", ""), ("r-1", "acme"))}  # fmt: skip
    assert len(keys) == 2


def test_what_has_expired_or_was_erased_gets_no_other_address() -> None:
    expired, erased = make_case(cases.BOUNCED), make_case(cases.BOUNCED)
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE notifyops_private.notifications_intent DISABLE TRIGGER USER")
        cursor.execute(
            "UPDATE notifyops_private.notifications_intent SET expires_at = '2020-01-01Z' WHERE id = %s", [expired.pk]
        )
        cursor.execute(
            "UPDATE notifyops_private.notifications_content SET recipient = NULL, data = NULL, erased_at = now() "
            "WHERE intent_id = %s", [erased.pk],
        )  # fmt: skip
    with pytest.raises(NotAllowedNow, match="Its expiry has passed"):
        correct(expired)
    with pytest.raises(NotAllowedNow, match="content was erased"):
        correct(erased)


@pytest.mark.parametrize(("of", "refused"), [("sandbox", False), ("live", True), ("", True)])
def test_an_address_is_left_alone_in_the_mode_in_which_it_came_back(settings, of: str, refused: bool) -> None:
    settings.NOTIFYOPS_SITE_MODE = "live"
    old = make_case(cases.BOUNCED, recipient="ana@example.com")
    with connection.cursor() as cursor:
        cursor.execute("SELECT notifyops_private.hmac_v1('address:' || notifyops_private.address_v1(%s))", [NEW])
        (print_,) = cursor.fetchone()
    DeliveryBlock.objects.create(channel="email", commitment=print_, scope="", reason="bounced", site_mode=of)
    if refused:
        with pytest.raises(NotAllowedNow):
            correct(old)
    else:
        assert correct(old).state == "pending"

"""What people see of attachments, and what becomes of them with the content: never a name on a page."""

from __future__ import annotations

from typing import Any

import pytest

from notifications import outbox
from notifications.models import Blob, Content, Intent
from tests.intake.attaching import PDF, attached, linked
from tests.intake.notify_cli import notify
from tests.reviews import cases
from tests.reviews.cases import go_on, login
from tests.reviews.deciding import correct, decide, now

pytestmark = [pytest.mark.django_db(databases=["default", "owner"]), pytest.mark.role("owner")]
NAME = "canary for Ana.pdf"


def owed(report: str = "r-1", *given: dict[str, Any], **options: Any) -> Intent:
    attachments = given or (attached(name=NAME),)
    made = outbox.enqueue(
        "report_ready", report, "ana@example.com", {"title": "Q3"}, attachments=attachments, **options
    )
    return Intent.objects.get(pk=made.id)


def test_type_size_and_hash_are_shown_and_the_name_only_where_content_may_be_read() -> None:
    intent = owed("r-1", attached(name=NAME), linked("https://files.example.com/canary", b"elsewhere"))
    page = login("vera").get(f"/reviews/{intent.pk}/").content.decode()
    shown, told = notify("show", intent.notification_id), notify("show", intent.notification_id, "--json")
    for text in (page, shown.out, told.out):
        assert "application/pdf" in text
        assert attached()["sha256"] in text
        assert "canary" not in text
    assert "still to be fetched" in shown.out
    assert [one["is_here"] for one in told.document["attachments"]] == [True, False]
    read = notify("preview", "--intent", intent.notification_id)
    assert f"Attachment: {NAME} (application/pdf, {len(PDF)} bytes" in read.out
    assert "files.example.com" not in read.out
    as_json = notify("preview", "--intent", intent.notification_id, "--json").document["attachments"]
    assert [one["name"] for one in as_json] == [NAME, "q3.pdf"]


def test_a_corrected_address_gets_them_too() -> None:
    old = go_on(owed(), *cases.BOUNCED)
    new = correct(old)
    kept = Content.objects.get(intent_id=new.pk).attachments
    assert kept == Content.objects.get(intent_id=old.pk).attachments
    assert [one["name"] for one in kept or ()] == [NAME]


def test_erasing_takes_names_and_bytes_and_leaves_what_others_need() -> None:
    first, second, elsewhere = owed(), owed("r-2"), owed("r-3", workspace="acme")
    decide("withdraw", first, code="privacy_request", erase=True)
    content = Content.objects.get(intent_id=first.pk)
    assert (content.attachments, content.erased_at is not None) == (None, True)
    assert Blob.objects.filter(workspace="").count() == 1, "the second one needs the bytes"
    decide("withdraw", second, code="privacy_request", erase=True)
    assert [blob.workspace for blob in Blob.objects.all()] == ["acme"]
    assert now(elsewhere).state == "pending"
    page = login("vera").get(f"/reviews/{first.pk}/").content.decode()
    assert "application/pdf" not in page

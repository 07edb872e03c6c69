"""No page, and no command, shows an address, a subject, a body or a provider's own text."""

from __future__ import annotations

import contextlib
import hashlib
from io import StringIO

import pytest
from django.core.management import call_command

from notifications.cli import seed
from notifications.models import Intent
from notifications.states import EntryKind
from tests.reviews import cases
from tests.reviews.bulk_cases import planned, started
from tests.reviews.cases import login, make_case, post

pytestmark = [pytest.mark.django_db(databases=["default", "owner"]), pytest.mark.role("owner"), pytest.mark.slow]
CANARIES = ("canarylocal", "canarydomain", "CANARY-SUBJECT", "CANARY-BODY", "CANARY-PROVIDER-TEXT", "CANARY-TITLE")


def planted(steps: tuple[seed.Step, ...]) -> tuple[seed.Step, ...]:
    body = b"CANARY-BODY"
    frozen = {"body": body, "detail": {"sha256": hashlib.sha256(body).hexdigest()}, "subject": "CANARY-SUBJECT"}
    found, first = [], True
    for step in steps:
        extra = frozen if first and step.kind is EntryKind.CLAIMED else {"detail": {"text": "CANARY-PROVIDER-TEXT"}}
        first = first and step.kind is not EntryKind.CLAIMED
        found.append(seed.Step(step.kind, dict(step.facts) | extra))
    return tuple(found)


@pytest.mark.parametrize(
    "steps",
    [
        cases.UNKNOWN,
        cases.RECIPIENT,
        cases.BOUNCED,
        cases.CONFLICT,
        cases.ABSENT,
        cases.FOUND_TWICE,
        cases.UNDECIDED,
        (),
    ],
)
def test_canaries_planted_in_content_bytes_and_log_reach_no_page(steps) -> None:
    intent = make_case(planted(steps), recipient="canarylocal@canarydomain.example.com")
    client = login("lena")
    lena = client.session["_auth_user_id"]
    from django.contrib.auth.models import User

    User.objects.filter(pk=lena).update(is_superuser=True)
    post(client, intent, "close")  # a refusal, which answers with the page
    bulks = [planned([intent], verb="close"), started(planned([intent], verb="close"))]
    pages = [client.get(url).content.decode() for url in (
        "/reviews/?state=any", f"/reviews/{intent.pk}/", f"/reviews/?q={intent.notification_id}",
        "/admin/notifications/intent/", f"/admin/notifications/intent/{intent.pk}/change/",
        "/admin/notifications/logentry/", "/admin/reviews/review/", "/admin/reviews/bulkrun/",
        "/reviews/watching/", "/reviews/log/", "/reviews/stats/", "/reviews/help/",
        "/reviews/groups/", "/reviews/bulk/new?state=any", *(f"/reviews/bulk/{bulk.pk}/" for bulk in bulks),
    )]  # fmt: skip
    pages.append(client.get("/reviews/log/export").getvalue().decode())
    pages.append(client.post(f"/reviews/{intent.pk}/beat").content.decode())
    for verb in (
        ("log", "--csv"),
        ("stats",),
        ("list", "--state", "any", "--json"),
        ("show", str(intent.pk), "--json"),
        ("show", str(intent.pk)),
        ("groups",),
        ("bulk", "show", str(bulks[0].pk)),
        ("bulk", "show", str(bulks[1].pk)),
    ):
        out = StringIO()
        call_command("review", *verb, stdout=out)
        pages.append(out.getvalue())
    for page in pages:
        assert page
        assert [canary for canary in CANARIES if canary in page] == []
    assert "c•••@c•••.example.com" not in pages[1]
    assert "c•••@c•••.com" in pages[1]


def test_an_erased_recipient_is_said_to_be_erased() -> None:
    from django.db import connection

    intent = make_case()
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE notifyops_private.notifications_content SET recipient = NULL, data = NULL, erased_at = now() "
            "WHERE intent_id = %s", [intent.pk],
        )  # fmt: skip
    html = login("olga").get(f"/reviews/{intent.pk}/").content.decode()
    assert "<dd>erased</dd>" in html


def test_a_corrected_address_reaches_no_page_no_command_and_no_refusal() -> None:
    typed = "canarylocal@canarydomain.example.com"
    old = make_case(planted(cases.BOUNCED), recipient="ana@example.com")
    client = login("lena")
    refused = post(client, old, "correct", address=typed + " <x>", reason="A letter was missing there.")
    stale = post(client, old, "correct", address=typed, reason="")
    assert (refused.status_code, stale.status_code) == (422, 422)
    done = post(client, old, "correct", address=typed, reason="A letter was missing there.")
    assert done.status_code == 303
    new = Intent.objects.get(supersedes_id=old.pk)
    pages = [refused.content.decode(), stale.content.decode()]
    pages += [
        client.get(url).content.decode()
        for pk in (old.pk, new.pk)
        for url in (f"/reviews/{pk}/", f"/admin/notifications/intent/{pk}/change/", "/admin/reviews/review/")
    ]
    for key in (old.notification_id, new.notification_id):
        for verb in (("review", "show", key, "--json"), ("notify", "show", key, "--json"), ("notify", "explain", key)):
            out = StringIO()
            with contextlib.suppress(SystemExit):
                call_command(*verb, stdout=out)
            pages.append(out.getvalue())
    for page in pages:
        assert page
        assert [canary for canary in CANARIES[:2] if canary in page] == []
    withdrawn = post(
        client, new, "withdraw", reason_code="privacy_request", reason="The person asked for it.", erase="yes"
    )
    assert withdrawn.status_code == 303
    html = client.get(f"/reviews/{new.pk}/").content.decode()
    assert "<dd>erased</dd>" in html

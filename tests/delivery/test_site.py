"""A copy mails nobody: the site that a database belongs to, and the mode that a message was prepared in."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Callable
from io import StringIO

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.test import override_settings

from notifications import wiring
from notifications.delivery import site
from notifications.models import Prepared, ProviderAccount, SiteAdoption
from notifications.providers.resend import ResendProvider
from notifications.states import EntryKind, State
from tests.delivery.workplace import Workplace, looped
from tests.postgres import free_port

pytestmark = [pytest.mark.django_db(transaction=True, databases=["default", "owner"]), pytest.mark.slow]

_MOVED = """
INSERT INTO notifyops_private.notifications_siteadoption (site, system_identifier, timeline, database, actor, reason)
SELECT %s, h.system_identifier + %s, h.timeline - %s, h.database + %s, 'cli:root', 'Planted by a test.'
FROM notifyops_private.site_here_v1() h
"""
_CUT_OFF = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
    "WHERE datname = current_database() AND application_name = 'notifyops loop 0'"
)
_STATE = "SELECT state::text FROM notifyops_private.notifications_intent WHERE report_id = %s"
ELSEWHERE = [
    ("other_site", {"site": "other"}),
    ("copied", {"system": 1}),
    ("copied", {"database": 1}),
    ("restored", {"timeline": 1}),
]


def planted(place: Workplace, **changes: object) -> None:
    values = {"site": "test", "system": 0, "timeline": 0, "database": 0} | changes
    place.sql(_MOVED, *(values[name] for name in ("site", "system", "timeline", "database")))


def after(seconds: float) -> Callable[[], bool]:
    ends_at = time.monotonic() + seconds
    return lambda: time.monotonic() > ends_at


def test_a_fresh_installation_belongs_to_its_site(place: Workplace) -> None:
    assert site.trouble("test") is None
    row = SiteAdoption.objects.get()
    assert (row.site, row.actor, row.reason) == ("test", "installation", "installed")
    assert not site.adopt("test", actor="x", reason="again", using="owner", only_first=True)


@pytest.mark.parametrize(("word", "changes"), ELSEWHERE)
def test_a_database_that_is_not_where_it_was_sends_nothing_until_a_person_says_so(
    place: Workplace, caplog: pytest.LogCaptureFixture, word: str, changes: dict[str, object]
) -> None:
    planted(place, **changes)
    assert site.trouble("test") == word
    intent = place.enqueue()
    with caplog.at_level(logging.CRITICAL, "notifications.delivery.loop"):
        place.run(until=after(1.5))
    assert place.intent(intent).state == State.PENDING
    assert [record.getMessage() for record in caplog.records] == [site.TROUBLES[word]]

    out = StringIO()
    if word != "other_site":
        with pytest.raises(SystemExit):
            call_command("notify", "adopt-site", "--reason", "The copy is the new original.", stderr=StringIO())
        assert site.trouble("test") == word, "what was sent since may be missing: it is not adopted just so"
        call_command("notify", "recover", "--waive", "--reason", "The copy is the new original.", stdout=out)
        assert "Waived" in out.getvalue()
    else:
        call_command("notify", "adopt-site", "--reason", "The copy is the new original.", stdout=out)
        assert f"({word})" in out.getvalue()
    assert SiteAdoption.objects.latest("id").reason == "The copy is the new original."
    place.run()
    assert place.intent(intent).state == State.ACCEPTED


def test_a_loop_that_reconnects_to_a_restored_database_looks_before_it_claims(place: Workplace) -> None:
    """The look of every five seconds would be too late: the connection is new, so it looks at once."""
    place.enqueue("r-1")
    shop, over = place.shop(), [False]

    async def scene() -> None:
        running = asyncio.create_task(looped(place.dsn(), shop, until=lambda: over[0], budget_s=50.0))
        while place.sql(_STATE, "r-1") != [("accepted",)]:
            await asyncio.sleep(0.05)
        planted(place, timeline=1)
        place.sql(_CUT_OFF, role="postgres")
        place.enqueue("r-2")
        await asyncio.sleep(1.5)
        over[0] = True
        await running

    place.play(scene())
    assert place.states() == {"r-1": "accepted", "r-2": "pending"}


def test_adopting_needs_a_reason_and_changes_nothing_where_nothing_is_wrong(place: Workplace) -> None:
    out = StringIO()
    call_command("notify", "adopt-site", "--reason", "Just to be sure of it.", stdout=out)
    assert "nothing was changed" in out.getvalue()
    assert SiteAdoption.objects.count() == 1
    for reason in ("short", "x" * 501, "Asked ana@example.com about it."):
        with pytest.raises((SystemExit, CommandError)):
            call_command("notify", "adopt-site", "--reason", reason, stderr=StringIO())


@pytest.mark.parametrize("statement", ["UPDATE {} SET site = 'x'", "DELETE FROM {}", "TRUNCATE {}"])
def test_adoptions_only_grow(place: Workplace, statement: str) -> None:
    with pytest.raises(psycopg.Error, match="only grows"):
        place.sql(statement.format("notifyops_private.notifications_siteadoption"))


def test_bytes_of_another_mode_are_not_sent_and_a_persons_retry_prepares_them_anew(place: Workplace) -> None:
    intent = place.enqueue()
    place.sandbox.fault(stage="before_accept", kind="status", status=429, name="rate_limit_exceeded", times=1)
    place.turn()
    assert place.intent(intent).state == State.RETRY
    place.later(120)
    elsewhere = place.shop(site_mode="live")
    place.turn(elsewhere)
    row = place.intent(intent)
    assert (row.state, row.error_code, row.known) == (State.NEEDS_REVIEW, "site_mode_changed", "invalid")
    assert row.next_action == "retry_new_key"

    place.person(EntryKind.RETRIED, intent, State.RETRY, delay_s=0.0)
    place.turn(elsewhere)
    assert place.intent(intent).state == State.ACCEPTED
    modes = list(Prepared.objects.filter(intent_id=intent).order_by("generation").values_list("site_mode", flat=True))
    assert modes == ["sandbox", "live"]


def test_a_persons_retry_of_what_never_left_is_prepared_anew_in_the_present_mode_at_once(place: Workplace) -> None:
    intent = place.enqueue()
    for wait_s in (100, 400, 0):
        dead = ResendProvider(base_url=f"http://127.0.0.1:{free_port()}", api_key="re_test")
        place.turn(place.shop(dead, outage_failures=1000))
        place.later(wait_s)
    assert place.intent(intent).known == "not_sent"
    place.person(EntryKind.RETRIED, intent, State.RETRY, delay_s=0.0, site_mode="live")
    place.turn(place.shop(site_mode="live"))
    row = place.intent(intent)
    assert (row.state, row.generation) == (State.ACCEPTED, 2)


def test_redirected_mail_goes_to_one_address_and_says_masked_whom_it_was_for(place: Workplace) -> None:
    intent = place.enqueue(to="ana@example.com")
    place.turn(place.shop(site_mode="redirect", redirect_to="team@example.com"))
    frozen = Prepared.objects.get(intent_id=intent)
    assert frozen.body is not None
    sent = json.loads(bytes(frozen.body))
    assert sent["to"] == ["team@example.com"]
    assert sent["subject"].startswith("[a•••@e•••.com] ")
    assert "ana@example.com" not in json.dumps(sent)
    assert frozen.site_mode == "redirect"


@pytest.mark.parametrize(("mode", "url"), [("live", "https://own.example.com"), ("sandbox", "http://127.0.0.1:9")])
def test_an_accounts_own_address_counts_only_where_real_people_may_be_reached(
    place: Workplace, mode: str, url: str
) -> None:
    row = replace_address(ProviderAccount.objects.get(name="resend"))
    with override_settings(
        NOTIFYOPS_SITE_MODE=mode, NOTIFYOPS_RESEND_BASE_URL="http://127.0.0.1:9", NOTIFYOPS_RESEND_API_KEY="re_x"
    ):
        adapter = wiring.provider(row, wiring.rules())
    assert isinstance(adapter, ResendProvider)
    assert str(adapter._url) == f"{url}/emails"


def replace_address(row: ProviderAccount) -> ProviderAccount:
    row.base_url = "https://own.example.com"
    return row


def test_a_stop_for_another_mode_is_a_configuration_case(place: Workplace) -> None:
    intent = place.enqueue()
    place.sandbox.fault(stage="before_accept", kind="close", times=1)
    place.turn()
    place.later(120)
    place.turn(place.shop(site_mode="live"))
    row = place.intent(intent)
    assert (row.next_action, row.known) == ("fix_config", "unknown")
    assert place.log(intent)[-1]["kind"] == EntryKind.INVALID


@pytest.mark.parametrize(
    ("word", "changes"), [("copied", {"system": 1}), ("copied", {"database": 1}), ("restored", {"timeline": 1})]
)
def test_a_copy_under_another_name_is_still_a_copy_after_it_was_adopted(
    place: Workplace, word: str, changes: dict[str, object]
) -> None:
    """Else what was sent since the copy was taken would go out at once, under a name that the operator gave it."""
    planted(place, site="production", **changes)
    assert site.trouble("test") == "other_site"
    out = StringIO()
    call_command("notify", "adopt-site", "--reason", "The second data centre takes over.", stdout=out)
    assert site.trouble("test") == word
    assert site.TROUBLES[word] in out.getvalue()
    with pytest.raises(SystemExit):
        call_command("notify", "adopt-site", "--reason", "The second data centre takes over.", stderr=StringIO())
    call_command("notify", "recover", "--waive", "--reason", "Nothing was sent since the copy.", stdout=StringIO())
    assert site.trouble("test") is None

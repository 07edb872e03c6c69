"""After a restore nobody has sent once more what may be out: pages, commands and the door say so alike."""

from __future__ import annotations

import re

import pytest
from django.db import connection

from notifications import door, outbox
from notifications.cli import seed
from notifications.models import Intent, UnknownMail
from reviews.refusals import NotAllowedNow
from tests.reviews import cases
from tests.reviews.cases import login, make_case
from tests.reviews.deciding import NEW, decide, now
from tests.reviews.test_review_command import as_json, review

pytestmark = [pytest.mark.django_db(databases=["default", "owner"]), pytest.mark.role("owner")]
OPENED = """
INSERT INTO notifyops_private.notifications_recovery (since, started_at, actor, reason)
SELECT t - interval '10 minutes', t, 'cli:lena@host', 'Restored from the hourly copy.'
FROM notifyops_private.clock_v1() t
"""
ENDED = "UPDATE notifyops_private.notifications_recovery SET finished_at = notifyops_private.clock_v1()"
MOVED = """
INSERT INTO notifyops_private.notifications_siteadoption (site, system_identifier, timeline, database, actor, reason)
SELECT 'test', h.system_identifier, h.timeline + 1, h.database, 'cli:lena@host', 'Taken on another timeline.'
FROM notifyops_private.site_here_v1() h
"""
SENDING = {"retry", "approve", "correct", "resend"}


def sql(query: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(query)


def held() -> Intent:
    owed = outbox.enqueue("report_approved", "r-1", "ana@example.com", {"title": "Q3"}, actor="user:olga")
    return Intent.objects.get(pk=owed.id)


def case_of(verb: str) -> Intent:
    """Give a case for which the verb is what a lead would do."""
    if verb == "approve":
        return held()
    steps = {"retry": cases.NOT_SENT, "correct": cases.BOUNCED, "resend": cases.UNDECIDED}
    return make_case(steps[verb], "r-1")


def page(intent: Intent) -> str:
    return login("lena").get(f"/reviews/{intent.pk}/").content.decode()


def offered(html: str) -> set[str]:
    return set(re.findall(r'<form method="post" action="/reviews/\d+/(\w+)"', html))


def order(verb: str, intent: Intent) -> None:
    code = {"retry": "provider_recovered", "approve": "content_checked"}.get(verb, "")
    decide(verb, intent, code=code, address=NEW, typed="r-1", confirmed=True)


def forgotten(intent: Intent, generation: int = 2) -> None:
    """Let the provider's list have shown a later message of it than this database knows of."""
    tags = {"tag_intent": str(intent.pk), "tag_generation": str(generation)}
    ids = {"recovery_id": 1, "account_id": intent.account_id, "provider_message_id": f"pm-{intent.pk}"}
    UnknownMail.objects.create(**ids, **tags, taken_at=intent.created_at)


@pytest.mark.parametrize("verb", sorted(SENDING))
def test_while_a_recovery_is_open_nothing_that_sends_is_offered_and_afterwards_it_is(verb: str) -> None:
    intent = case_of(verb)
    assert verb in offered(page(intent))
    sql(OPENED)
    html = page(intent)
    assert offered(html) & SENDING == set()
    assert "recommended</span>" not in html
    assert "manage.py notify recover" in re.search(r'id="barred">(.*?)</p>', html, re.DOTALL)[1]  # type: ignore[index]
    assert {"close", "wait", "note", "withdraw"} <= offered(html)
    with pytest.raises(NotAllowedNow, match="was restored"):
        order(verb, now(intent))
    sql(ENDED)
    assert verb in offered(page(intent))
    order(verb, now(intent))
    assert now(intent).seq > intent.seq


@pytest.mark.parametrize("verb", sorted(SENDING))
def test_a_restored_database_bars_them_before_its_recovery_is_opened(verb: str) -> None:
    """The console may run already: what is approved then may be out already as well."""
    intent = case_of(verb)
    sql(MOVED)
    assert offered(page(intent)) & SENDING == set()
    with pytest.raises(NotAllowedNow, match="was restored"):
        order(verb, now(intent))
    assert now(intent).seq == intent.seq


def test_queue_and_terminal_say_that_the_recovery_is_waited_for() -> None:
    intent = make_case(cases.NOT_SENT, "r-1")
    assert "Wait for the recovery" not in login("lena").get("/reviews/").content.decode()
    assert "was restored" not in review("list")
    sql(OPENED)
    row = re.search(r"<tr.*?r-1.*?</tr>", login("lena").get("/reviews/").content.decode().split("<tbody")[1], re.DOTALL)
    assert row is not None
    assert "Wait for the recovery" in row[0]
    assert "Retry" not in row[0]
    assert "manage.py notify recover" in review("list")
    shown = as_json("show", intent.notification_id)
    assert set(shown["allowed"]) & SENDING == set()
    assert "manage.py notify recover" in shown["barred"]
    assert "manage.py notify recover" in shown["forbidden"]["retry"]


@pytest.mark.parametrize("verb", sorted(SENDING))
def test_a_forgotten_later_message_bars_them_for_good(verb: str) -> None:
    intent = case_of(verb)
    forgotten(intent)
    html = page(intent)
    assert offered(html) & SENDING == set()
    assert "Close it: a forgotten message is out" in html
    assert re.search(r'id="close".*?recommended</span>', html, re.DOTALL)
    with pytest.raises(NotAllowedNow, match="forgotten"):
        order(verb, now(intent))
    assert as_json("show", intent.notification_id)["forbidden"][verb].startswith("The database was restored")


def test_what_was_accepted_says_that_a_later_message_is_forgotten_and_comes_back_as_no_retry() -> None:
    intent = make_case(cases.ACCEPTED, "r-1")
    forgotten(intent)
    assert 'id="barred"' in page(intent)
    soft = cases.SOFT[len(seed.accepted(6)) :]
    back = cases.go_on(intent, *soft)
    assert (back.state, back.known) == ("needs_review", "soft_bounced")
    assert offered(page(intent)) & SENDING == set()
    with pytest.raises(NotAllowedNow, match="forgotten"):
        order("retry", back)


@pytest.mark.parametrize(
    ("steps", "generation", "barred"),
    [(cases.NOT_SENT, 0, False), (cases.NOT_SENT, 1, True), (cases.SOFT, 1, False), (cases.SOFT, 2, True)],
)
def test_a_message_bars_that_is_of_no_earlier_generation_and_not_on_record(steps, generation, barred) -> None:
    intent = make_case(steps, "r-1")
    forgotten(intent, generation)
    assert ("retry" not in offered(page(intent))) is barred
    assert ('id="barred"' in page(intent)) is barred


def test_the_door_itself_bars_another_address() -> None:
    """Whoever calls it by whichever way: a recovery that was opened a moment ago is not on the page yet."""
    intent = make_case(cases.BOUNCED, "r-1")
    entry = door.Entry(id=intent.pk, seq=intent.seq, detail={"from": "a", "to": "b"}, delay_s=8)
    sql(OPENED)
    assert door.correct(entry, NEW, actor="user:lena", site_mode="sandbox").refused == "recovering"
    sql(ENDED)
    forgotten(intent)
    assert door.correct(entry, NEW, actor="user:lena", site_mode="sandbox").refused == "forgotten"
    assert now(intent).seq == intent.seq

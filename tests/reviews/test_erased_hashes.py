"""After erasing nothing is kept that an address could be tried against, but for what the guarantees page names."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import DatabaseError, connection, transaction

from notifications import outbox
from notifications.models import Content, Intent, IntentKey
from notifications.outbox_wire import Item
from tests.reviews import cases
from tests.reviews.cases import make_case
from tests.reviews.deciding import correct, decide, now

pytestmark = [pytest.mark.django_db(databases=["default", "owner"]), pytest.mark.role("owner")]
TABLES = """
SELECT c.relname FROM pg_class c WHERE c.relnamespace = 'notifyops_private'::regnamespace AND c.relkind IN ('r', 'p')
AND NOT c.relispartition AND c.relname NOT IN ('notifications_sitesecret', 'notifications_deliveryblock')
"""
# What can be made of an address alone, by whoever has the database: plain, and by the site's key.
MADE = """
SELECT encode(h, 'hex') FROM (SELECT %s::text AS a) t, LATERAL (VALUES
    (sha256(convert_to(a, 'UTF8'))), (sha256(convert_to('address:' || a, 'UTF8'))),
    (notifyops_private.hmac_v1(a)), (notifyops_private.hmac_v1('address:' || a)),
    (notifyops_private.hmac_v1(concat('corrected:', notifyops_private.field_v1(%s), notifyops_private.field_v1(a))))
) AS made(h)
"""


def sql(query: str, *values: Any) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(query, list(values))
        return [row[0] for row in cursor.fetchall()] if cursor.description else []


def everything() -> str:
    """Give all rows of all tables as text; bytes in hexadecimal."""
    rows = (sql(f'SELECT to_jsonb(t)::text FROM notifyops_private."{name}" t') for name in sql(TABLES))
    return "\n".join(row for found in rows for row in found)


def kept_of(ids: list[int]) -> set[str]:
    """Give all that is kept of these in hashes and salts."""
    keys = IntentKey.objects.filter(intent_id__in=ids).values_list("fingerprint", flat=True)
    contents = Content.objects.filter(intent_id__in=ids).values_list("commitment", "salt")
    return {bytes(one).hex() for one in (*keys, *(each for pair in contents for each in pair)) if one}


def test_no_hash_of_an_erased_address_is_left_that_a_guess_could_be_compared_with() -> None:
    first = make_case(cases.BOUNCED, "r-1", recipient="old.canary@example.com")
    new = correct(first, "new.canary@example.com")
    before, made = kept_of([first.pk, new.pk]), everything()
    assert len(before) == 5, "two fingerprints, two commitments, one salt"
    assert all(one in made for one in before)
    assert any(one in made for one in sql(MADE, "old.canary@example.com", new.notification_id)), "the sieve sees them"
    decide("withdraw", new, code="privacy_request", erase=True)
    left = everything()
    for address in ("old.canary@example.com", "new.canary@example.com"):
        guesses = set(sql(MADE, address, new.notification_id)) | before | {address}
        assert [one for one in guesses if one in left] == []
    assert set(map(bytes, IntentKey.objects.values_list("fingerprint", flat=True))) == {b""}


def test_the_key_of_a_corrected_address_says_nothing_of_it_even_before() -> None:
    new = correct(make_case(cases.BOUNCED, "r-1"), "new.canary@example.com")
    fingerprint = bytes(IntentKey.objects.get(intent_id=new.pk).fingerprint).hex()
    assert fingerprint not in sql(MADE, "new.canary@example.com", new.notification_id)


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("title", ["Report r-1", "Another one"])
def test_an_erased_key_stays_taken_whatever_is_enqueued_under_it(many: bool, title: str) -> None:
    intent = make_case((), "r-1")
    decide("withdraw", intent, code="privacy_request", erase=True)
    if many:
        item = Item("report_ready", "r-1", "bob@example.com", {"title": title})
        (again,) = outbox.enqueue_many([item])
    else:
        again = outbox.enqueue("report_ready", "r-1", "bob@example.com", {"title": title})
    assert (again.id, again.created, again.state) == (intent.pk, False, "cancelled")
    assert Intent.objects.count() == 1


def test_only_what_is_erased_loses_what_its_key_is_known_by() -> None:
    intent = make_case((), "r-1")
    keys = "notifyops_private.notifications_intentkey"
    for change in (f"UPDATE {keys} SET fingerprint = ''", f"UPDATE {keys} SET key = 'x'", f"DELETE FROM {keys}"):
        with pytest.raises(DatabaseError, match="only grows"), transaction.atomic():
            sql(change)
    decide("withdraw", now(intent), code="privacy_request", erase=True)
    for change in (f"UPDATE {keys} SET fingerprint = 'x'", f"UPDATE {keys} SET key = 'x', fingerprint = ''"):
        with pytest.raises(DatabaseError, match="only grows"), transaction.atomic():
            sql(change)

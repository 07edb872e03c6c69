"""What is kept of the frozen bytes besides themselves cannot be compared with a guess, before erasing or after it."""

from __future__ import annotations

import hashlib

import pytest

from notifications import doctor
from tests.delivery.workplace import Workplace
from tests.reviews.deciding import decide
from tests.reviews.test_erased_hashes import TABLES

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


def everything(place: Workplace) -> str:
    """Give all rows of all tables as text, the bytes in hexadecimal."""
    names = [row[0] for row in place.sql(TABLES)]
    return "\n".join(
        row[0] for name in names for row in place.sql(f'SELECT to_jsonb(t)::text FROM notifyops_private."{name}" t')
    )


def test_no_plain_hash_of_the_bytes_is_kept_and_chain_and_doctor_agree(place: Workplace) -> None:
    intent = place.enqueue(kind="report_once")
    place.sandbox.fault(stage="before_accept", kind="status", status=422, name="invalid_from_address", times=1)
    (sent,) = place.turn()
    plain = hashlib.sha256(sent.lease.body).hexdigest()
    ((kept,),) = place.sql("SELECT encode(sha256, 'hex') FROM notifyops_private.notifications_prepared")
    details = [entry["detail"] for entry in place.log(intent) if entry["kind"] == "claimed"]
    assert [detail | {"template": ""} for detail in details] == [{"sha256": kept, "template": ""}]
    assert kept in everything(place), "the sieve sees it"
    assert plain not in everything(place)
    decide("withdraw", place.intent(intent), code="privacy_request", erase=True, shift_s=place.shift_s)
    assert plain not in everything(place)
    assert place.sql("SELECT * FROM notifyops_private.verify_v1(0, 9000000000)") == []
    assert doctor.check_moved(0, limit=20_000)[0] == []


def test_each_attempt_names_the_same_bytes(place: Workplace) -> None:
    intent = place.enqueue()
    place.sandbox.fault(stage="before_accept", kind="close", times=1)
    place.turn()
    place.later(120)
    place.turn()
    first, second = (entry["detail"]["sha256"] for entry in place.log(intent) if entry["kind"] == "claimed")
    assert first == second


def test_the_sites_key_makes_it_and_another_body_another_one(place: Workplace) -> None:
    place.enqueue()
    place.enqueue("demo-002")
    made = (
        "SELECT notifyops_private.hmac_v1(%s) = sha256 FROM notifyops_private.notifications_prepared "
        "WHERE intent_id = %s"
    )
    for lease in place.claim():
        assert place.sql(made, hashlib.sha256(lease.body).hexdigest(), lease.id) == [(True,)]

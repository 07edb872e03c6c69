"""What the loops' login may not do: a person's decisions, and what nobody takes back."""

from __future__ import annotations

import psycopg
import pytest

from tests.delivery.recovering import opened, trouble
from tests.delivery.workplace import Workplace

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
DEEDS = (
    "SELECT notifyops_private.recover_v1('test', now(), 'user:lena', 'nobody of us said this')",
    "SELECT notifyops_private.waive_recovery_v1('test', 'user:lena', 'nobody of us said this')",
    "SELECT * FROM notifyops_private.close_circuit_v1(1)",
    "SELECT * FROM notifyops_private.correct_v1(1, 1, 'eve@example.com', '{}', 'user:lena', 0)",
    "SELECT notifyops_private.erase_v1(1)",
    "UPDATE notifyops_private.notifications_recovery SET finished_at = now()",
    "UPDATE notifyops_private.notifications_recovery SET waived_by = 'user:lena'",
    "DELETE FROM notifyops_private.notifications_recovery",
)


@pytest.mark.parametrize("deed", DEEDS)
def test_a_worker_does_nothing_in_a_persons_name(place: Workplace, deed: str) -> None:
    opened(place)
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        place.sql(deed, role="worker")
    assert trouble(place) == "recovering"


@pytest.mark.parametrize("deed", DEEDS[:3])
def test_the_functions_ask_themselves_who_may_call_them(place: Workplace, deed: str) -> None:
    """As if it had the grant: whoever restores an old one by hand does not make the loops persons."""
    opened(place)
    name = deed.split("notifyops_private.")[1].split("(", maxsplit=1)[0]
    place.sql(f"GRANT EXECUTE ON FUNCTION notifyops_private.{name} TO notifyops_test_worker")
    try:
        with pytest.raises(psycopg.Error, match="only a person") as refusal:
            place.sql(deed, role="worker")
    finally:
        place.sql(f"REVOKE EXECUTE ON FUNCTION notifyops_private.{name} FROM notifyops_test_worker")
    assert (refusal.value.sqlstate, trouble(place)) == ("NO403", "recovering")


@pytest.mark.parametrize("deed", DEEDS[:2])
def test_a_recovery_names_who_decides_on_it(place: Workplace, deed: str) -> None:
    with pytest.raises(psycopg.Error, match="only a person"):
        place.sql(deed.replace("user:lena", " "), role="web")


def test_the_chores_end_no_recovery_before_its_time(place: Workplace) -> None:
    number = opened(place)
    ask = "SELECT notifyops_private.finish_recovery_v1(%s)"
    assert place.sql(ask, number, role="worker") == [(None,)]
    assert trouble(place) == "recovering"


def test_nobody_but_the_owner_takes_a_block_back(place: Workplace) -> None:
    table = "notifyops_private.notifications_deliveryblock"
    for statement in (f"DELETE FROM {table}", f"UPDATE {table} SET reason = 'bounced'"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            place.sql(statement, role="web")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        place.sql(f"DELETE FROM {table}", role="worker")


def test_no_call_takes_more_from_an_account_than_a_second_gives_back(place: Workplace) -> None:
    place.sql("UPDATE notifyops_private.notifications_provideraccount SET rate_per_s = 10 WHERE id = %s", place.account)
    place.sql("SELECT notifyops_private.learn_v1(%s, 10, 1)", place.account)
    place.sql("SELECT notifyops_private.spend_v1(ARRAY[%s]::bigint[], ARRAY[1000000])", place.account, role="worker")
    ((left,),) = place.sql("SELECT tokens FROM notifyops_private.notifications_ratebucket")
    assert -10 <= left < 0, "as if it had been a second of its rate"

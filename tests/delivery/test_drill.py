"""The outage drill, small and by the database's clock: ten minutes without a provider, and what it costs who waits."""

from __future__ import annotations

from collections import Counter

import pytest

from notifications.models import Intent
from tests.delivery.test_circuits import calls, refuse
from tests.delivery.test_rates import limit
from tests.delivery.workplace import Workplace

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
WAITING = 400
PER_S = 40.0


def test_ten_minutes_without_a_provider_burn_no_attempt_and_drain_at_the_accounts_rate(place: Workplace) -> None:
    place.enqueue_many(WAITING)
    refuse(place, 503, "service_unavailable", None)
    shops = [place.shop(), place.shop()]
    place.turn(shops[0], room=16)
    first_wave = calls(place)
    for second in range(0, 600, 5):
        place.turn(shops[second % 2], worker=f"w{second % 2}")
        place.later(5)
    probes = calls(place) - first_wave
    # 30 s, then twice as long each time, ± 20 %: that is five or six in ten minutes.
    assert 4 <= probes <= 8
    assert Counter(Intent.objects.values_list("failure_count", flat=True)) == {0: WAITING - first_wave, 1: first_wave}
    assert not Intent.objects.filter(state="needs_review").exists()

    place.sandbox.order("DELETE", "faults")
    limit(place, PER_S)
    place.later(720)  # the longest that a probe can be away
    taken = list[int]()
    while Intent.objects.exclude(state="accepted").exists():
        assert len(taken) < 200 * WAITING / PER_S, "it does not drain"
        taken.append(len(place.turn(shops[len(taken) % 2])))
        place.later(0.1)
    assert sum(taken) == WAITING
    # The probe, then slowly, then what the bucket holds and no more; the turns themselves take time as well.
    assert taken[0] == 1
    assert max(taken) <= PER_S / 10 + 1
    assert int(place.sandbox.order("GET", "ledger")["accepted"]) == WAITING
    assert Intent.objects.filter(failure_count__gt=1).count() == 0

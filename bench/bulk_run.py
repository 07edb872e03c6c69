"""One half of the measurement of bulk runs, as the role that its environment names: `plan`, or `carry NUMBER`."""

from __future__ import annotations

import json
import sys
import time
from typing import Any
from uuid import uuid4

import django


def main(argv: list[str]) -> int:
    """Measure the half that is named; print one JSON object."""
    django.setup()
    print(json.dumps(plan() if argv[0] == "plan" else carry(int(argv[1]))))
    return 0


def plan() -> dict[str, Any]:
    """Plan a retry of as many as there may be, and start it; say how long planning, its page and the groups took."""
    from django.db import transaction
    from django.http import QueryDict

    from reviews import groups_page
    from reviews.bulk import order, page
    from reviews.bulk.models import BulkRun
    from reviews.bulk.plan import Wish, make
    from reviews.person import from_host
    from reviews.standing import read_standing

    person = from_host()
    with transaction.atomic():  # what a process does once only, such as compiling the filter's form
        warm = make(Wish("close", uuid4(), query="code=not_sent.dns"), person, read_standing().now)
        page.read(warm, person, read_standing(), QueryDict())
        groups_page.read(read_standing())
    began = time.perf_counter()
    with transaction.atomic():
        bulk = make(Wish("retry", uuid4(), query="code=not_sent.refused"), person, read_standing().now)
    planned_at = time.perf_counter()
    with transaction.atomic():
        page.read(bulk, person, read_standing(), QueryDict())
    shown_at = time.perf_counter()
    with transaction.atomic():
        groups_page.read(read_standing())
    grouped_at = time.perf_counter()
    with transaction.atomic():
        typed, token = str(bulk.eligible_count), bulk.start_token
        said = order.Start(token=token, reason_code="provider_recovered", rate=200, canary=1, typed=typed)
        order.start(bulk.pk, said, person, read_standing().now)
    # As fast as it goes, and without a canary, for which nothing is delivered here.
    BulkRun.objects.filter(pk=bulk.pk).update(rate=1000, canary=bulk.eligible_count)
    return {
        "number": bulk.pk,
        "eligible": bulk.eligible_count,
        "plan_s": planned_at - began,
        "page_ms": 1000 * (shown_at - planned_at),
        "groups_ms": 1000 * (grouped_at - shown_at),
    }


def carry(number: int) -> dict[str, Any]:
    """Carry the run out until all is ordered; say how long that took."""
    from reviews.bulk import carry as carrying
    from reviews.bulk.models import BulkItem

    left = BulkItem.objects.filter(bulk_id=number, outcome="left")
    began = time.perf_counter()
    carrying.carry(number, lambda: not left.exists())
    took_s = time.perf_counter() - began
    return {"released": BulkItem.objects.filter(bulk_id=number, outcome="released").count(), "carry_s": took_s}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Scenarios that need no processes use the workplace of the delivery tests."""

from __future__ import annotations

from tests.delivery.conftest import one_sandbox, place, sandbox
from tests.receipts.conftest import provider

__all__ = ["one_sandbox", "place", "provider", "sandbox"]

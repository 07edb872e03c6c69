"""What every request to the API is: strict, and without what is not known."""

from __future__ import annotations

from ninja import Schema
from pydantic import ConfigDict


class Given(Schema):
    """A request: strict, and without unknown fields, so that a misspelt name is not silently ignored."""

    model_config = ConfigDict(extra="forbid", strict=True)

"""The list of addresses that the account no longer sends to.

Source: resend-python 2.52 `suppressions`; marked beta by the provider in July 2026.
"""

from __future__ import annotations

from typing import Any

from notifications.sandbox.asked import Asked, route
from notifications.sandbox.checks import ADDRESS
from notifications.sandbox.mailbox import page
from notifications.sandbox.refusals import Refusal
from notifications.sandbox.world import World

MAX_BATCH = 100


def list_suppressions(asked: Asked) -> dict[str, Any]:
    origin = asked.call.query.get("origin")
    rows = [row for row in asked.world.suppressions.values() if origin in (None, row["origin"])]
    return page(rows, asked.call.query)


def add_suppression(asked: Asked) -> dict[str, Any]:
    row = asked.world.suppress(_address(asked.body().get("email")), "manual", None)
    return {"object": "suppression", "id": row["id"]}


def add_suppressions(asked: Asked) -> dict[str, Any]:
    addresses = [_address(email) for email in _some_texts(asked.body().get("emails"), "emails")]
    rows = [asked.world.suppress(address, "manual", None) for address in addresses]
    return {"data": [{"object": "suppression", "id": row["id"]} for row in rows]}


def get_suppression(asked: Asked) -> dict[str, Any]:
    return {"object": "suppression", **_suppression(asked.world, asked.parts[0])}


def remove_suppression(asked: Asked) -> dict[str, Any]:
    row = _suppression(asked.world, asked.parts[0])
    asked.world.unsuppress(row)
    return {"object": "suppression", "id": row["id"], "deleted": True}


def remove_suppressions(asked: Asked) -> dict[str, Any]:
    body = asked.body()
    name = "emails" if "emails" in body else "ids"
    wanted = {text.lower() for text in _some_texts(body.get(name), name)}
    gone = [row for row in asked.world.suppressions.values() if {row["id"], row["email"]} & wanted]
    for row in gone:
        asked.world.unsuppress(row)
    return {"data": [{"object": "suppression", "id": row["id"], "deleted": True} for row in gone]}


def _suppression(world: World, id_or_email: str) -> dict[str, Any]:
    for row in world.suppressions.values():
        if id_or_email.lower() in (row["id"], row["email"]):
            return row
    raise Refusal("not_found", "Suppression not found")


def _address(email: object) -> str:
    if not email:
        raise Refusal("missing_required_field", "Missing `email` field.")
    if not isinstance(email, str) or not ADDRESS.fullmatch(email):
        raise Refusal("validation_error", "Invalid `email` field. Write an address as `email@example.com`.")
    return email


def _some_texts(value: object, name: str) -> list[str]:
    if isinstance(value, list) and 1 <= len(value) <= MAX_BATCH and all(isinstance(item, str) for item in value):
        return value
    raise Refusal("validation_error", f"Invalid `{name}` field. It must be a list of 1 to {MAX_BATCH} strings.")


ROUTES = (
    route("GET", "/suppressions", list_suppressions),
    route("POST", "/suppressions", add_suppression),
    route("POST", "/suppressions/batch/add", add_suppressions),
    route("POST", "/suppressions/batch/remove", remove_suppressions),
    route("GET", "/suppressions/*", get_suppression),
    route("DELETE", "/suppressions/*", remove_suppression),
)

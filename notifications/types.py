"""Notification types: declared once in code, listed by `notify types`, copied to the database for SQL callers."""

from __future__ import annotations

import functools
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, NotRequired, TypedDict, get_args, get_origin, get_type_hints, is_typeddict

from notifications.states import Approval, LossModel

# What jsonb_typeof calls the JSON form of a Python type.
JSON_TYPES: Mapping[Any, str] = {
    str: "string",
    int: "number",
    float: "number",
    bool: "boolean",
    list: "array",
    dict: "object",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class NotificationType:
    """One kind of notification.

    `template` is a folder of subject.txt, body.txt and, if wanted, body.html; translations stand in its subfolders.
    `data` is a TypedDict: the schema of what the caller passes. `retry_delays` None means the installation's default;
    the ladder's length plus one is the number of failures that a person is spared. `still_wanted(report_id)` is asked
    before anything is sent late or by a person's retry: may the business have moved on? Its no makes a case of what a
    person ordered, who may outweigh it with a text. `tags` go to the provider with each message.
    """

    name: str
    template: str
    data: type[Any]
    channel: str = "email"
    loss_model: LossModel = LossModel.AT_LEAST_ONCE
    retry_delays: tuple[timedelta, ...] | None = None
    approval: Approval = Approval.NONE
    expires_after: timedelta | None = None
    still_wanted: Callable[[str], bool] | None = None
    confirm: bool = False
    tags: Mapping[str, str] = field(default_factory=dict)

    def fields(self) -> dict[str, tuple[str, bool]]:
        """Give each key of `data` with its JSON type and whether it is required.

        Raises TypeError for a schema that JSON cannot carry.
        """
        schema: Any = self.data  # a class is hashable, which its type does not say
        return _fields(self.name, schema)

    def problems(self, data: Mapping[str, Any]) -> list[str]:
        """Say in which keys `data` departs from the schema; an empty list means that it fits.

        Unknown keys are no problem: an older release must be able to prepare what a newer caller enqueued.
        """
        found = []
        for key, (json_type, required) in self.fields().items():
            if key not in data:
                if required:
                    found.append(key)
            elif not _fits(data[key], json_type):
                found.append(key)
        return found


@functools.cache
def _fields(name: str, data: Any) -> dict[str, tuple[str, bool]]:
    """Read the schema once: each message is checked against it."""
    if not is_typeddict(data):
        raise TypeError(f"type {name}: data must be a TypedDict")
    required: frozenset[str] = data.__required_keys__
    return {key: (_json_type(name, key, hint), key in required) for key, hint in get_type_hints(data).items()}


def _json_type(name: str, key: str, hint: Any) -> str:
    if get_origin(hint) is NotRequired:
        hint = get_args(hint)[0]
    plain = get_origin(hint) or hint
    if plain in (typing.Union, types.UnionType):
        raise TypeError(f"type {name}: data.{key} must have one type")
    if plain not in JSON_TYPES:
        raise TypeError(f"type {name}: data.{key} has a type that JSON does not know")
    return JSON_TYPES[plain]


def _fits(value: Any, json_type: str) -> bool:
    if isinstance(value, bool):
        return json_type == "boolean"
    return any(isinstance(value, python) for python, name in JSON_TYPES.items() if name == json_type)


class Registry:
    """The types of this installation, by name. One entry each; a second one of the same name is a mistake."""

    def __init__(self) -> None:
        self._types: dict[str, NotificationType] = {}

    def add(self, kind: NotificationType) -> NotificationType:
        """Register a type. Raises ValueError where the name is taken, TypeError where its schema cannot be JSON."""
        if kind.name in self._types and self._types[kind.name] != kind:
            raise ValueError(f"notification type {kind.name} is registered twice")
        kind.fields()
        self._types[kind.name] = kind
        return kind

    def get(self, name: str) -> NotificationType | None:
        """Give the type of that name, or None where this release does not know it."""
        return self._types.get(name)

    def __iter__(self) -> Iterator[NotificationType]:
        return iter(sorted(self._types.values(), key=lambda kind: kind.name))


registry = Registry()


class ReportData(TypedDict):
    """What the report mails need."""

    title: str


REPORT_READY = registry.add(
    NotificationType(name="report_ready", template="notifications/report_ready", data=ReportData)
)
REPORT_ONCE = registry.add(
    NotificationType(
        name="report_once",
        template="notifications/report_ready",
        data=ReportData,
        loss_model=LossModel.NEVER_TWICE,
    )
)
REPORT_APPROVED = registry.add(
    NotificationType(
        name="report_approved",
        template="notifications/report_ready",
        data=ReportData,
        approval=Approval.REQUIRED,
    )
)
REPORT_ALARM = registry.add(
    NotificationType(
        name="report_alarm",
        template="notifications/report_ready",
        data=ReportData,
        loss_model=LossModel.MUST_ARRIVE,
    )
)
# For machines: the ladder is that of the specification's example, as far as a receiver must remember a webhook-id.
REPORT_EVENT = registry.add(
    NotificationType(
        name="report_event",
        template="notifications/report_event",
        data=ReportData,
        channel="webhook",
        retry_delays=tuple(timedelta(seconds=step_s) for step_s in (5, 300, 1800, 7200, 18_000, 36_000)),
    )
)


class PushData(ReportData, total=False):
    """What the report's push needs; `url` is where a click on it leads."""

    url: str


# In browsers, and gone with the day. A repeat takes the first one's place there, so one too many harms less than none.
REPORT_PUSH = registry.add(
    NotificationType(
        name="report_push",
        template="notifications/report_push",
        data=PushData,
        channel="push",
        loss_model=LossModel.MUST_ARRIVE,
        expires_after=timedelta(days=1),
    )
)
DEMO = registry.add(
    NotificationType(
        name="demo_report_ready",
        template="notifications/report_ready",
        data=ReportData,
        retry_delays=(timedelta(seconds=1), timedelta(seconds=2)),
        tags={"webhooks": "off"},  # understood by the sandbox: the second attempt, never a receipt, settles the demo
    )
)

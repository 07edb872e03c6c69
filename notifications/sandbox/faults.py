"""Scripted trouble: which fault strikes which request, and how often.

A rule is JSON such as `{"stage": "after_accept", "kind": "close", "match": "demo-001", "times": 2}`. The first rule
that matches and has strikes left is used up by one.
"""

from __future__ import annotations

import base64
import binascii
import random
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from notifications.sandbox.refusals import Misused

STAGES = ("before_accept", "during", "after_accept")
COMMON_FIELDS = frozenset({"stage", "kind", "match", "body_match", "times", "skip", "probability", "seed"})


@dataclass(slots=True)
class Fault:
    """One rule. `times` None strikes for ever; `skip` lets that many matches pass first.

    `options` are the fields of the kind as values, `as_given` the whole rule as its author wrote it.
    """

    stage: str
    kind: str
    match: re.Pattern[str]
    body_match: re.Pattern[str] | None
    times: int | None
    skip: int
    probability: float
    dice: random.Random
    options: dict[str, Any]
    as_given: dict[str, Any]
    seen_count: int = 0
    hit_count: int = 0

    def strikes(self, subject: str, body: bytes) -> bool:
        """Say whether this rule takes the request, and count it."""
        if self.times is not None and self.hit_count >= self.times:
            return False
        if not self.match.search(subject):
            return False
        if self.body_match is not None and not self.body_match.search(body.decode("utf-8", "replace")):
            return False
        self.seen_count += 1
        if self.seen_count <= self.skip or self.dice.random() >= self.probability:
            return False
        self.hit_count += 1
        return True

    def shown(self) -> dict[str, Any]:
        return {
            **self.as_given,
            "stage": self.stage,
            "match": self.match.pattern,
            "times": self.times,
            "seen": self.seen_count,
            "hits": self.hit_count,
        }


@dataclass(slots=True)
class FaultBook:
    """All rules of one kind of traffic, in the order they were given."""

    stages: tuple[str, ...]
    kinds: Mapping[str, Mapping[str, Callable[[Any], Any]]]
    rules: list[Fault] = field(default_factory=list)

    def add(self, raw: Mapping[str, Any]) -> Fault:
        """Add a rule; raise Misused with a sentence for anything unknown or out of range."""
        fault = _parsed(raw, self.stages, self.kinds)
        self.rules.append(fault)
        return fault

    def striking(self, stage: str, subject: str, body: bytes = b"") -> Iterator[Fault]:
        """Give the rules that strike at this stage, each used up by one as it is given.

        Stop at the first that breaks the request; one that only holds it up lets the next be asked for.
        """
        for rule in tuple(self.rules):
            if rule.stage == stage and rule.strikes(subject, body):
                yield rule


def _parsed(
    raw: Mapping[str, Any], stages: tuple[str, ...], kinds: Mapping[str, Mapping[str, Callable[[Any], Any]]]
) -> Fault:
    kind = raw.get("kind")
    if not isinstance(kind, str) or kind not in kinds:
        raise Misused(f"There is no fault kind {kind!r}. Known: {', '.join(sorted(kinds))}.")
    stage = raw.get("stage", stages[0])
    if stage not in stages:
        raise Misused(f"There is no stage {stage!r}. Known: {', '.join(stages)}.")
    readers = kinds[kind]
    unknown = set(raw) - COMMON_FIELDS - set(readers)
    if unknown:
        raise Misused(f"A {kind!r} fault knows no {sorted(unknown)}. It takes {sorted(COMMON_FIELDS | set(readers))}.")
    options = {name: _read(name, raw[name], read) for name, read in readers.items() if name in raw}
    times = raw.get("times", 1)
    probability = _read("probability", raw.get("probability", 1.0), a_share)
    return Fault(
        stage=str(stage),
        kind=kind,
        match=_read("match", raw.get("match", ""), a_pattern),
        body_match=_read("body_match", raw["body_match"], a_pattern) if raw.get("body_match") else None,
        times=None if times is None else _read("times", times, a_count),
        skip=_read("skip", raw.get("skip", 0), a_count),
        probability=probability,
        # Scripted trouble must repeat, so a seeded generator is wanted.
        dice=random.Random(_read("seed", raw.get("seed", 0), a_count)),  # noqa: S311
        options=options,
        as_given=dict(raw),
    )


def _read(name: str, value: object, read: Callable[[Any], Any]) -> Any:
    try:
        return read(value)
    except (TypeError, ValueError, re.error) as problem:
        raise Misused(f"The field {name!r} of a fault cannot be {value!r}: {problem}.") from None


def a_pattern(value: str) -> re.Pattern[str]:
    return re.compile(a_text(value))


def a_text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("it must be a text")
    return value


def a_count(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= 10**9:
        raise ValueError("it must be a whole number from 0")
    return value


def a_span(value: object) -> float:
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 <= value <= 10**6:
        raise ValueError("it must be a number of seconds from 0")
    return float(value)


def a_share(value: object) -> float:
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 <= value <= 1:
        raise ValueError("it must lie between 0 and 1")
    return float(value)


def a_status(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 100 <= value <= 599:
        raise ValueError("it must be an HTTP status from 100 to 599")
    return value


def some_bytes(value: object) -> bytes:
    try:
        return base64.b64decode(a_text(value), validate=True)
    except binascii.Error:
        raise ValueError("it must be base64") from None


def some_headers(value: object) -> list[tuple[str, str]]:
    """Read an object, or a list of pairs where a name must come twice."""
    pairs = list(value.items()) if isinstance(value, dict) else value
    if not isinstance(pairs, list):
        raise ValueError("it must be an object or a list of [name, value] pairs")
    headers: list[tuple[str, str]] = []
    for pair in pairs:
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:
            raise ValueError("each header must be a [name, value] pair")
        name, text = (part if isinstance(part, str) else str(part) for part in pair)
        if not name or any(mark in name + text for mark in "\r\n\0"):
            raise ValueError("a header holds a line break; use kind 'raw' to send bytes as they stand")
        headers.append((name, text))
    return headers


def anything(value: Any) -> Any:
    return value

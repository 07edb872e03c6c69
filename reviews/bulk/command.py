"""`manage.py review bulk …` and `review groups`: plans and runs from a terminal, by the functions of the pages."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any, Final
from uuid import uuid4

from django.core.management.base import CommandParser
from django.db import transaction
from django.http import QueryDict

from notifications.command_line import LARGEST
from reviews import filter_options, groups_page, terminal
from reviews.bulk import deeds, order, page, plan
from reviews.bulk.models import BULK_VERBS, RATES, BulkRun
from reviews.person import Person, from_host
from reviews.refusals import NotAllowedNow
from reviews.standing import Standing, read_standing

STEERS: Final = ("pause", "resume", "cancel")
_COLUMNS: Final = ("code", "provider", "cases", "oldest_at", "next_action", "configuration")


def add_arguments(verbs: Any) -> None:
    """Add `bulk` and `groups` to the command's verbs."""
    groups = verbs.add_parser("groups", help="what needs review, by error code and provider account")
    groups.add_argument("--json", action="store_true", help="print one JSON array")
    bulk = verbs.add_parser("bulk", help="plan, start and steer decisions on many cases")
    does = bulk.add_subparsers(dest="do", required=True, metavar="DO")
    making = does.add_parser("plan", help="freeze what a filter matches, judge each, and print what would be done")
    making.add_argument("--verb", dest="bulk_verb", choices=BULK_VERBS, required=True)
    making.add_argument("--key", action="append", default=[], help="one case by its ID or number; may be repeated")
    making.add_argument("--key-workspace", default="", help="the workspace of these IDs (default: the empty one)")
    filter_options.add(making)
    starting = _numbered(does, "start", "carry a plan out")
    starting.add_argument("--reason-code", required=True, help="why; `review bulk show` names the codes")
    starting.add_argument("--reason", default="", help="10 to 500 characters; people by ID, no addresses")
    starting.add_argument("--rate", type=int, default=5, help=f"how many a second, of {', '.join(map(str, RATES))}")
    starting.add_argument("--canary", type=int, default=5, help="how many go first (default 5)")
    starting.add_argument("--max-bad", type=int, default=20, help="pause above so many percent of the last 20")
    starting.add_argument("--count", default="", help="the number of eligible cases, where it is above 200")
    for word in ("show", *STEERS):
        _numbered(does, word, f"{word} one plan or run")
    for one in (making, starting):
        one.add_argument("--json", action="store_true", help="print one JSON document")


def _numbered(does: Any, word: str, told: str) -> CommandParser:
    parser: CommandParser = does.add_parser(word, help=told)
    parser.add_argument("number", type=int, help="the number that `review bulk plan` printed")
    if word != "start":
        parser.add_argument("--json", action="store_true", help="print one JSON document")
    return parser


def run(options: dict[str, Any]) -> tuple[Any, str]:
    """Carry one out; give the answer for programs and for people. Raises Refused."""
    if options["verb"] == "groups":
        return _groups()
    person = from_host()
    number = options.get("number")
    terminal.check_number("The number of a plan", number, 1, LARGEST)
    with deeds.refusals_kept(options["do"], person, number) if options["do"] != "show" else nullcontext():
        number, note = _done(options, person)
    with transaction.atomic():
        return _shown(number, read_standing(), note)


def _done(options: dict[str, Any], person: Person) -> tuple[int, str]:
    """Do what is asked for; give the number of the plan or run, and a remark."""
    with transaction.atomic():
        standing, note = read_standing(), ""
        if options["do"] == "plan":
            found = _planned(options, person, standing)
        elif options["do"] == "start":
            found = _start(options, standing)
        else:
            found = order.find(options["number"])
            if options["do"] in STEERS and not order.steer(found.pk, options["do"], person, standing.now):
                note = f"Nothing was changed: there is nothing to {options['do']}."
        return found.pk, note


def _planned(options: dict[str, Any], person: Person, standing: Standing) -> BulkRun:
    try:
        return plan.make(_wish(options), person, standing.now)
    except NotAllowedNow as refused:
        hint = terminal.doubt(options) if refused.word == "none_chosen" else ""
        if not hint:
            raise
        raise NotAllowedNow(f"{refused} {hint}", word=refused.word) from refused


def _wish(options: dict[str, Any]) -> plan.Wish:
    if options["key"]:
        ids = tuple(terminal.find(key, options["key_workspace"]).pk for key in options["key"])
        return plan.Wish(options["bulk_verb"], uuid4(), ids)
    return plan.Wish(options["bulk_verb"], uuid4(), query=filter_options.query_of(options).urlencode())


def _start(options: dict[str, Any], standing: Standing) -> BulkRun:
    """Start a plan that this person made; whoever gives its number has its token."""
    said = order.Start(
        token=order.find(options["number"]).start_token,
        reason_code=options["reason_code"],
        reason=options["reason"],
        rate=options["rate"],
        canary=options["canary"],
        max_bad=options["max_bad"],
        typed=options["count"],
    )
    return order.start(options["number"], said, from_host(), standing.now)[0]


def _shown(number: int, standing: Standing, note: str) -> tuple[dict[str, Any], str]:
    bulk = order.find(number)
    found = page.read(bulk, from_host(), standing, QueryDict())
    answer: dict[str, Any] = {
        "number": bulk.pk,
        "verb": bulk.verb,
        "state": bulk.run.state if bulk.run else "planned",
        "run": bulk.run_id,
        "filter": bulk.query,
        "cut_off": bulk.planned_at,
        "matched": f"{bulk.matched_count:,}+" if found["is_capped"] else bulk.matched_count,
        "total": bulk.total_count,
        "eligible": bulk.eligible_count,
    }
    if bulk.run is None:
        answer["excluded"] = {str(why): count for why, count in found["excluded"]}
        answer["risks"] = {str(risk): count for risk, count in found["risks"]}
        answer["takes_about"] = found["duration"]
        answer["reason_codes"] = [code for code, _word, _text in found["codes"]]
    else:
        answer["outcomes"] = {name: count for name, _badge, count in found["counts"]}
        answer["whys"] = [
            {"outcome": str(badge.word), "why": str(why), "cases": count} for badge, why, count in found["whys"]
        ]
        answer["why_stopped"] = str(found["why_stopped"])
        answer["last_failure"] = found["last_code"]
        answer["ends_in_about"] = found["eta"]
        answer["ordered_by"] = bulk.actor
    lines = [f"{name:14} {_text(value)}".rstrip() for name, value in answer.items()]
    if bulk.run is None:
        lines.append(f"Start it: manage.py review bulk start {bulk.pk} --reason-code CODE")
    return answer, "\n".join([*lines, *([note] if note else [])])


def _text(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {count}" for name, count in value.items())
    if isinstance(value, list):
        return ", ".join(
            one if isinstance(one, str) else f"{one['cases']} {one['outcome']}: {one['why']}" for one in value
        )
    return terminal.text_of(value)


def _groups() -> tuple[list[dict[str, Any]], str]:
    with transaction.atomic():
        found = groups_page.read(read_standing())
    rows = [
        {
            "code": group.code,
            "provider": group.account,
            "cases": group.count,
            "oldest_at": group.oldest_at,
            "next_action": str(group.next_action),
            "configuration": f"changed, revision {group.revision.revision}"
            if group.is_configuration and group.revision
            else "",
            "meaning": group.meaning,
        }
        for group in found["groups"]
    ]
    text = terminal.aligned(rows, _COLUMNS) if rows else "Nothing needs review."
    return rows, f"{text}\n… the first {found['limit']}; `review list` shows all." if found["is_cut"] else text

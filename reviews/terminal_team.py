"""What `manage.py review` says of several people: the next free case, the log of human actions, figures, views."""

from __future__ import annotations

from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any, Final
from uuid import uuid4

from django.db import transaction

from reviews import export, filter_options, handing, human_log, saved_views, stats, terminal
from reviews.deed_words import DEEDS, PAUSE_REASONS
from reviews.models import OUTCOMES
from reviews.person import from_host
from reviews.record import Order
from reviews.refusals import NotAllowedNow
from reviews.standing import read_standing
from reviews.team_pages import HEADER, cells
from reviews.words import REASONS

# What `next` settles itself: it takes what nobody has, of what needs review.
_FIXED: Final = ("taken", "state")
_LOG_HELP: Final = {
    "who": "only what this person did: olga, or cli:olga@host",
    "verb": f"only this verb: one of {', '.join(DEEDS)}",
    "outcome": f"one of {', '.join(OUTCOMES)}",
    "reason": f"only with this reason code: one of {', '.join({**REASONS, **PAUSE_REASONS})}",
    "case": "only about this notification ID or report ID",
    "since": "from this day on (UTC), such as 2026-11-30",
    "until": "up to this day (UTC)",
}


def add_parsers(verbs: Any) -> None:
    """Add next, log, stats and views beside the verbs of a case."""
    following = verbs.add_parser("next", help="take the next case that nobody has, of this list")
    filter_options.add(following, but=_FIXED)
    following.add_argument("--json", action="store_true", help="print one JSON document")
    log = verbs.add_parser("log", help="what people did, newest first")
    for name in human_log.FIELDS:
        log.add_argument(f"--{name}", dest=f"log_{name}", default="", help=_LOG_HELP[name])
    log.add_argument("--limit", type=int, default=50, help="how many at most (1 to 1000; default 50)")
    log.add_argument("--csv", action="store_true", help="print all of it as CSV, times in UTC; --limit does not count")
    log.add_argument("--json", action="store_true", help="print one JSON array")
    verbs.add_parser("stats", help="what comes and goes, ages, codes, causes that come again").add_argument(
        "--json", action="store_true", help="print one JSON document"
    )
    _add_views(verbs.add_parser("views", help="list, save or delete saved views"))


def _add_views(views: ArgumentParser) -> None:
    views.add_argument("do", nargs="?", choices=("list", "save", "delete"), default="list")
    views.add_argument("name", nargs="?", default="", help="the view's name, or its number where it is deleted")
    views.add_argument("--query", default="", help="the queue's query to save, such as known=unknown&sort=oldest")
    views.add_argument("--share", action="store_true", help="share it with everybody")
    views.add_argument("--json", action="store_true", help="print one JSON document")


def take_next(options: dict[str, Any]) -> tuple[Any, str]:
    """Take the next free case. Raises Refused; where none is free as well, so that a script sees it."""
    query = filter_options.query_of(options)
    done = handing.take_next(query, Order(token=uuid4(), seq=0), from_host())
    if done is None:
        none = "No free case matches: others have what is left, or nothing is left."
        raise NotAllowedNow(f"{none} {terminal.doubt(options)}".rstrip())
    answer = terminal.done(done)
    return answer, f"{answer['notification_id']}: {answer['sentence']}"


def logged(options: dict[str, Any]) -> tuple[Any, str]:
    """Give the log of human actions, as rows or as CSV. Raises Refused."""
    terminal.check_number("--limit", options["limit"], 1, 1000)
    wanted = human_log.read_wanted({name: options[f"log_{name}"] for name in human_log.FIELDS})
    if options["csv"]:
        with transaction.atomic():
            now = read_standing().now
        rows = (cells(entry) for entry in human_log.exported(wanted, now))
        return None, "".join(export.lines(HEADER, rows)).rstrip("\r\n")
    with transaction.atomic():
        read_standing()
        entries, _after = human_log.read_page(wanted, "", options["limit"])
    return [dict(zip(HEADER, cells(entry), strict=True)) for entry in entries], "\n".join(
        f"{entry.at:%Y-%m-%d %H:%M:%S}Z  {entry.who}: {entry.what} {entry.about}"
        f"{f' (refused: {entry.why_not})' if entry.refusal else ''}{f', {entry.why}' if entry.reason_code else ''}"
        f"{f': {entry.reason}' if entry.reason else ''}"
        for entry in entries
    ) or "Nobody has done anything that matches."


def figures() -> tuple[Any, str]:
    """Give the figures of the queue."""
    with transaction.atomic():
        found = stats.read(read_standing().now)
    answer = {
        "hours": [asdict(slot) for slot in found["hours"]],
        "days": [asdict(slot) for slot in found["days"]],
        "ages": {str(line.label): line.count for line in found["ages"]},
        "codes": {str(line.label): line.count for line in found["codes"]},
        "causes": [asdict(cause) for cause in found["causes"]],
    }
    text = [f"{slot.at:%Y-%m-%d}  came {slot.came}, left {slot.went}" for slot in found["days"]]
    text += ["", *(f"{line.label:24} {line.count}" for line in found["ages"])]
    text += ["", *(f"{line.label:40} {line.count}" for line in found["codes"])]
    text += ["", *(_cause(cause) for cause in found["causes"])]
    return answer, "\n".join(text).rstrip()


def _cause(cause: stats.Cause) -> str:
    return (
        f"{cause.code} of {cause.type} at {cause.provider}: {cause.cases} cases, {cause.open} still in review, "
        f"{cause.again} came back. {cause.cure}"
    )


def views(options: dict[str, Any]) -> tuple[Any, str]:
    """List, save or delete saved views. Raises Refused."""
    person = from_host()
    if options["do"] == "save":
        saved = saved_views.save(options["name"], options["query"], person, share=options["share"])
        return asdict(saved), f"Saved as “{saved.name}”: {saved.url}"
    if options["do"] == "delete":
        number = int(options["name"]) if options["name"].isascii() and options["name"].isdigit() else 0
        found = [one.id for one in saved_views.seen_by(person) if options["name"] in (one.name, str(one.id))]
        name = saved_views.delete(found[0] if found else number, person)
        return {"deleted": name}, f"The view “{name}” is deleted."
    rows = saved_views.seen_by(person)
    lines = [f"{one.id:6}  {one.name}{' (shared)' if one.is_shared else ''}  {one.url}" for one in rows]
    return [asdict(one) for one in rows], "\n".join(lines) or "No view is saved."

"""What people did and what came of it: the pages watching, log, figures and help, and the log as CSV."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from datetime import datetime
from itertools import islice
from typing import Any, Final, cast

from asgiref.sync import sync_to_async
from django.core.exceptions import PermissionDenied
from django.core.handlers.asgi import ASGIRequest
from django.db import connection, transaction
from django.http import HttpRequest, HttpResponse, QueryDict, StreamingHttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from reviews import export, help_page, human_log, news, stats, watching
from reviews.access import console_page, login_needed
from reviews.deed_words import DEEDS, PAUSE_REASONS
from reviews.person import from_user
from reviews.refusals import BadReason
from reviews.replies import fragment_or_page
from reviews.standing import Standing, read_standing
from reviews.words import REASONS

HEADER: Final = (
    *("at_utc", "case", "notification_id", "actor", "action", "outcome", "refusal", "reason_code", "reason"),
    *("state_before", "state_after", "bulk_run", "workspace", "paused_scope", "paused_name"),
)
# As many lines of the export as are read at once.
_BLOCK: Final = 1000


@require_safe
@login_needed
@console_page
def watch(request: HttpRequest, standing: Standing) -> HttpResponse:
    """Show what was decided in the last day, by all or by this person, and what came of it."""
    me = from_user(request.user).name
    whose = "mine" if request.GET.get("who") == "mine" else "all"
    found = watching.read(standing.now, me if whose == "mine" else "")
    found["live"] = news.of_watching(((one.intent_id, one.seq) for one in found["watched"]), whose)
    return fragment_or_page(request, "watching", found | {"standing": standing, "whose": whose})


@require_safe
@login_needed
@console_page
def log(request: HttpRequest, standing: Standing) -> HttpResponse:
    """Show all that people did, newest first; a filter that cannot be read lists nothing and says why."""
    query, problem = request.GET, ""
    entries: list[human_log.Entry] = []
    after = ""
    size = int(query["size"]) if query.get("size", "") in map(str, human_log.SIZES) else human_log.DEFAULT_SIZE
    unknown = sorted(set(query) - {*human_log.FIELDS, "after", "size"})
    try:
        if unknown:
            raise BadReason(_("There is no filter named “%(name)s”; remove it.") % {"name": unknown[0][:60]})
        wanted = human_log.read_wanted(_given(query))
        entries, after = human_log.read_page(wanted, query.get("after", ""), size)
    except BadReason as bad:
        problem = str(bad)
    found = {"standing": standing, "entries": entries, "problem": problem, "given": _given(query)}
    found |= {"next_url": _log_url(query, after=after) if after else "", "is_first": not query.get("after")}
    found |= {"first_url": _log_url(query), "export_url": _export_url(query), "sizes": human_log.SIZES, "size": size}
    found |= {"verbs": list(DEEDS.items()), "reasons": list((PAUSE_REASONS | REASONS).items())}
    found["may_export"] = "export_log" in from_user(request.user).powers
    return fragment_or_page(request, "log", found)


@require_safe
@login_needed
def export_log(request: HttpRequest) -> HttpResponse:
    """Stream all that the filters choose as CSV, in UTC; a lead's. What comes in meanwhile is left out."""
    if "export_log" not in from_user(request.user).powers:
        raise PermissionDenied
    with transaction.atomic():
        now = read_standing().now
        try:
            wanted = human_log.read_wanted(_given(request.GET))
        except BadReason as bad:
            return HttpResponse(str(bad), status=422, content_type="text/plain; charset=utf-8")
    blocks = _blocks(export.lines(HEADER, (cells(entry) for entry in human_log.exported(wanted, now))))
    body: Iterator[str] | AsyncIterator[str] = _unhurried(blocks) if isinstance(request, ASGIRequest) else blocks
    response = StreamingHttpResponse(body, content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="human-actions-{now:%Y%m%d-%H%M%S}Z.csv"'
    response["Cache-Control"] = "no-store"
    return cast("HttpResponse", response)  # all that is done with it is to hand it on


@require_safe
@login_needed
@console_page
def figures(request: HttpRequest, standing: Standing) -> HttpResponse:
    """Show what comes and goes, how old it is, of which codes, and which causes come again."""
    return fragment_or_page(request, "stats", stats.read(standing.now) | {"standing": standing})


@require_safe
@login_needed
@console_page
def explain(request: HttpRequest, standing: Standing) -> HttpResponse:
    """Show what codes, risks and shortcuts mean, and what this account may do."""
    return fragment_or_page(request, "help", help_page.read(from_user(request.user)) | {"standing": standing})


async def _unhurried(blocks: Iterator[str]) -> AsyncIterator[str]:
    """Give the blocks, read in the request's thread: under ASGI a plain iterator would be gathered whole."""
    while block := await sync_to_async(_next)(blocks):
        yield block


def _next(blocks: Iterator[str]) -> str:
    return next(blocks, "")


def _blocks(lines: Iterator[str]) -> Iterator[str]:
    """Give the lines in blocks. While a slow reader takes one, no connection is kept for it."""
    while block := "".join(islice(lines, _BLOCK)):
        if not connection.in_atomic_block:
            connection.close()  # into the pool, for whoever needs one now
        yield block


def cells(entry: human_log.Entry) -> tuple[datetime | str | int, ...]:
    """Give a row of the export, in the order of HEADER."""
    return (
        *(entry.at, entry.intent_id, entry.key, entry.actor, entry.action, entry.outcome, entry.refusal),
        *(entry.reason_code, entry.reason, entry.before_state, entry.after_state, entry.bulk_id, entry.workspace),
        *(entry.scope, entry.name),
    )


def _given(query: QueryDict) -> dict[str, str]:
    return {name: query.get(name, "") for name in human_log.FIELDS}


def _log_url(query: QueryDict, **changes: Any) -> str:
    return f"{reverse('reviews:log')}?{_kept(query, **changes).urlencode()}"


def _export_url(query: QueryDict) -> str:
    return f"{reverse('reviews:export_log')}?{_kept(query).urlencode()}"


def _kept(query: QueryDict, **changes: str) -> QueryDict:
    kept = QueryDict(mutable=True)
    kept.update({name: str(value) for name, value in query.items() if value and name != "after"})
    kept.update({name: value for name, value in changes.items() if value})
    return kept

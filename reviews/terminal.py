"""What `manage.py review` prints: the queue, one case, and what a decision came to."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from django.db import transaction

from notifications.command_line import number_fault, strange_workspace
from notifications.models import Intent, IntentKey
from reviews import case, done_words, filter_options, queue
from reviews.advised import advice_on
from reviews.filters import QueueFilter
from reviews.person import from_host
from reviews.record import Done
from reviews.refusals import NotAllowedNow, UnknownCase
from reviews.standing import read_standing
from reviews.ways import BARRED

_COLUMNS: Final = ("notification_id", "workspace", "error_code", "known", "attempts", "safe_until", "suggested")


def listed(options: dict[str, Any]) -> tuple[list[dict[str, Any]], str]:
    """Give the rows and the whole count. Raises NotAllowedNow for a filter that cannot be read."""
    limit, me = options["limit"], from_host().identity
    check_number("--limit", limit, 1, 1000)
    query = filter_options.query_of(options)
    with transaction.atomic():
        filters = QueueFilter(query, queryset=Intent.objects.all(), now=read_standing().now, me=me)
        cases = filters.cases()
        order = "safe" if filters.is_of_review else queue.NEWEST
        person, now = from_host(), read_standing().now
        rows = [
            {**_row(intent), "suggested": str(advice_on(intent, person, now).words)}
            for intent in queue.read_page(cases, None, limit, order).rows
        ]
        count = queue.count_capped(cases)
    return rows, str(count) if count <= queue.COUNT_CAP else f"{queue.COUNT_CAP:,}+"


def check_number(option: str, value: float | None, low: int, high: int) -> None:
    """Raise NotAllowedNow, with the sentence that names the bounds, for a number outside of `low` to `high`."""
    if fault := number_fault(option, value, low, high):
        raise NotAllowedNow(fault)


def doubt(options: dict[str, Any]) -> str:
    """Give a hint where nothing was ever enqueued for the workspace of the filters; `-` is the default one."""
    return strange_workspace(options["workspace"]) if options.get("workspace", "-") != "-" else ""


def warning() -> str:
    """Give why nothing on the list can be sent once more now; empty where nothing keeps it."""
    with transaction.atomic():
        return str(BARRED["recovering"]) if read_standing().is_recovering else ""


def find(key: str, workspace: str) -> Intent:
    """Give the intent of a notification ID, else of a number. Raises UnknownCase."""
    found = IntentKey.objects.filter(key=key, workspace=workspace).values_list("intent_id", flat=True).first()
    if found is None and key.isascii() and key.isdigit() and len(key) <= 18:
        found = int(key)
    intent = Intent.objects.select_related("account").filter(pk=found).first() if found is not None else None
    if intent is None:
        others = IntentKey.objects.filter(key=key).values_list("workspace", flat=True)[:3]
        raise UnknownCase(others, strange_workspace(workspace))
    return intent


def shown(intent: Intent) -> dict[str, Any]:
    """Give one case with the verbs that are allowed now, and what forbids the others."""
    with transaction.atomic():
        found = case.read(intent.pk, from_host(), read_standing())
    deeds = [
        {
            "at": deed.at,
            "who": deed.who,
            "what": str(deed.what),
            "refused": deed.was_refused,
            "why_not": str(deed.why_not),
            "reason": str(deed.reason),
            "text": deed.text,
        }
        for deed in found["deeds"]
    ]
    return {
        **_row(intent),
        "sentence": found["sentence"],
        "suggested": str(found["next_action"]),
        "recommended": found["recommended"],
        "field": found["field"] or None,
        "barred": str(found["barred"]),
        "meaning": found["meaning"],
        "recipient": found["recipient"],
        "provider_message_id": intent.provider_message_id,
        "allowed": [form.verb for form in found["forms"] if not form.why_not],
        "answers": _answers(found),
        "being_asked_since": found["asked"].wanted_at,
        "forbidden": {form.verb: str(form.why_not) for form in found["forms"] if form.why_not},
        "replaces": found["before"].key if found["before"] else None,
        "replaced_by": found["after"].key if found["after"] else None,
        "may_duplicate": found["may_duplicate"],
        "snoozed_until": found["snoozed_until"],
        "resend_asked_by": found["request_open"].asked_by if found["request_open"] else None,
        "human_actions": deeds,
    }


def _answers(found: dict[str, Any]) -> list[dict[str, Any]]:
    """Give what the provider was asked, newest first, as the case's page shows it."""
    return [
        {
            "at": told.at,
            "answer": str(told.answer.word),
            "how": str(told.how),
            "asked_by": told.by,
            "meaning": told.meaning,
            "provider_message_ids": list(told.ids),
            "counts_until": told.until,
        }
        for told in found["answers"]
    ]


def done(result: Done) -> dict[str, Any]:
    """Give what a decision came to."""
    intent = Intent.objects.get(pk=result.intent_id)
    return {
        "id": intent.pk,
        "notification_id": intent.notification_id,
        "verb": result.verb,
        "at": result.at,
        "state": intent.state,
        "seq": intent.seq,
        "next_attempt_at": intent.next_attempt_at,
        "sentence": str(done_words.done_sentence(result)),
        **{name: result.after[name] for name in ("continued_as", "maybe_sent", "erased") if name in result.after},
    }


def _row(intent: Intent) -> dict[str, Any]:
    return {
        "id": intent.pk,
        "notification_id": intent.notification_id,
        "workspace": intent.workspace,
        "report_id": intent.report_id,
        "type": intent.type,
        "channel": intent.channel,
        "provider": intent.account.name,
        "state": intent.state,
        "delivery_status": intent.delivery_status,
        "error_code": intent.error_code,
        "known": intent.known,
        "next_action": intent.next_action,
        "attempts": intent.attempt_count,
        "review_since": intent.review_since,
        "safe_until": intent.safe_until,
        "seq": intent.seq,
    }


def table(rows: list[dict[str, Any]]) -> str:
    """Give rows in aligned columns."""
    if not rows:
        return "Nothing needs review."
    return aligned(rows, _COLUMNS)


def aligned(rows: list[dict[str, Any]], columns: tuple[str, ...]) -> str:
    """Give these columns of rows below each other."""
    texts = [list(columns), *([text_of(row[name]) for name in columns] for row in rows)]
    widths = [max(len(line[column]) for line in texts) for column in range(len(columns))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in texts
    )


def lines(found: dict[str, Any]) -> str:
    """Give one case as lines of name and value."""
    apart = (*(name for name, value in found.items() if isinstance(value, list | dict)), "being_asked_since")
    plain = {name: value for name, value in found.items() if name not in apart}
    text = [f"{name:20} {text_of(value)}".rstrip() for name, value in plain.items()]
    text.append(f"{'allowed':20} {', '.join(found['allowed'])}")
    text += [f"{verb + ' forbidden':20} {why}" for verb, why in found["forbidden"].items()]
    text += [_answer_line(answer) for answer in found["answers"]]
    if not found["answers"]:
        text.append(f"{'provider answered':20} nothing: not asked yet")
    if found["being_asked_since"]:
        text.append(f"{'being asked since':20} {text_of(found['being_asked_since'])}")
    text += [
        f"{text_of(deed['at'])}  {deed['who']}: {deed['what']}{_why_not(deed)}"
        f"{', ' + deed['reason'] if deed['reason'] else ''}{': ' + deed['text'] if deed['text'] else ''}"
        for deed in found["human_actions"]
    ]
    return "\n".join(text)


def _why_not(deed: dict[str, Any]) -> str:
    return f" (refused: {deed['why_not']})" if deed["refused"] else ""


def _answer_line(answer: dict[str, Any]) -> str:
    told = [
        answer["answer"],
        *answer["provider_message_ids"],
        answer["how"],
        f"for {answer['asked_by']}" if answer["asked_by"] else "by itself",
        answer["meaning"],
        f"counts until {text_of(answer['counts_until'])}" if answer["counts_until"] else "",
    ]
    return f"{text_of(answer['at'])}  provider: {', '.join(filter(None, told))}"


def text_of(value: object) -> str:
    """Give one value as a terminal shows it."""
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S}Z"
    return "" if value is None else str(value)


def as_json(value: object) -> object:
    """Give times in ISO 8601 with zone and microseconds."""
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} has no JSON form here")

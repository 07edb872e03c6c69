"""What Telegram's answers mean: the status and the beginning of its sentence → class and code, as data.

There are no codes but the HTTP status, so that the sentence must be read; of it nothing is kept. What is not listed is
judged by the status: a 403 is always about the chat.

Source: core.telegram.org/bots/api, "Making requests" and ResponseParameters (retry_after, migrate_to_chat_id; read
2026-11); the sentences as github.com/TelegramBotAPI/errors and github.com/vrumger/telegram-errors have collected them.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from notifications.states import ResultClass

_RECIPIENT: Final = ResultClass.RECIPIENT


class Row(NamedTuple):
    """One known sentence, in small letters and without the status before it. `gone`: the chat takes nothing more."""

    status: int
    begins: str
    result_class: ResultClass
    name: str
    gone: bool = False


ROWS: Final = (
    Row(403, "bot was blocked by the user", _RECIPIENT, "blocked", gone=True),
    Row(403, "user is deactivated", _RECIPIENT, "deactivated", gone=True),
    Row(403, "bot was kicked from", _RECIPIENT, "kicked", gone=True),
    Row(403, "bot can't initiate conversation", _RECIPIENT, "not_started"),
    Row(403, "bot is not a member of", _RECIPIENT, "no_rights"),
    Row(400, "chat not found", _RECIPIENT, "chat_not_found", gone=True),
    Row(400, "user not found", _RECIPIENT, "chat_not_found", gone=True),
    Row(400, "peer_id_invalid", _RECIPIENT, "chat_not_found", gone=True),
    Row(400, "group chat was upgraded", _RECIPIENT, "migrated"),
    Row(400, "group chat was deactivated", _RECIPIENT, "deactivated", gone=True),
    Row(400, "group is deactivated", _RECIPIENT, "deactivated", gone=True),
    Row(400, "not enough rights", _RECIPIENT, "no_rights"),
    Row(400, "have no rights to send", _RECIPIENT, "no_rights"),
    Row(400, "need administrator rights", _RECIPIENT, "no_rights"),
    Row(400, "chat_write_forbidden", _RECIPIENT, "no_rights"),
    Row(400, "message is too long", ResultClass.CONTENT, "too_long"),
    Row(400, "message text is empty", ResultClass.CONTENT, "content_refused"),
    Row(400, "text must be encoded in utf-8", ResultClass.CONTENT, "content_refused"),
)
MIGRATED: Final = next(row for row in ROWS if row.name == "migrated")
_BY_STATUS: Final[dict[int, tuple[ResultClass, str]]] = {
    400: (ResultClass.CONTENT, "refused"),
    401: (ResultClass.FIX_CONFIG, "login_refused"),
    403: (_RECIPIENT, "forbidden"),
    404: (ResultClass.FIX_CONFIG, "login_refused"),  # the token is a part of the path
    408: (ResultClass.UNKNOWN, "failed"),
    413: (ResultClass.CONTENT, "too_long"),
    425: (ResultClass.UNKNOWN, "failed"),
    429: (ResultClass.RATE_LIMITED, "too_many"),
}
_BY_RANGE: Final[tuple[tuple[range, tuple[ResultClass, str]], ...]] = (
    (range(300, 400), (ResultClass.FIX_CONFIG, "redirected")),
    (range(400, 500), (ResultClass.FIX_CONFIG, "refused")),
    (range(500, 600), (ResultClass.UNKNOWN, "failed")),
)
ACCEPTED: Final = "telegram.accepted"
MALFORMED: Final = "telegram.malformed_response"
NOT_TELEGRAM: Final = "telegram.not_telegram"
CODES: Final = frozenset(
    {ACCEPTED, MALFORMED, NOT_TELEGRAM}
    | {f"telegram.{row.name}" for row in ROWS}
    | {f"telegram.{name}" for _, name in _BY_STATUS.values()}
    | {f"telegram.{name}" for _, (_, name) in _BY_RANGE}
)


def row_of(status: int, description: str, *, migrated: bool) -> Row:
    """Give what an answer means that is no success. `description` is looked at and not kept."""
    if status == 400 and migrated:
        return MIGRATED
    said = description.lower()
    said = said.partition(": ")[2] or said
    for row in ROWS:
        if row.status == status and said.startswith(row.begins):
            return row
    found = _BY_STATUS.get(status) or next((each for statuses, each in _BY_RANGE if status in statuses), None)
    result_class, name = found or (ResultClass.UNKNOWN, "malformed_response")
    return Row(status, "", result_class, name)

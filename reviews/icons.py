"""Which icon stands beside the word of a decision, a suggestion or a risk; each is a name of static/icons.svg."""

from __future__ import annotations

from typing import Final

from notifications.states import NextAction

VERBS: Final[dict[str, str]] = {
    "retry": "rotate-cw",
    "undo": "undo-2",
    "query": "message-circle-question-mark",
    "adopt": "link",
    "approve": "check",
    "decline": "x",
    "correct": "at-sign",
    "resend": "triangle-alert",
    "resume": "play",
    "wait": "alarm-clock",
    "close": "archive",
    "withdraw": "ban",
    "reopen": "archive-restore",
    "note": "message-square-plus",
    "unblock": "undo-2",
    "take": "user-round-plus",
    "release": "user-round-minus",
    "take_over": "users-round",
}
NEXT_ACTIONS: Final[dict[str, str]] = {
    NextAction.QUERY_PROVIDER: VERBS["query"],
    NextAction.RETRY_SAME_KEY: VERBS["retry"],
    NextAction.RETRY_NEW_KEY: VERBS["retry"],
    NextAction.FIX_CONFIG: "wrench",
    NextAction.FIX_CONTENT: "wrench",
    NextAction.FIND_CAUSE: VERBS["query"],
    NextAction.ENQUEUE_ANEW: VERBS["close"],
    NextAction.CORRECT_ADDRESS: VERBS["correct"],
    NextAction.WAIT_FOR_EVENT: VERBS["wait"],
    NextAction.CLOSE_DUPLICATE: VERBS["close"],
    NextAction.APPROVE: "user-round-check",
    NextAction.ASK_LEAD: "user-round",
}
RISKS: Final[dict[str, str]] = {
    "none": "shield-check",
    "low": "shield",
    "medium": "shield-alert",
    "forced": "triangle-alert",
}


def of(word: str) -> str:
    """Give the icon of a verb, a suggested action or a risk by its slug; what is unknown has none."""
    return VERBS.get(word) or NEXT_ACTIONS.get(word) or RISKS.get(word, "")

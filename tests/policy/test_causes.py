"""Whose fault a code is, what is suggested for it and what its cure says agree: of every code there is."""

from __future__ import annotations

import pytest

from notifications.policy import causes, codes, cures
from notifications.policy.causes import Cause, action_of, cause_of
from notifications.policy.claim import decide_unprepared
from notifications.providers import resend_errors
from notifications.states import NextAction, ResultClass

OURS = (
    *(*codes.REVIEW_CODES, *codes.TRANSPORT_CODES, *codes.SMTP_CODES, *codes.WEBHOOK_CODES),
    *codes.SERVICE_CODES,
)
PROVIDERS = tuple(f"resend.{row.status}.{row.name}" for row in resend_errors.ROWS)
# What a cure must speak of, and what it must not: the account is never blamed for content, nor data for the account.
SAYS: dict[Cause, tuple[str, tuple[str, ...]]] = {
    Cause.ACCOUNT: ("account", ("template", "data")),
    Cause.SITE: ("site", ("account", "template", "data")),
    Cause.CONTENT: ("data", ("account", "key, sender")),
    Cause.DATA: ("enqueue it anew", ("account", "template", "then retry")),
    Cause.REQUEST: ("", ()),
    Cause.ADDRESS: ("ddress", ("account", "template")),
    Cause.WISH: ("", ("account", "template")),
    Cause.DOUBT: ("", ("account", "template")),
    Cause.TRANSPORT: ("", ("template", "data")),
    Cause.SECOND: ("", ("account", "template")),
}


@pytest.mark.parametrize("code", OURS)
def test_every_code_of_ours_has_a_cause_and_its_cure_blames_nobody_else(code: str) -> None:
    cause = cause_of(code)
    assert cause is not None
    wanted, unwanted = SAYS[cause]
    if code not in (codes.SOFT_BOUNCED, "smtp.garbled"):
        assert wanted in cures.CURES[code]
        assert [word for word in unwanted if word in cures.CURES[code]] == []


@pytest.mark.parametrize("cause", causes.ACTIONS)
def test_every_cause_of_a_refusal_has_a_cure_for_a_providers_code(cause: Cause) -> None:
    wanted, unwanted = SAYS[cause]
    assert wanted in cures.BY_CAUSE[cause]
    assert [word for word in unwanted if word in cures.BY_CAUSE[cause]] == []


@pytest.mark.parametrize("code", PROVIDERS)
def test_every_answer_of_the_provider_has_a_cause(code: str) -> None:
    assert cause_of(code) is not None
    status = int(code.split(".")[1])
    assert (cause_of(code) is Cause.ACCOUNT) == (
        status in range(401, 406) or code.endswith(("access", "from_address", "region"))
    )


@pytest.mark.parametrize("code", sorted(causes.UNPREPARED))
def test_what_could_not_be_prepared_is_suggested_by_its_cause(code: str) -> None:
    of_address = code == codes.INVALID_RECIPIENT
    decision = decide_unprepared(code, ResultClass.RECIPIENT if of_address else ResultClass.FIX_CONFIG, ambiguous=False)
    assert decision.next_action is action_of(code)
    assert (decision.next_action is NextAction.FIX_CONFIG) == (code in (codes.INVALID_SENDER, codes.INVALID_REPLY_TO))


@pytest.mark.parametrize(
    ("field", "action"),
    [
        ("to", NextAction.CORRECT_ADDRESS),
        ("from", NextAction.FIX_CONFIG),
        ("reply_to", NextAction.FIX_CONFIG),
        *((field, NextAction.FIX_CONTENT) for field in ("subject", "html", "text", "headers", "tags", "attachments")),
        (None, NextAction.FIND_CAUSE),
        ("something_else", NextAction.FIND_CAUSE),
    ],
)
def test_the_field_that_the_provider_named_decides(field: str | None, action: NextAction) -> None:
    assert action_of("resend.422.validation_error", field) is action
    assert action_of("resend.403.validation_error", field) is NextAction.FIX_CONFIG  # there it is the domain


@pytest.mark.parametrize(
    ("message", "name", "field"),
    [
        ("Invalid `reply_to` field.", "validation_error", "reply_to"),
        ("Missing `html` or `text` field.", "missing_required_field", "html"),
        ("Invalid `from` field; `to` is wrong as well.", "validation_error", "to"),
        ("Invalid `secret_ana@example.com` field.", "validation_error", None),
        ("Invalid `subject", "validation_error", None),
        ("Nothing is quoted: subject", "invalid_parameter", None),
        ("The attachment is too `text`.", "invalid_attachment", "attachments"),
        ("Invalid `subject` field.", "a_new_name", None),
    ],
)
def test_only_a_word_of_the_vocabulary_is_read_out_of_the_providers_sentence(
    message: str, name: str, field: str | None
) -> None:
    assert resend_errors.field_of(422, name, message) == field
    assert resend_errors.field_of(500, name, message) is None
    assert field is None or field in causes.FIELDS
    assert set(resend_errors.FIELDS) == set(causes.FIELDS)

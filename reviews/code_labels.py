"""The words for the names in providers' codes, so that a queue in another language reads as one."""

from __future__ import annotations

from typing import Final

from django.utils.translation import gettext_lazy as _

from reviews.refusals import Sentence

_WORDS: Final[dict[str, Sentence]] = {
    "application_error": _("application error"),
    "concurrent_idempotent_requests": _("earlier request still runs"),
    "daily_quota_exceeded": _("daily quota exceeded"),
    "edge_refusal": _("refused at the edge"),
    "email_above_quota": _("above the plan's quota"),
    "internal_server_error": _("internal server error"),
    "invalid_access": _("invalid access"),
    "invalid_api_key": _("invalid API key"),
    "invalid_attachment": _("invalid attachment"),
    "invalid_from_address": _("invalid sender"),
    "invalid_idempotency_key": _("invalid idempotency key"),
    "invalid_idempotent_request": _("same key, other content"),
    "invalid_parameter": _("invalid parameter"),
    "invalid_permission": _("permission missing"),
    "invalid_region": _("invalid region"),
    "invalid_scope": _("key's scope too narrow"),
    "invalid_to_address": _("invalid recipient"),
    "method_not_allowed": _("method not allowed"),
    "missing_api_key": _("API key missing"),
    "missing_required_field": _("required field missing"),
    "missing_required_parameter": _("required field missing"),
    "monthly_quota_exceeded": _("monthly quota exceeded"),
    "not_found": _("not found"),
    "rate_limit_exceeded": _("rate limit exceeded"),
    "resource_locked": _("resource locked"),
    "restricted_api_key": _("restricted API key"),
    "security_error": _("security error"),
    "service_unavailable": _("service unavailable"),
    "suspended_api_key": _("suspended API key"),
    "unclassified": _("not in the list"),
    "validation_error": _("validation error"),
    # Of the mail services that django-anymail knows.
    "account_stopped": _("account stopped"),
    "bad_key": _("key refused"),
    "content_refused": _("content refused"),
    "credits_used_up": _("credits used up"),
    "failed": _("service failed"),
    "key_used_before": _("key used before"),
    "malformed_response": _("unreadable answer"),
    "no_such_endpoint": _("not the API's address"),
    "not_allowed": _("not allowed"),
    "recipient_invalid": _("invalid recipient"),
    "recipient_suppressed": _("recipient suppressed there"),
    "redirected": _("sends elsewhere"),
    "request_refused": _("request refused"),
    "sender_refused": _("sender refused"),
    "too_large": _("too large"),
    "too_many": _("too many for now"),
    "unclear": _("unclear conflict"),
}


def word_of(name: str) -> str:
    """Give the word for a name; the name itself where there is none."""
    return str(_WORDS.get(name, name.replace("_", " ")))

"""The API's own error names, with the status and the sentence each one carries."""

from __future__ import annotations

STANDARD: dict[str, tuple[int, str]] = {
    "missing_api_key": (401, "Missing API key in the authorization header."),
    "restricted_api_key": (401, "This API key is restricted to only send emails."),
    "suspended_api_key": (403, "This API key is suspended."),
    "invalid_idempotency_key": (400, "The idempotency key must be between 1 and 256 characters long."),
    "validation_error": (422, "The request body failed validation."),
    "missing_required_field": (422, "The request body is missing one or more required fields."),
    "not_found": (404, "The requested endpoint does not exist."),
    "method_not_allowed": (405, "This endpoint does not support the specified HTTP method."),
    "concurrent_idempotent_requests": (
        409,
        "Another request with the same idempotency key is still in progress. Try again later.",
    ),
    "invalid_idempotent_request": (
        409,
        "The same idempotency key was used with this HTTP method and endpoint and a different request body.",
    ),
    "resource_locked": (409, "Another operation holds this resource. Try again shortly."),
    "rate_limit_exceeded": (429, "Too many requests. Slow down, or ask for a higher rate limit."),
    "daily_quota_exceeded": (429, "The daily email sending quota has been reached."),
    "monthly_quota_exceeded": (429, "The monthly email sending quota has been reached."),
    "application_error": (500, "An unexpected error occurred."),
    "internal_server_error": (500, "An unexpected error occurred."),
    "service_unavailable": (503, "The API is temporarily unavailable."),
}


class Refusal(Exception):
    """The API says no: an error name, the status it goes with, and a sentence.

    The sentences are ours; only names and statuses are the provider's vocabulary.
    Source: resend.com/docs/api-reference/errors (read 2026-08-23).
    """

    def __init__(self, name: str, message: str | None = None, status: int | None = None) -> None:
        usual_status, usual_message = STANDARD.get(name, (400, name))
        self.name = name
        self.status = status or usual_status
        self.message = message or usual_message
        super().__init__(self.message)


class Misused(Exception):
    """Someone asked the control plane or the command line for something that it cannot do; the text says how to ask."""

"""The mail services that are spoken to by django-anymail: one row each, by the name of their kind of account.

A row says which of anymail's backends builds the request and reads the answer, what the account must give it, and what
the service promises; a promise that we do not use is not declared.

Source: the code of django-anymail 15.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Final, Literal

from notifications.providers.base import Capabilities

PLAIN: Final = Capabilities(
    idempotency="none",
    idempotency_window=None,
    idempotency_key_max=None,
    key_scope="none",
    lookup=frozenset(),
    lookup_settle=timedelta(0),
    lookup_retention=None,
    receipts=frozenset(),
    max_recipients=1,
)
_HEARD: Final = frozenset({"delivered", "deferred", "bounced", "complained", "suppressed", "failed"})


@dataclass(frozen=True, slots=True)
class Esp:
    """One service. `url` is where it is found, for sentences and docs; the account's own base URL counts.

    `secrets` are the backend's arguments that the account's secret gives, parted by colons; `options` those that the
    base URL's query may give, and `wanted` those that it must. `fixed` keeps the backend pure: no random ids.
    `marks`: where our tags travel. `id_header`: the header that names the message, where no answer's body does.
    `key_header`: the header that carries a key, a UUID made of what the message is. `reasons`: where an error answer
    names its reason, as paths (`*` each of a list, `@` the names of an object).
    """

    name: str
    backend: str
    url: str
    secrets: tuple[str, ...]
    reasons: tuple[tuple[str, ...], ...]
    capabilities: Capabilities = PLAIN
    options: tuple[str, ...] = ()
    wanted: tuple[str, ...] = ()
    fixed: Mapping[str, object] = field(default_factory=dict)
    marks: Literal["metadata", "tag"] = "metadata"
    id_header: str | None = None
    key_header: str | None = None


def _of(module: str) -> str:
    return f"anymail.backends.{module}.EmailBackend"


ESPS: Final = (
    Esp(
        "postmark",
        _of("postmark"),
        "https://api.postmarkapp.com/",
        ("server_token",),
        (("ErrorCode",), ("Message",)),
        # How soon its search shows what it took is not published: absence is believed after a quarter of an hour.
        replace(
            PLAIN,
            receipts=_HEARD,
            lookup=frozenset({"correlation"}),
            lookup_settle=timedelta(minutes=15),
            lookup_retention=timedelta(days=45),
        ),
        options=("message_stream",),
        fixed={"use_bulk_api": False, "generate_message_id": False},
    ),
    Esp(
        "mailgun",
        _of("mailgun"),
        "https://api.mailgun.net/v3/",
        ("api_key",),
        (("message",),),
        replace(PLAIN, receipts=_HEARD),
        options=("sender_domain",),
    ),
    Esp(
        "sendgrid",
        _of("sendgrid"),
        "https://api.sendgrid.com/v3/",
        ("api_key",),
        (("errors", "*", "field"), ("errors", "*", "message")),
        fixed={"generate_message_id": False, "merge_field_format": None},
        id_header="X-Message-Id",
    ),
    Esp(
        "brevo",
        _of("brevo"),
        "https://api.brevo.com/v3/",
        ("api_key",),
        (("code",), ("message",)),
        # Source: developers.brevo.com/changelog/email-api-now-supports-idempotency (15 minutes) and
        # /docs/heterogenous-versions-batch-emails (30 minutes; a repeat is `duplicate_parameter`). The shorter counts.
        replace(
            PLAIN,
            idempotency="key",
            idempotency_window=timedelta(minutes=15),
            idempotency_key_max=36,
            key_scope="account",
        ),
        fixed={"workaround_display_name_bugs": True, "prevent_header_encoding_bugs": True},
        key_header="idempotencyKey",
    ),
    Esp(
        "mailjet",
        _of("mailjet"),
        "https://api.mailjet.com/v3.1/",
        ("api_key", "secret_key"),
        (
            ("ErrorCode",),
            ("Messages", "*", "Errors", "*", "ErrorCode"),
            ("Messages", "*", "Errors", "*", "ErrorRelatedTo", "*"),
        ),
    ),
    Esp(
        "sparkpost",
        _of("sparkpost"),
        "https://api.sparkpost.com/api/v1/",
        ("api_key",),
        (("errors", "*", "code"),),
        options=("subaccount",),
    ),
    Esp(
        "mailersend",
        _of("mailersend"),
        "https://api.mailersend.com/v1/",
        ("api_token",),
        (("errors", "@"), ("message",)),
        fixed={"batch_send_mode": None},
        marks="tag",
    ),
    Esp(
        "mailtrap",
        _of("mailtrap"),
        "https://send.api.mailtrap.io/api/",
        ("api_token",),
        (("errors", "*"),),
        options=("sandbox_id",),
    ),
    Esp(
        "scaleway",
        _of("scaleway"),
        "https://api.scaleway.com/transactional-email/v1alpha1/regions/fr-par/",
        ("secret_key",),
        (("type",), ("details", "*", "argument_name")),
        options=("project_id",),
        wanted=("project_id",),
        fixed={"region": "fr-par"},  # it stands in the base URL
    ),
    Esp(
        "unisender",
        _of("unisender_go"),
        "https://go1.unisender.ru/ru/transactional/api/v1/",
        ("api_key",),
        (("code",),),
        fixed={"generate_message_id": False, "workaround_display_name_bugs": True},
    ),
    Esp(
        "postal",
        _of("postal"),
        "https://postal.example.com/",
        ("api_key",),
        (("data", "code"),),
        marks="tag",
    ),
)

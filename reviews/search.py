"""The search box: exact or by prefix on ID, report ID and provider message id; up to 200 pasted ids. No substrings."""

from __future__ import annotations

import re
from typing import Final

from django.db import connection

MAX_PASTED: Final = 200

# The columns have collation C, so that a prefix is an index range. Three short index scans, each bounded.
_BY_PREFIX: Final = """
SELECT intent_id FROM (
    (SELECT intent_id FROM notifyops_private.notifications_intentkey WHERE key LIKE %(prefix)s LIMIT %(limit)s)
    UNION ALL
    (SELECT intent_id FROM notifyops_private.notifications_intentkey
     WHERE report_id LIKE %(prefix)s AND singular LIMIT %(limit)s)
    UNION ALL
    (SELECT intent_id FROM notifyops_private.notifications_intentkey
     WHERE report_id LIKE %(prefix)s AND NOT singular LIMIT %(limit)s)
    UNION ALL
    (SELECT id FROM notifyops_private.notifications_intent WHERE provider_message_id = %(whole)s LIMIT %(limit)s)
) AS found LIMIT %(limit)s
"""
_EXACT: Final = """
SELECT intent_id FROM notifyops_private.notifications_intentkey WHERE key = ANY (%(words)s)
UNION ALL
SELECT intent_id FROM notifyops_private.notifications_intentkey WHERE report_id = ANY (%(words)s) AND singular
UNION ALL
SELECT intent_id FROM notifyops_private.notifications_intentkey WHERE report_id = ANY (%(words)s) AND NOT singular
UNION ALL
SELECT id FROM notifyops_private.notifications_intent WHERE provider_message_id = ANY (%(words)s)
LIMIT 201
"""


def matching_ids(text: str) -> list[int]:
    """Give the intents that the search names, up to one more than the limit: by prefix for one word, else exactly.

    The whole text is always tried as well, since a report ID may hold blanks.
    """
    text = text.strip()
    words = list(dict.fromkeys(re.split(r"[\s,;]+", text)))[: MAX_PASTED + 1]
    with connection.cursor() as cursor:
        if len(words) == 1:
            cursor.execute(_BY_PREFIX, {"prefix": _literal(text) + "%", "whole": text, "limit": MAX_PASTED + 1})
        else:
            cursor.execute(_EXACT, {"words": [text, *words]})
        return sorted({row[0] for row in cursor.fetchall()})


def _literal(text: str) -> str:
    return re.sub(r"([\\%_])", r"\\\1", text)

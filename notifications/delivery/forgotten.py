"""After a restore: what the providers hold with our tags that this database knows nothing of. Ids only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from psycopg import AsyncConnection

from notifications.delivery.questions import LISTED_FOR
from notifications.delivery.reconcile import SETTLE_S, Desk, budget_of
from notifications.delivery.restore import MARGIN, WORKER
from notifications.door import Entry, append_async
from notifications.policy import codes
from notifications.providers.base import Listed, ListedPage, Listing
from notifications.states import EntryKind, Known, NextAction, State

# Of one round: questions that somebody waits for come between two of them.
_ROUND_S: Final = 20.0
_LATEST: Final = f"""
SELECT r.id, r.since, t.now
FROM (SELECT notifyops_private.clock_v1() AS now OFFSET 0) t CROSS JOIN LATERAL ({LISTED_FOR}) r
WHERE r.started_at <= t.now - make_interval(secs => %s)
"""
_READ: Final = """
SELECT cursor, done_at IS NOT NULL FROM notifyops_private.notifications_recoverylist
WHERE recovery_id = %s AND account_id = %s
"""
# Another host may have the key: what is noted here for an account is not done, and nothing waits for it.
_NO_KEY: Final = """
INSERT INTO notifyops_private.notifications_recoverylist (recovery_id, account_id, code)
SELECT DISTINCT %s::bigint, q.account_id, 'lookup.no_key' FROM notifyops_private.notifications_question q
WHERE q.about = 'restore' AND q.account_id <> ALL (%s::bigint[])
ON CONFLICT DO NOTHING
"""
_UNKNOWN: Final = """
SELECT u.id FROM unnest(%s::text[]) AS u(id) WHERE NOT EXISTS (
    SELECT FROM notifyops_private.notifications_intent i WHERE i.provider_message_id = u.id)
"""
# A number that is in use here, in that generation and older than the message, is the look-up's matter: where no message
# of that generation is on record here, by the id that is kept now (questions.py).
_KEEP: Final = """
INSERT INTO notifyops_private.notifications_unknownmail
    (recovery_id, account_id, provider_message_id, tag_intent, tag_generation, tag_root, taken_at)
SELECT %(recovery)s, %(account)s, u.id, u.intent, u.generation, u.root, u.taken_at
FROM unnest(%(ids)s::text[], %(intents)s::text[], %(generations)s::text[], %(roots)s::text[],
    %(times)s::timestamptz[]) AS u(id, intent, generation, root, taken_at)
WHERE NOT EXISTS (
    SELECT FROM notifyops_private.notifications_intent i
    WHERE u.intent ~ '^[0-9]{1,18}$' AND i.id = CASE WHEN u.intent ~ '^[0-9]{1,18}$' THEN u.intent::bigint END
      AND u.generation ~ '^[0-9]{1,4}$'
      AND CASE WHEN u.generation ~ '^[0-9]{1,4}$' THEN u.generation::int END
        <= i.generation - (i.provider_message_id IS NULL)::int
      AND i.created_at <= u.taken_at + interval '5 minutes')
ON CONFLICT DO NOTHING
"""
# A later generation than this database knows of: whatever the provider says of the one that is known, it went out.
_THERE: Final = """
SELECT i.id, i.seq, array_agg(u.provider_message_id ORDER BY u.id), max(u.tag_generation::int)
FROM notifyops_private.notifications_unknownmail u
JOIN notifyops_private.notifications_intent i
  ON i.id = CASE WHEN u.tag_intent ~ '^[0-9]{1,18}$' THEN u.tag_intent::bigint END
WHERE u.recovery_id = %(recovery)s AND u.account_id = %(account)s AND u.provider_message_id = ANY (%(ids)s::text[])
  AND u.tag_generation ~ '^[0-9]{1,4}$'
  AND CASE WHEN u.tag_generation ~ '^[0-9]{1,4}$' THEN u.tag_generation::int END > i.generation
  AND i.created_at <= u.taken_at + interval '5 minutes'
  AND i.state IN ('retry', 'needs_review') AND i.error_code IS DISTINCT FROM 'forgotten_message'
GROUP BY i.id, i.seq
"""
# To a corrected address that was given in the lost time: its notification is unknown here, the first one is not.
_ELSEWHERE: Final = """
SELECT i.id, i.seq, array_agg(u.provider_message_id ORDER BY u.id), 0
FROM notifyops_private.notifications_unknownmail u
JOIN notifyops_private.notifications_intent r
  ON r.id = CASE WHEN u.tag_root ~ '^[0-9]{1,18}$' THEN u.tag_root::bigint END
JOIN notifyops_private.notifications_intentkey k
  ON k.workspace = r.workspace AND (k.key = r.notification_id
    OR (k.key > r.notification_id || '~a' AND k.key < r.notification_id || '~b'))
JOIN notifyops_private.notifications_intent i ON i.id = k.intent_id
WHERE u.recovery_id = %(recovery)s AND u.account_id = %(account)s AND u.provider_message_id = ANY (%(ids)s::text[])
  AND r.created_at <= u.taken_at + interval '5 minutes' AND NOT EXISTS (
    SELECT FROM notifyops_private.notifications_intent x
    WHERE x.id = CASE WHEN u.tag_intent ~ '^[0-9]{1,18}$' THEN u.tag_intent::bigint END)
  AND i.state IN ('retry', 'needs_review') AND i.error_code IS DISTINCT FROM 'forgotten_message'
GROUP BY i.id, i.seq
"""
_NOTE: Final = """
INSERT INTO notifyops_private.notifications_recoverylist AS l (recovery_id, account_id, cursor, code, done_at)
VALUES (%(recovery)s, %(account)s, %(cursor)s, %(code)s,
    CASE WHEN %(done)s THEN notifyops_private.clock_v1() END)
ON CONFLICT (recovery_id, account_id) DO UPDATE
SET cursor = excluded.cursor, code = excluded.code, done_at = excluded.done_at
"""


async def read_lists(connection: AsyncConnection[Any], desk: Desk) -> None:
    """Read on in each account's list for the latest recovery; each page is kept by a transaction of its own."""
    row = await (await connection.execute(_LATEST, (SETTLE_S,))).fetchone()
    if row is None:
        return
    recovery, since, now = row
    await connection.execute(_NO_KEY, (recovery, list(desk.lookups)))

    async def unknown(ids: Sequence[str]) -> set[str]:
        return {each[0] for each in await (await connection.execute(_UNKNOWN, (list(ids),))).fetchall()}

    for account, lookup in desk.lookups.items():
        read = await (await connection.execute(_READ, (recovery, account))).fetchone()
        cursor, is_done = ("", False) if read is None else read
        if is_done:
            continue
        if not isinstance(lookup, Listing):
            await _note(connection, (recovery, account), ListedPage((), "", done=True, code="lookup.no_list"))
            continue
        budget = await budget_of(connection, desk, lookup, account_id=account, now=now)
        is_ours = budget.witness is not None
        async for read_page in lookup.listed(since - MARGIN, cursor, unknown, replace(budget, seconds=_ROUND_S)):
            page, ours = read_page, [mail for mail in read_page.mails if mail.tags.get("site") == desk.site]
            is_ours = is_ours or page.known > 0 or bool(ours)
            if page.done and not is_ours:
                # Another team's list is honest and holds nothing of ours: it is read anew until it shows something.
                page = replace(page, done=False, cursor="", code="lookup.no_witness")
            async with connection.transaction():
                await _keep(connection, (recovery, account), page, ours)


async def _keep(
    connection: AsyncConnection[Any], place: tuple[int, int], page: ListedPage, ours: Sequence[Listed]
) -> None:
    recovery, account = place
    if ours:
        values = {
            "recovery": recovery,
            "account": account,
            "ids": [mail.id for mail in ours],
            "intents": [mail.tags.get("intent", "")[:20] for mail in ours],
            "generations": [mail.tags.get("generation", "")[:10] for mail in ours],
            "roots": [mail.tags.get("root", "")[:20] for mail in ours],
            "times": [mail.created_at for mail in ours],
        }
        await connection.execute(_KEEP, values)
        await _stop(connection, values)
    await _note(connection, place, page)


async def _stop(connection: AsyncConnection[Any], values: dict[str, Any]) -> None:
    """Make a case of each that went out in a way which is forgotten here; nothing frees or repeats it then."""
    found = {each[0]: each for each in await (await connection.execute(_ELSEWHERE, values)).fetchall()}
    found |= {each[0]: each for each in await (await connection.execute(_THERE, values)).fetchall()}
    entries = [
        Entry(
            id=intent,
            to_state=State.NEEDS_REVIEW,
            seq=seq,
            code=codes.FORGOTTEN_MESSAGE,
            known=Known.ACCEPTED,
            next_action=NextAction.ASK_LEAD,
            detail={"ids": ids, "recovery": values["recovery"]}
            | ({"generation": generation} if generation else {"elsewhere": True}),
        )
        for intent, seq, ids, generation in found.values()
    ]
    for one in await append_async(connection, EntryKind.CONTRADICTED, entries, worker=WORKER):
        if one.refused:
            # The page is read again: what it shows must not be passed over.
            raise RuntimeError(f"intent {one.intent_id} moved while a list was read: {one.refused}")


async def _note(connection: AsyncConnection[Any], place: tuple[int, int], page: ListedPage) -> None:
    recovery, account = place
    said = {"recovery": recovery, "account": account, "cursor": page.cursor, "code": page.code, "done": page.done}
    await connection.execute(_NOTE, said)

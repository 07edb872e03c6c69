-- Recomputes chains. Returns one row per broken link: an entry whose hash, previous hash or seq does not follow from
-- the one before it, or an intent whose head or state is not that of its last entry. No row: all true.
CREATE FUNCTION notifyops_private.verify_v1(from_id bigint, to_id bigint)
RETURNS TABLE (intent_id bigint, seq integer, fault text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
    WITH entry AS MATERIALIZED (
        SELECT l.intent_id, l.seq, l.from_state, l.to_state, l.prev, l.hash,
            l.hash <> notifyops_private.entry_hash_v1(l.prev, l.intent_id, l.seq, l.at, l.kind::text, l.from_state::text,
                l.to_state::text, l.attempt::int, l.generation::int, l.trigger::text, l.fence, l.worker::text,
                l.outcome::text, l.code::text, l.phase::text, l.http_status::int, l.duration_ms,
                l.provider_message_id::text, l.actor::text, l.reason_code::text, l.detail) AS forged,
            lag(l.hash) OVER w AS before_hash, lag(l.seq, 1, 0) OVER w AS before_seq,
            lag(l.to_state, 1, 'pending') OVER w AS before_state,
            lead(l.seq) OVER w IS NULL AS last
        FROM notifications_logentry l WHERE l.intent_id BETWEEN from_id AND to_id
        WINDOW w AS (PARTITION BY l.intent_id ORDER BY l.seq)
    )
    SELECT e.intent_id, e.seq, 'hash does not match the entry' FROM entry e WHERE e.forged
    UNION ALL
    SELECT e.intent_id, e.seq, 'seq has a gap' FROM entry e WHERE e.seq <> e.before_seq + 1
    UNION ALL
    SELECT e.intent_id, e.seq, 'from_state is not the state before' FROM entry e WHERE e.from_state <> e.before_state
    UNION ALL
    SELECT e.intent_id, e.seq, 'prev is not the hash before' FROM entry e
    LEFT JOIN notifications_intent i ON i.id = e.intent_id AND e.before_hash IS NULL
    WHERE e.prev <> coalesce(e.before_hash, genesis_v1(i.id, i.notification_id::text, i.key_suffix::text,
        i.report_id::text, i.type::text, i.channel::text, i.workspace::text, i.created_at))
    UNION ALL
    SELECT i.id, i.seq, CASE WHEN i.seq <> coalesce(e.seq, 0) THEN 'the log ends before the intent''s seq'
        WHEN i.head <> coalesce(e.hash, genesis_v1(i.id, i.notification_id::text, i.key_suffix::text, i.report_id::text,
            i.type::text, i.channel::text, i.workspace::text, i.created_at)) THEN 'head is not the last hash'
        ELSE 'state is not that of the last entry' END
    FROM notifications_intent i LEFT JOIN entry e ON e.intent_id = i.id AND e.last
    WHERE i.id BETWEEN from_id AND to_id
      AND (i.seq <> coalesce(e.seq, 0) OR i.state <> coalesce(e.to_state, 'pending')
           OR i.head <> coalesce(e.hash, genesis_v1(i.id, i.notification_id::text, i.key_suffix::text, i.report_id::text,
               i.type::text, i.channel::text, i.workspace::text, i.created_at)))
$$;

-- The guards of the rarer kinds: why each intent may not get such an entry now, or NULL. The intents are locked.
CREATE FUNCTION notifyops_private.barred_v1(kind_ text, ids bigint[], t timestamptz)
RETURNS TABLE (id bigint, why text)
LANGUAGE sql STABLE SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
    SELECT i.id, CASE kind_
        WHEN 'lease_lost' THEN CASE WHEN i.next_attempt_at > t THEN 'lease_live' END
        WHEN 'expired' THEN CASE WHEN i.expires_at IS NULL OR i.expires_at > t THEN 'not_expired' END
        WHEN 'window_over' THEN CASE WHEN i.safe_until IS NULL OR i.safe_until > t THEN 'window_open' END
        WHEN 'superseded' THEN CASE WHEN i.first_ambiguous_at IS NOT NULL THEN 'ambiguous' END
        WHEN 'undone' THEN CASE WHEN NOT i.manual THEN 'not_retried' END
        -- Only where nothing of the old generation can reach the recipient.
        WHEN 're_prepared' THEN CASE WHEN i.first_ambiguous_at IS NOT NULL OR i.known IS NULL
            OR i.known NOT IN ('invalid', 'soft_bounced', 'not_sent') THEN 'ambiguous' END
        WHEN 'retried' THEN CASE
            WHEN i.known IN ('accepted', 'conflict', 'bounced', 'complained', 'suppressed', 'awaiting_approval')
                THEN 'known'
            WHEN i.first_ambiguous_at IS NOT NULL AND (i.safe_until IS NULL OR i.safe_until <= t) THEN 'window_over' END
        WHEN 'released' THEN CASE WHEN i.known IS DISTINCT FROM 'awaiting_approval' THEN 'not_held' END
        WHEN 'reopened' THEN CASE WHEN i.state = 'accepted' AND (
            SELECT e.kind FROM notifications_logentry e
            WHERE e.intent_id = i.id AND e.month = i.month AND e.from_state <> e.to_state
            ORDER BY e.seq DESC LIMIT 1) <> 'adopted' THEN 'not_adopted' END
    END
    FROM notifications_intent i WHERE i.id = ANY (ids)
$$;

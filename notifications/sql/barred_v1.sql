-- The guards of the rarer kinds: why each intent may not get such an entry now, or NULL. The intents are locked.
-- `entries` are those of the append: what a person says counts only beside what the provider said.
CREATE FUNCTION notifyops_private.barred_v1(kind_ text, ids bigint[], t timestamptz, entries jsonb)
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
            -- It came back for a while, and then the receiving server took it: a new generation is a second message.
            WHEN i.known = 'soft_bounced' AND EXISTS (SELECT FROM notifications_logentry l
                WHERE l.intent_id = i.id AND l.month = i.month AND l.generation = i.generation AND l.kind = 'receipt'
                  AND l.detail ->> 'says' = 'delivered' AND NOT l.detail ? 'generation') THEN 'arrived'
            -- Past the window only the provider's own word that nothing arrived: fresh, of no earlier attempt, used once.
            WHEN i.first_ambiguous_at IS NOT NULL AND (i.safe_until IS NULL OR i.safe_until <= t) THEN CASE
                WHEN e.answer IS DISTINCT FROM 'not_found' OR said.reason_code IS DISTINCT FROM 'evidence_not_sent'
                    THEN 'window_over'
                WHEN e.used THEN 'evidence_used'
                WHEN e.outdated OR e.at <= t - interval '10 minutes' THEN 'evidence_old' END END
        WHEN 'adopted' THEN CASE
            WHEN i.known IN ('bounced', 'soft_bounced', 'complained', 'suppressed', 'awaiting_approval') THEN 'known'
            WHEN e.answer IS DISTINCT FROM 'found' OR NOT coalesce(e.named ? said.provider_message_id, false)
                THEN 'no_evidence'
            WHEN EXISTS (SELECT FROM notifications_intent o WHERE o.provider_message_id = said.provider_message_id
                AND o.account_id = i.account_id AND o.id <> i.id) THEN 'id_of_another'
            WHEN e.outdated OR e.at <= t - interval '10 minutes' THEN 'evidence_old' END
        -- A proof of acceptance ends a doubt. What came back, or is a second message, stays a person's matter.
        WHEN 'settled' THEN CASE
            WHEN i.known IN ('bounced', 'soft_bounced', 'complained', 'suppressed')
                AND NOT (i.known = 'soft_bounced' AND said.delivery_status IS NOT DISTINCT FROM 'delivered') THEN 'known'
            WHEN i.provider_message_id <> said.provider_message_id THEN 'other_id' END
        WHEN 'unconfirmed' THEN CASE
            WHEN i.confirm_at IS NULL OR i.confirm_at > t THEN 'not_due'
            WHEN NOT EXISTS (SELECT FROM notifications_logentry l WHERE l.intent_id = i.id AND l.month = i.month
                AND l.kind = 'evidence' AND l.at >= i.confirm_at) THEN 'no_evidence' END
        WHEN 'released' THEN CASE WHEN i.known IS DISTINCT FROM 'awaiting_approval' THEN 'not_held' END
        WHEN 'reopened' THEN CASE WHEN i.state = 'accepted' AND (
            SELECT e.kind FROM notifications_logentry e
            WHERE e.intent_id = i.id AND e.month = i.month AND e.from_state <> e.to_state
            ORDER BY e.seq DESC LIMIT 1) <> 'adopted' THEN 'not_adopted' END
    END
    FROM notifications_intent i
    LEFT JOIN notifyops_private.evidence_v1(CASE WHEN kind_ IN ('retried', 'adopted') THEN ids END) e ON e.id = i.id
    LEFT JOIN jsonb_to_recordset(entries) AS said(
        id bigint, reason_code text, provider_message_id text, delivery_status text)
        ON said.id = i.id
    WHERE i.id = ANY (ids)
$$;

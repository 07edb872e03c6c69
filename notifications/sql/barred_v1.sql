-- An account and those that take over from it, one after the other: by each of them a restored database may have
-- forgotten a message.
CREATE FUNCTION notifyops_private.reach_v1(account bigint) RETURNS SETOF bigint
-- plpgsql looks for its columns when it is called: a later migration makes them.
LANGUAGE plpgsql STABLE ROWS 2 SECURITY DEFINER SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
BEGIN
    RETURN QUERY WITH RECURSIVE r(id) AS (
        SELECT account UNION SELECT a.fallback_id FROM r JOIN notifications_provideraccount a ON a.id = r.id
        WHERE a.fallback_id IS NOT NULL
    ) SELECT r.id FROM r;
END $$;

-- Whether a message of this notification is out that this database, which was restored, does not remember: one of a later
-- generation, of the present one where none was accepted, or to a corrected address. The provider's list has shown it, or its receipt lies here,
-- whether it was applied yet or not. Who asks has the intent locked, or looks again.
CREATE FUNCTION notifyops_private.is_forgotten_v1(intent bigint) RETURNS boolean
-- plpgsql looks for its tables when it is called: they are made later than the door.
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
BEGIN
    RETURN EXISTS (SELECT FROM notifications_intent i WHERE i.id = intent AND (
        EXISTS (SELECT FROM notifications_unknownmail u WHERE u.tag_intent = i.id::text
            AND u.taken_at >= i.created_at - interval '5 minutes' AND u.tag_generation ~ '^[0-9]{1,4}$'
            AND CASE WHEN u.tag_generation ~ '^[0-9]{1,4}$' THEN u.tag_generation::int END
                > i.generation - (i.provider_message_id IS NULL)::int)
        -- To a corrected address that was given in the lost time: that one's notification is not here.
        OR EXISTS (SELECT FROM line_v1(i.notification_id, i.workspace) k
            JOIN notifications_unknownmail u ON u.tag_root = k.intent_id::text AND u.tag_root <> ''
            WHERE u.taken_at >= i.created_at - interval '5 minutes' AND NOT EXISTS (SELECT FROM notifications_intent x
                WHERE x.id = CASE WHEN u.tag_intent ~ '^[0-9]{1,18}$' THEN u.tag_intent::bigint END))
        OR (EXISTS (SELECT FROM notifications_recovery r WHERE r.started_at >= i.created_at)
            AND EXISTS (SELECT FROM notifications_providerevent e WHERE e.tag_intent = i.id
                AND e.tag_generation > i.generation - (i.provider_message_id IS NULL)::int
                AND e.account_id IN (SELECT reach_v1(i.account_id)) AND (e.occurred_at > i.created_at - interval '5 minutes') IS NOT FALSE
                AND e.tag_site = (SELECT s.site FROM notifications_siteadoption s ORDER BY s.id DESC LIMIT 1)))));
END $$;

-- Why nobody may have this sent once more after a restore, or NULL. It may be out already (`forgotten`, as above), or the
-- provider was not asked yet about all that may be out (`recovering`): a recovery is open, or must be opened, since this
-- is a copy or was restored. A long list is read on after the recovery: until its end, and no longer than a day, it keeps
-- back what is older (`unlisted`).
CREATE FUNCTION notifyops_private.forgotten_v1(intent bigint) RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
BEGIN
    RETURN CASE
        WHEN is_forgotten_v1(intent) THEN 'forgotten'
        WHEN site_trouble_v1((SELECT s.site FROM notifications_siteadoption s ORDER BY s.id DESC LIMIT 1))
            IN ('copied', 'restored', 'recovering') THEN 'recovering'
        WHEN EXISTS (SELECT FROM notifications_intent i
            JOIN notifications_recovery r ON r.started_at >= i.created_at
            JOIN notifications_recoverylist l ON l.recovery_id = r.id AND l.account_id IN (SELECT reach_v1(i.account_id))
            WHERE i.id = intent AND r.waived_by IS NULL AND l.done_at IS NULL AND l.code IS NULL
              AND r.started_at > clock_v1() - interval '1 day') THEN 'unlisted' END;
END $$;

-- Which of these no worker may claim after a restore, and the word for it. A database that never was restored is asked
-- one question of an empty table.
CREATE FUNCTION notifyops_private.unclaimable_v1(ids bigint[]) RETURNS TABLE (id bigint, why text)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
DECLARE
    last_at timestamptz;
    is_open boolean;
BEGIN
    -- Of two conditions in one expression the table would be looked for before it is there.
    IF to_regclass('notifyops_private.notifications_recovery') IS NULL THEN
        RETURN;
    END IF;
    SELECT max(r.started_at), bool_or(r.finished_at IS NULL) INTO last_at, is_open FROM notifications_recovery r;
    IF last_at IS NULL THEN
        RETURN;
    END IF;
    RETURN QUERY
    -- The loops look every few seconds; what they claim until then may be out already.
    SELECT k, CASE WHEN is_open THEN 'recovering' WHEN is_forgotten_v1(k) THEN 'forgotten' END
    -- What is owed since then was never forgotten.
    FROM unnest(ids) AS k CROSS JOIN LATERAL (SELECT i.created_at FROM notifications_intent i WHERE i.id = k LIMIT 1) i
    WHERE is_open OR i.created_at <= last_at;
END $$;

-- Whether it is proven of every attempt, of whichever generation, that the provider took nothing of it, and nobody says
-- otherwise: no receipt lies here, applied or not, no answer of a provider names a message, nothing was given up as lost.
CREATE FUNCTION notifyops_private.unsent_v1(intent bigint) RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
BEGIN
    RETURN EXISTS (SELECT FROM notifications_intent i WHERE i.id = intent
        AND i.first_ambiguous_at IS NULL AND i.provider_message_id IS NULL AND i.delivery_status = 'none'
        AND coalesce(i.known, 'not_sent') IN ('not_sent', 'invalid')
        AND NOT EXISTS (SELECT FROM notifications_providerevent e WHERE e.tag_intent = i.id)
        AND NOT EXISTS (SELECT FROM notifications_logentry l WHERE l.intent_id = i.id AND l.month = i.month AND (
            l.kind IN ('receipt', 'settled', 'contradicted') OR l.outcome IN ('accepted', 'found', 'conflict')
            OR (l.kind = 'claimed' AND NOT EXISTS (
                SELECT FROM notifications_logentry o WHERE o.intent_id = i.id AND o.month = i.month
                    AND o.kind = 'result' AND o.attempt = l.attempt AND o.outcome IN ('not_sent', 'rejected')))))
        AND NOT ((i.generation > 1 OR i.notification_id LIKE '%~a%') AND doubted_v1(i.id)));
END $$;

-- Why this notification stays with its account, or NULL: the account's fallback may take it over. `told` is what the
-- entry would say. Either the account has not been called for as long as it says, or it has just refused this
-- notification for a reason of its own (`of_account`). To an account that had it before it never goes back.
CREATE FUNCTION notifyops_private.stays_v1(intent bigint, told jsonb, t timestamptz) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
BEGIN
    RETURN (SELECT CASE
        WHEN f.id IS NULL OR NOT f.enabled OR f.channel <> i.channel OR cf.open_until IS NOT NULL OR EXISTS (
            SELECT FROM notifications_pause p WHERE p.scope = 'account' AND p.account_id IN (a.id, f.id)
                AND p.resumed_at IS NULL AND p.ends_at > t)
            OR (told ->> 'from_id')::bigint IS DISTINCT FROM a.id OR (told ->> 'to_id')::bigint IS DISTINCT FROM f.id
            THEN 'no_fallback'
        WHEN EXISTS (SELECT FROM notifications_logentry l WHERE l.intent_id = i.id AND l.month = i.month
            AND l.kind = 'failed_over' AND (l.detail ->> 'from_id')::bigint = f.id) THEN 'was_there'
        WHEN NOT unsent_v1(i.id) THEN 'ambiguous'
        WHEN forgotten_v1(i.id) IS NOT NULL THEN forgotten_v1(i.id)
        -- Once it has cooled down, the next one due is the probe: without any it would never close by itself.
        WHEN NOT coalesce(ca.open_until > t AND ca.opened_at <= t - make_interval(secs => a.fallback_after_s), false)
            AND NOT EXISTS (SELECT FROM notifications_logentry l WHERE l.intent_id = i.id AND l.month = i.month
                AND l.seq = i.seq AND l.kind = 'result' AND l.outcome IN ('not_sent', 'rejected')
                AND l.detail ? 'of_account') THEN 'account_works' END
    FROM notifications_intent i JOIN notifications_provideraccount a ON a.id = i.account_id
    LEFT JOIN notifications_provideraccount f ON f.id = a.fallback_id
    LEFT JOIN notifications_circuit ca ON ca.account_id = a.id
    LEFT JOIN notifications_circuit cf ON cf.account_id = f.id
    WHERE i.id = intent);
END $$;

-- The guards of the rarer kinds: why each intent may not get such an entry now, or NULL. The intents are locked.
-- `entries` are those of the append: what a person says counts only beside what the provider said. `person` says it.
CREATE FUNCTION notifyops_private.barred_v1(kind_ text, ids bigint[], t timestamptz, entries jsonb, person text)
RETURNS TABLE (id bigint, why text)
LANGUAGE sql STABLE SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
    SELECT i.id, CASE kind_
        WHEN 'lease_lost' THEN CASE WHEN i.next_attempt_at > t THEN 'lease_live' END
        WHEN 'expired' THEN CASE WHEN i.expires_at IS NULL OR i.expires_at > t THEN 'not_expired' END
        WHEN 'window_over' THEN CASE WHEN i.safe_until IS NULL OR i.safe_until > t THEN 'window_open' END
        -- Also what waits for a person, as long as it is certain that nothing of it was ever accepted. The look comes
        -- last: thousands may be superseded in one call.
        WHEN 'superseded' THEN CASE WHEN i.first_ambiguous_at IS NOT NULL
            OR (i.state = 'needs_review' AND (i.provider_message_id IS NOT NULL
                OR coalesce(i.known, '') NOT IN ('awaiting_approval', 'not_sent', 'invalid')))
            OR ((i.generation > 1 OR i.manual OR i.notification_id LIKE '%~a%') AND doubted_v1(i.id)) THEN 'ambiguous' END
        WHEN 'undone' THEN CASE WHEN NOT i.manual THEN 'not_retried' END
        -- Only where nothing of the old generation can reach the recipient.
        WHEN 're_prepared' THEN CASE WHEN i.first_ambiguous_at IS NOT NULL OR i.known IS NULL
            OR i.known NOT IN ('invalid', 'soft_bounced', 'not_sent')
            OR doubted_v1(i.id, coalesce(said.site_mode, '')) THEN
            -- Or where two persons took it upon themselves.
            CASE WHEN NOT EXISTS (SELECT FROM notifyops_private.forced_v1(ARRAY[i.id], t)) THEN 'ambiguous' END END
        WHEN 'failed_over' THEN stays_v1(i.id, said.detail, t)
        WHEN 'retried' THEN CASE
            WHEN forgotten_v1(i.id) IS NOT NULL THEN forgotten_v1(i.id)
            WHEN said.reason_code = 'forced_resend'
                THEN resend_barred_v1(i.id, false, person, t, coalesce(said.site_mode, ''))
            WHEN i.known IN ('accepted', 'conflict', 'bounced', 'complained', 'suppressed', 'awaiting_approval')
                THEN 'known'
            -- The recipient has it already, by whichever generation: a new attempt is a second message.
            WHEN EXISTS (SELECT FROM arrived_v1(ARRAY[i.id], coalesce(said.site_mode, ''))) THEN 'arrived'
            -- Or may have it: then no one person alone sends another one.
            WHEN doubted_v1(i.id, coalesce(said.site_mode, '')) THEN 'given_up'
            -- The claim would refuse these bytes in this site mode, and could make no new ones: do not spend the evidence.
            WHEN said.site_mode <> f.site_mode AND (i.first_ambiguous_at IS NOT NULL
                OR coalesce(i.known, '') NOT IN ('invalid', 'soft_bounced', 'not_sent')) THEN 'site_mode'
            -- Nor bytes that are gone, where the first ones may be out: these cannot be made again for certain.
            WHEN i.first_ambiguous_at IS NOT NULL AND f.intent_id IS NOT NULL AND f.body IS NULL THEN 'bytes_erased'
            -- Past the window only the provider's own word that nothing arrived: fresh, of no earlier attempt, used once.
            WHEN i.first_ambiguous_at IS NOT NULL AND (i.safe_until IS NULL OR i.safe_until <= t) THEN CASE
                WHEN e.answer IS DISTINCT FROM 'not_found' OR said.reason_code IS DISTINCT FROM 'evidence_not_sent'
                    THEN 'window_over'
                WHEN e.used THEN 'evidence_used'
                WHEN e.outdated OR e.at <= t - interval '10 minutes' THEN 'evidence_old' END END
        WHEN 'adopted' THEN CASE
            WHEN i.known IN ('bounced', 'soft_bounced', 'complained', 'suppressed', 'awaiting_approval') THEN 'known'
            -- The provider has it, and says itself that it did not arrive.
            WHEN (SELECT l.detail ->> 'status' FROM notifications_logentry l
                WHERE l.intent_id = i.id AND l.month = i.month AND l.generation = i.generation AND l.kind = 'evidence'
                  AND l.outcome = 'found' ORDER BY l.seq DESC LIMIT 1)
                IN ('failed', 'suppressed', 'bounced', 'complained') THEN 'known'
            WHEN e.answer IS DISTINCT FROM 'found' OR NOT coalesce(e.named ? said.provider_message_id, false)
                THEN 'no_evidence'
            -- Of two messages under one key the first one stays its id: the other is no answer to any doubt.
            WHEN i.provider_message_id <> said.provider_message_id THEN 'other_id'
            WHEN EXISTS (SELECT FROM notifications_intent o WHERE o.provider_message_id = said.provider_message_id
                AND o.account_id = i.account_id AND o.id <> i.id) THEN 'id_of_another'
            WHEN e.outdated OR e.at <= t - interval '10 minutes' THEN 'evidence_old' END
        -- A proof of acceptance ends a doubt. What came back, or is a second message, stays a person's matter.
        WHEN 'settled' THEN CASE
            WHEN (i.known IN ('bounced', 'soft_bounced', 'complained', 'suppressed')
                    OR (i.known = 'invalid' AND i.delivery_status = 'failed'))
                AND NOT (i.known = 'soft_bounced' AND said.delivery_status IS NOT DISTINCT FROM 'delivered') THEN 'known'
            WHEN i.provider_message_id <> said.provider_message_id THEN 'other_id' END
        WHEN 'unconfirmed' THEN CASE
            WHEN i.confirm_at IS NULL OR i.confirm_at > t THEN 'not_due'
            WHEN NOT EXISTS (SELECT FROM notifications_logentry l WHERE l.intent_id = i.id AND l.month = i.month
                AND l.kind = 'evidence' AND l.at >= i.confirm_at) THEN 'no_evidence' END
        -- Only the provider's word that it has no such message, said after the restore, lets it go by itself.
        WHEN 'freed' THEN CASE
            WHEN i.error_code IS DISTINCT FROM 'restored' THEN 'not_restored'
            WHEN is_forgotten_v1(i.id) THEN 'forgotten'
            -- A person wants to look at it later: until then it does not leave by itself.
            WHEN i.snoozed_until > t THEN 'set_aside'
            WHEN e.answer IS DISTINCT FROM 'not_found' THEN 'no_evidence'
            WHEN e.outdated OR e.used OR e.at < i.review_since OR e.at <= t - interval '10 minutes'
                THEN 'evidence_old' END
        WHEN 'released' THEN CASE WHEN forgotten_v1(i.id) IS NOT NULL THEN forgotten_v1(i.id)
            WHEN i.known IS DISTINCT FROM 'awaiting_approval' THEN 'not_held' END
        WHEN 'reopened' THEN CASE
            WHEN i.state = 'accepted' AND (
                SELECT e.kind FROM notifications_logentry e
                WHERE e.intent_id = i.id AND e.month = i.month AND e.from_state <> e.to_state
                ORDER BY e.seq DESC LIMIT 1) <> 'adopted' THEN 'not_adopted'
            -- The one with the corrected address goes on in its place: open again, both would be sent.
            WHEN EXISTS (SELECT FROM line_v1(i.notification_id, i.workspace) k
                JOIN notifications_intent h ON h.id = k.intent_id
                WHERE h.supersedes_id = i.id AND h.state <> 'cancelled') THEN 'replaced' END
        WHEN 'snoozed' THEN CASE WHEN said.until IS NULL OR said.until NOT BETWEEN t AND t + interval '8 days'
            THEN 'bounds' END
        WHEN 'resumed' THEN CASE WHEN i.snoozed_until IS NULL THEN 'not_snoozed' END
        WHEN 'resend_asked' THEN coalesce(
            forgotten_v1(i.id), resend_barred_v1(i.id, true, person, t, coalesce(said.site_mode, '')))
        WHEN 'resend_dropped' THEN CASE WHEN (
            SELECT l.kind FROM notifications_logentry l WHERE l.intent_id = i.id AND l.month = i.month
                AND (l.from_state <> l.to_state OR l.kind IN ('resend_asked', 'resend_dropped'))
            ORDER BY l.seq DESC LIMIT 1) IS DISTINCT FROM 'resend_asked' THEN 'not_asked' END
    END
    FROM notifications_intent i
    LEFT JOIN notifyops_private.evidence_v1(CASE WHEN kind_ IN ('retried', 'adopted', 'freed') THEN ids END) e ON e.id = i.id
    LEFT JOIN jsonb_to_recordset(entries) AS said(
        id bigint, reason_code text, provider_message_id text, delivery_status text, site_mode text, until timestamptz,
        detail jsonb) ON said.id = i.id
    LEFT JOIN notifications_prepared f
        ON kind_ = 'retried' AND f.intent_id = i.id AND f.generation = i.generation
    WHERE i.id = ANY (ids)
$$;

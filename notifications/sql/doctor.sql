-- The invariants of delivery, one row per violation; no row: all is as promised. `doctor_v1(ids)` looks at the named
-- intents (all of them in chunks, or those that moved lately), `doctor_v1()` at the installation as a whole.
-- Every name here is listed in notifications/doctor.py with its meaning, and has a test that plants its violation.

-- Some of the tables come with later migrations.
SET LOCAL check_function_bodies = off;

CREATE FUNCTION notifyops_private.doctor_v1(ids bigint[])
RETURNS TABLE (invariant text, intent_id bigint, detail text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
    WITH intent AS MATERIALIZED (
        SELECT i.*, coalesce(t.loss_model, 'at_least_once') AS loss_model
        FROM notifications_intent i LEFT JOIN notifications_notificationtype t ON t.name = i.type
        WHERE i.id = ANY (ids)
    ), entry AS MATERIALIZED (
        SELECT l.*,
            lag(l.seq, 1, 0) OVER w AS before_seq, lag(l.hash) OVER w AS before_hash,
            lag(l.to_state, 1, 'pending') OVER w AS before_state,
            lead(l.seq) OVER w IS NULL AS is_last
        FROM notifications_logentry l WHERE l.intent_id = ANY (ids)
        WINDOW w AS (PARTITION BY l.intent_id ORDER BY l.seq)
    ), attempt AS MATERIALIZED (
        SELECT c.intent_id, c.attempt, c.generation, c.at, c.fence, c.trigger, c.seq,
            lag(c.attempt, 1, 0) OVER w AS before_attempt, lag(c.fence, 1, 0) OVER w AS before_fence,
            r.seq AS ended_seq, r.outcome,
            -- Proven that nothing reached the provider's queue; an attempt without a result proves nothing.
            coalesce(r.kind = 'result' AND r.outcome IN ('not_sent', 'rejected'), false) AS is_proven_unsent
        FROM entry c
        LEFT JOIN LATERAL (
            SELECT e.seq, e.kind, e.outcome FROM entry e
            WHERE e.intent_id = c.intent_id AND e.attempt = c.attempt AND e.kind IN ('result', 'lease_lost')
            ORDER BY e.seq LIMIT 1
        ) r ON true
        WHERE c.kind = 'claimed'
        WINDOW w AS (PARTITION BY c.intent_id ORDER BY c.seq)
    ), tally AS MATERIALIZED (
        SELECT a.intent_id, count(*) AS claimed, count(*) FILTER (WHERE a.ended_seq IS NULL) AS open
        FROM attempt a GROUP BY 1
    ), loose AS MATERIALIZED (
        -- What was not proven to be unsent, by generation, and when it was first heard to have come back.
        SELECT a.intent_id, a.generation, min(a.seq) AS seq, (
            SELECT min(r.seq) FROM entry r WHERE r.intent_id = a.intent_id AND ((r.generation = a.generation
                    AND r.kind IN ('receipt', 'unconfirmed') AND r.code IN ('soft_bounced', 'failed'))
                OR (coalesce((r.detail ->> 'generation')::integer, r.generation) = a.generation
                    AND NOT r.detail ? 'second' AND coalesce(r.detail ->> 'says', r.detail ->> 'status')
                        IN ('soft_bounced', 'failed', 'suppressed', 'bounced')))) AS came_back_seq
        FROM attempt a WHERE NOT a.is_proven_unsent GROUP BY 1, 2
    )
    SELECT 'lease_iff_sending', i.id, format('%s, leased by %s', i.state, coalesce(i.leased_by, 'nobody'))
    FROM intent i WHERE (i.state = 'sending') <> (i.leased_by IS NOT NULL)
    UNION ALL
    SELECT 'one_open_attempt', i.id, format('%s with %s open attempts', i.state, coalesce(t.open, 0))
    FROM intent i LEFT JOIN tally t ON t.intent_id = i.id
    WHERE coalesce(t.open, 0) <> CASE WHEN i.state = 'sending' THEN 1 ELSE 0 END
    UNION ALL
    SELECT 'attempts_counted', i.id, format('counted %s, claimed %s', i.attempt_count, coalesce(t.claimed, 0))
    FROM intent i LEFT JOIN tally t ON t.intent_id = i.id WHERE i.attempt_count <> coalesce(t.claimed, 0)
    UNION ALL
    SELECT 'counts_capped', i.id, format('failures %s of %s, in flight %s of 10', i.failure_count, i.failure_limit,
        i.in_flight_count)
    FROM intent i WHERE i.failure_count NOT BETWEEN 0 AND i.failure_limit OR i.in_flight_count NOT BETWEEN 0 AND 10
    UNION ALL
    SELECT 'attempts_gapless', a.intent_id, format('attempt %s follows %s', a.attempt, a.before_attempt)
    FROM attempt a WHERE a.attempt <> a.before_attempt + 1
    UNION ALL
    SELECT 'fences_rise', a.intent_id, format('attempt %s has fence %s after %s', a.attempt, a.fence, a.before_fence)
    FROM attempt a WHERE a.fence <= a.before_fence
    UNION ALL
    SELECT 'seq_gapless', e.intent_id, format('entry %s follows %s', e.seq, e.before_seq)
    FROM entry e WHERE e.seq <> e.before_seq + 1
    UNION ALL
    SELECT 'chain_linked', e.intent_id, format('entry %s does not continue the one before it', e.seq)
    FROM entry e WHERE e.before_hash IS NOT NULL AND e.prev <> e.before_hash OR e.from_state <> e.before_state
    UNION ALL
    SELECT 'head_is_last', i.id, format('intent at %s in %s, log at %s in %s', i.seq, i.state, coalesce(e.seq, 0),
        coalesce(e.to_state, 'pending'))
    FROM intent i LEFT JOIN entry e ON e.intent_id = i.id AND e.is_last
    WHERE i.seq <> coalesce(e.seq, 0) OR i.state <> coalesce(e.to_state, 'pending')
        OR i.head <> coalesce(e.hash, i.head)
    UNION ALL
    SELECT 'moves_legal', e.intent_id, format('entry %s: %s from %s to %s', e.seq, e.kind, e.from_state, e.to_state)
    FROM entry e WHERE NOT EXISTS (SELECT FROM move m WHERE m.kind = e.kind AND m.from_state = e.from_state
                                   AND m.to_state = e.to_state)
    UNION ALL
    SELECT 'schedule_fits_state', i.id, format('%s with next attempt %s and confirmation %s', i.state,
        coalesce(i.next_attempt_at::text, 'never'), coalesce(i.confirm_at::text, 'never'))
    FROM intent i WHERE (i.state IN ('pending', 'retry', 'sending')) <> (i.next_attempt_at IS NOT NULL)
        OR (i.confirm_at IS NOT NULL AND i.state <> 'accepted')
    UNION ALL
    SELECT 'review_says_why', i.id, concat_ws(', ', 'no code'::text, i.known, i.next_action)
    FROM intent i WHERE i.state = 'needs_review'
        AND (i.error_code IS NULL OR i.known IS NULL OR i.next_action IS NULL OR i.review_since IS NULL)
    UNION ALL
    SELECT 'result_by_fence', e.intent_id, format('entry %s (%s) has fence %s, its claim %s', e.seq, e.kind, e.fence,
        coalesce(a.fence::text, 'none'))
    FROM entry e LEFT JOIN attempt a ON a.intent_id = e.intent_id AND a.attempt = e.attempt
    WHERE e.kind IN ('result', 'lease_lost') AND a.fence IS DISTINCT FROM e.fence
    UNION ALL
    SELECT 'person_is_named', e.intent_id, format('entry %s (%s) is a person''s and names none', e.seq, e.kind)
    FROM entry e WHERE e.actor IS NULL AND NOT EXISTS (SELECT FROM move m WHERE m.kind = e.kind AND m.who <> 'person')
    UNION ALL
    SELECT 'approver_is_another', e.intent_id, format('entry %s: %s released what they asked for', e.seq, e.actor)
    FROM entry e JOIN intent i ON i.id = e.intent_id
    WHERE e.kind = 'released' AND (notifyops_private.identity_v1(e.actor) = notifyops_private.identity_v1(i.actor)
        -- Who corrected the address has asked for it as well.
        OR (i.notification_id LIKE '%~a%' AND notifyops_private.identity_v1(e.actor)
            = notifyops_private.identity_v1(i.created_by)))
    UNION ALL
    SELECT 'resend_by_two', e.intent_id, format('entry %s: %s sent it anew, and nobody else had asked', e.seq, e.actor)
    FROM entry e WHERE e.kind = 'retried' AND e.reason_code = 'forced_resend' AND NOT EXISTS (
        -- The request is the last thing that a person said of it, or that moved it, before the order.
        SELECT FROM entry a WHERE a.intent_id = e.intent_id AND a.kind = 'resend_asked'
            AND a.generation = e.generation AND a.seq = (SELECT max(b.seq) FROM entry b WHERE b.intent_id = e.intent_id
                AND b.seq < e.seq AND (b.from_state <> b.to_state OR b.kind IN ('resend_asked', 'resend_dropped')))
            AND notifyops_private.identity_v1(a.actor) <> notifyops_private.identity_v1(e.actor)
            AND e.at - a.at <= interval '30 minutes')
    UNION ALL
    SELECT 'resend_by_two', a.intent_id, format('attempt %s of generation %s began by one person''s order although '
        'generation %s may have arrived', a.attempt, a.generation, g.generation)
    FROM attempt a JOIN LATERAL (
        SELECT r.kind, r.reason_code FROM entry r WHERE r.intent_id = a.intent_id AND r.seq < a.seq
            AND r.kind IN ('retried', 'released') ORDER BY r.seq DESC LIMIT 1
    ) o ON o.kind = 'retried' AND o.reason_code IS DISTINCT FROM 'forced_resend'
    CROSS JOIN LATERAL (
        SELECT b.generation FROM loose b WHERE b.intent_id = a.intent_id AND b.generation < a.generation
            AND (b.came_back_seq IS NULL OR b.came_back_seq > a.seq) LIMIT 1
    ) g
    UNION ALL
    SELECT 'new_key_is_earned', e.intent_id, format('generation %s was made although generation %s may have arrived',
        e.generation, g.generation)
    FROM entry e CROSS JOIN LATERAL (
        -- Each attempt of each generation before is proven lost, refused, or came back: a doubt outlives the next one.
        SELECT b.generation FROM loose b WHERE b.intent_id = e.intent_id AND b.generation < e.generation
            AND b.seq < e.seq AND (b.came_back_seq IS NULL OR b.came_back_seq > e.seq) LIMIT 1
    ) g
    WHERE e.kind = 're_prepared'
        -- Or two persons ordered this one.
        AND NOT EXISTS (SELECT FROM entry r WHERE r.intent_id = e.intent_id AND r.generation = e.generation - 1
            AND r.seq < e.seq AND r.kind = 'retried' AND r.reason_code = 'forced_resend')
    UNION ALL
    SELECT 'failover_is_proven', e.intent_id, format('entry %s: taken over although generation %s may have arrived',
        e.seq, b.generation)
    FROM entry e JOIN loose b ON b.intent_id = e.intent_id AND b.generation < e.generation AND b.seq < e.seq
    WHERE e.kind = 'failed_over'
    UNION ALL
    SELECT 'failover_is_proven', e.intent_id, format('entry %s: taken over by the account that had it before', e.seq)
    FROM entry e JOIN entry b ON b.intent_id = e.intent_id AND b.kind = 'failed_over' AND b.seq < e.seq
    WHERE e.kind = 'failed_over' AND b.detail ->> 'from_id' = e.detail ->> 'to_id'
    UNION ALL
    SELECT 'one_account_accepts', e.intent_id, format('%s accounts have a message of it', count(DISTINCT p.account_id))
    FROM entry e JOIN notifications_prepared p ON p.intent_id = e.intent_id
        AND p.generation = coalesce((e.detail ->> 'generation')::integer, e.generation)
    WHERE e.kind IN ('receipt', 'settled') OR (e.kind IN ('result', 'late') AND e.outcome = 'accepted')
    GROUP BY e.intent_id HAVING count(DISTINCT p.account_id) > 1
    UNION ALL
    SELECT 'one_id_per_key', e.intent_id, format('generation %s has %s provider ids', e.generation,
        count(DISTINCT e.provider_message_id))
    FROM entry e WHERE e.provider_message_id IS NOT NULL
    GROUP BY e.intent_id, e.generation HAVING count(DISTINCT e.provider_message_id) > 1
    UNION ALL
    SELECT 'one_intent_per_id', i.id, format('shares its provider id with intent %s', o.id)
    FROM intent i JOIN notifications_intent o ON o.provider_message_id = i.provider_message_id
        AND o.account_id = i.account_id AND o.id <> i.id
    UNION ALL
    SELECT 'provider_key_is_own', i.id, format('shares its provider key with intent %s', o.intent_id)
    FROM intent i JOIN notifications_intentkey o ON o.key = i.notification_id AND o.intent_id <> i.id
    JOIN notifications_intent b ON b.id = o.intent_id AND b.key_suffix = i.key_suffix
    UNION ALL
    SELECT 'bytes_frozen', p.intent_id, format('generation %s does not match its hash', p.generation)
    FROM notifications_prepared p WHERE p.intent_id = ANY (ids) AND p.body IS NOT NULL
        -- What was frozen before the site's key was used for it keeps the plain hash.
        AND p.sha256 NOT IN (hmac_v1(encode(sha256(p.body), 'hex')), sha256(p.body))
    UNION ALL
    SELECT 'sent_only_what_is_frozen', a.intent_id, format('attempt %s of generation %s has no bytes', a.attempt,
        a.generation)
    FROM attempt a WHERE NOT EXISTS (SELECT FROM notifications_prepared p
                                     WHERE p.intent_id = a.intent_id AND p.generation = a.generation)
    UNION ALL
    SELECT 'no_send_past_window', a.intent_id, format('attempt %s began after %s', a.attempt, i.safe_until)
    FROM attempt a JOIN intent i ON i.id = a.intent_id
    WHERE i.loss_model <> 'must_arrive' AND a.generation = i.generation AND a.at > i.safe_until
      -- By order as well: after the clock was put back, an earlier attempt has the later time.
      AND EXISTS (SELECT FROM attempt b WHERE b.intent_id = a.intent_id AND b.generation = a.generation
                  AND b.seq < a.seq AND NOT b.is_proven_unsent)
        -- But one that a person ordered because the provider had been asked and did not have it.
        AND NOT (a.trigger = 'manual' AND EXISTS (
            SELECT FROM entry r JOIN entry e ON e.intent_id = r.intent_id AND e.seq < r.seq
            WHERE r.intent_id = a.intent_id AND r.seq < a.seq AND r.kind = 'retried'
                AND r.reason_code = 'evidence_not_sent' AND e.kind = 'evidence' AND e.outcome = 'not_found'
                AND e.generation = a.generation AND NOT EXISTS (
                    SELECT FROM attempt b WHERE b.intent_id = a.intent_id AND b.seq > e.seq AND b.seq < a.seq
                        AND NOT b.is_proven_unsent)))
    UNION ALL
    SELECT 'never_twice', a.intent_id, format('attempt %s began after one that may have been accepted', a.attempt)
    FROM attempt a JOIN intent i ON i.id = a.intent_id
    WHERE i.loss_model = 'never_twice' AND a.trigger = 'auto' AND EXISTS (
        SELECT FROM attempt b WHERE b.intent_id = a.intent_id AND b.seq < a.seq AND NOT b.is_proven_unsent)
    UNION ALL
    SELECT 'no_address_in_log', e.intent_id, format('entry %s (%s)', e.seq, e.kind)
    FROM entry e WHERE concat_ws(' ', e.code, e.reason_code, e.outcome, e.phase, e.detail::text)
        ~ '[^[:space:]"@<>]+@[A-Za-z0-9-]+\.[A-Za-z]'
    UNION ALL
    SELECT 'receipts_once_and_verified', e.intent_id, format('entry %s has no verified event of its own', e.seq)
    FROM entry e JOIN intent i ON i.id = e.intent_id
    WHERE (e.kind = 'receipt' OR (e.kind = 'settled' AND e.detail ? 'event'))
        -- What the provider said when it was asked stands in for an event: its own entry is just before.
        AND NOT (NOT coalesce(e.detail ? 'event', false) AND EXISTS (
            SELECT FROM entry f WHERE f.intent_id = e.intent_id AND f.seq < e.seq AND f.generation = e.generation
                AND f.kind = 'evidence' AND f.outcome = 'found' AND f.detail -> 'ids' = e.detail -> 'ids'))
        AND (
        -- After a restore it may be forgotten what was prepared for it; its own account is known.
        NOT EXISTS (SELECT FROM notifications_providerevent v WHERE v.id = (e.detail ->> 'event')::bigint
                    AND (v.account_id = i.account_id OR EXISTS (SELECT FROM notifications_prepared p
                        WHERE p.intent_id = e.intent_id AND p.account_id = v.account_id)))
        OR EXISTS (SELECT FROM entry o WHERE o.kind = e.kind AND o.seq < e.seq AND o.intent_id = e.intent_id
                   AND o.detail ->> 'event' = e.detail ->> 'event'))
    UNION ALL
    SELECT 'content_kept', i.id, 'has no content and was not erased'
    FROM intent i WHERE NOT EXISTS (SELECT FROM notifications_content c WHERE c.intent_id = i.id)
    UNION ALL
    SELECT 'key_kept', i.id, 'its key is not in the table of keys'
    FROM intent i WHERE NOT EXISTS (SELECT FROM notifications_intentkey k
        WHERE k.key = i.notification_id AND k.workspace = i.workspace AND k.intent_id = i.id)
$$;

CREATE FUNCTION notifyops_private.doctor_v1() RETURNS TABLE (invariant text, intent_id bigint, detail text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
    WITH t AS MATERIALIZED (
        SELECT notifyops_private.clock_v1() AS now
    ), growing(name, triggers) AS (
        VALUES ('notifications_logentry', ARRAY['only_grows', 'no_truncate']),
            ('notifications_intentkey', ARRAY['only_grows', 'no_truncate']),
            ('notifications_configrevision', ARRAY['only_grows', 'no_truncate']),
            ('notifications_providerevent', ARRAY['only_grows', 'no_truncate']),
            ('reviews_review', ARRAY['only_grows', 'no_truncate', 'ordered']),
            ('reviews_note', ARRAY['only_grows', 'no_truncate']),
            ('notifications_intent', ARRAY['guarded', 'never_deleted', 'no_truncate']),
            ('notifications_content', ARRAY['guarded', 'never_deleted', 'no_truncate']),
            ('notifications_prepared', ARRAY['guarded', 'never_deleted', 'no_truncate'])
    ), guarded AS MATERIALIZED (
        SELECT c.oid, c.relname, g.triggers FROM growing g
        JOIN pg_class c ON c.relname = g.name AND c.relnamespace = 'notifyops_private'::regnamespace
        UNION ALL
        SELECT c.oid, c.relname, ARRAY['only_grows', 'no_truncate']
        FROM pg_inherits h JOIN pg_class c ON c.oid = h.inhrelid
        WHERE h.inhparent = 'notifyops_private.notifications_logentry'::regclass
    ), owner AS MATERIALIZED (
        SELECT c.relowner AS id FROM pg_class c WHERE c.oid = 'notifyops_private.notifications_intent'::regclass
    ), runtime AS MATERIALIZED (
        SELECT DISTINCT r.* FROM pg_roles r, owner o WHERE r.oid <> o.id AND (
            r.rolname IN (SELECT d.role FROM notifications_doorrole d)
            OR r.rolname IN (SELECT g.role FROM notifications_workspacegrant g))
    )
    SELECT 'nothing_overdue', i.id, format('due since %s, and no loop has claimed since', i.next_attempt_at)
    -- By the claim's own index, one probe per lane of each open account. Either no loop claims at all, or none claims
    -- from this lane: starved by the others, or of an account that no host has a secret or an adapter for.
    FROM t CROSS JOIN notifications_provideraccount a
    LEFT JOIN notifications_circuit c ON c.account_id = a.id
    LEFT JOIN notifications_ratebucket b ON b.account_id = a.id
    CROSS JOIN generate_series(0, 47) AS n
    CROSS JOIN LATERAL (
        SELECT i.id, i.next_attempt_at FROM notifications_intent i
        WHERE i.account_id = a.id AND i.lane = n AND i.next_attempt_at < t.now - interval '60 s'
          -- What is paused, or was until a moment ago, may be late.
          AND NOT EXISTS (SELECT FROM notifications_pause p
              WHERE coalesce(p.resumed_at, p.ends_at) > t.now - interval '120 s' AND (p.account_id = a.id
                  OR p.scope = 'type' AND p.name = i.type OR p.scope = 'workspace' AND p.name = i.workspace))
        ORDER BY i.next_attempt_at LIMIT 1
    ) i
    WHERE a.enabled AND coalesce(greatest(c.open_until, c.wait_until), '-infinity') < t.now - interval '60 s'
      -- A backlog that waited behind a circuit is let go slowly.
      AND coalesce(c.recovered_at, '-infinity') < t.now - interval '120 s'
      AND EXISTS (SELECT FROM notifications_workerbeat b
                  WHERE b.role = 'loop' AND b.sends AND b.beat_at > t.now - interval '30 s')
      AND CASE
        WHEN NOT EXISTS (SELECT FROM notifications_workerbeat b WHERE b.claimed_at > t.now - interval '60 s') THEN true
        -- Loops that have only just come back need a while to get to each lane.
        WHEN i.next_attempt_at > t.now - interval '120 s' OR NOT EXISTS (
            SELECT FROM notifications_workerbeat b WHERE b.role = 'loop' AND b.sends
            AND b.started_at < t.now - interval '120 s' AND b.beat_at > t.now - interval '180 s') THEN false
        -- From the newest entry back, and no farther than two minutes of a busy day.
        ELSE NOT EXISTS (
            SELECT FROM (
                SELECT l.intent_id, l.kind, l.at FROM notifications_logentry l
                WHERE l.id > (SELECT max(m.id) FROM notifications_logentry m) - 100000 ORDER BY l.id DESC
            ) l JOIN notifications_intent x ON x.id = l.intent_id
            WHERE l.kind = 'claimed' AND l.at > t.now - interval '120 s' AND x.account_id = a.id
              -- With a rate the account's tokens go round its lanes: not each of them gets one in that time.
              AND (x.lane = n OR notifyops_private.rate_v1(a.rate_per_s, b.learned_per_s, b.ramp_since, t.now) < 50))
      END
    UNION ALL
    SELECT 'triggers_always', NULL, format('%s on %s is missing or not ENABLE ALWAYS', n.name, g.relname)
    FROM guarded g CROSS JOIN LATERAL unnest(g.triggers) AS n(name)
    WHERE NOT EXISTS (SELECT FROM pg_trigger p WHERE p.tgrelid = g.oid AND p.tgname = n.name AND p.tgenabled = 'A')
    UNION ALL
    SELECT 'owned_by_owner', NULL, format('%s belongs to %s', c.oid::regclass, pg_get_userbyid(c.relowner))
    FROM pg_class c, owner o WHERE c.relnamespace IN ('notifyops'::regnamespace, 'notifyops_private'::regnamespace)
        AND c.relkind IN ('r', 'p', 'v', 'S') AND c.relowner <> o.id
    UNION ALL
    SELECT 'owned_by_owner', NULL, format('%s belongs to %s', p.oid::regprocedure, pg_get_userbyid(p.proowner))
    FROM pg_proc p, owner o WHERE p.pronamespace IN ('notifyops'::regnamespace, 'notifyops_private'::regnamespace)
        AND p.proowner <> o.id
    UNION ALL
    SELECT 'roles_bounded', NULL,
        format('%s is a superuser, bypasses checks, makes roles, or is a member of the owner', r.rolname)
    FROM runtime r, owner o
    WHERE r.rolsuper OR r.rolbypassrls OR r.rolcreaterole OR r.rolreplication OR pg_has_role(r.oid, o.id, 'MEMBER')
    UNION ALL
    SELECT 'roles_bounded', NULL, format('%s may write %s past the door', r.rolname, g.relname)
    FROM runtime r CROSS JOIN guarded g
    WHERE has_table_privilege(r.oid, g.oid, 'UPDATE, DELETE, TRUNCATE, TRIGGER')
       OR (has_table_privilege(r.oid, g.oid, 'INSERT')
           AND g.relname NOT IN ('notifications_configrevision', 'reviews_review', 'reviews_note'))
    UNION ALL
    SELECT 'schedules_are_ours', NULL, format('schedule %s calls %s', s.id, s.func)
    FROM django_q_schedule s WHERE s.func <> 'notifications.tasks.watch' OR s.hook IS NOT NULL OR s.args IS NOT NULL
        OR s.kwargs IS NOT NULL OR s.intended_date_kwarg IS NOT NULL
    UNION ALL
    SELECT 'partitions_ahead', NULL, format('the log has no partition for %s', m.month)
    FROM t, LATERAL (
        SELECT to_char(date_trunc('month', t.now AT TIME ZONE 'UTC') + make_interval(months => n), 'YYYYMM') AS month
        FROM generate_series(0, 2) AS n
    ) m WHERE to_regclass('notifyops_private.notifications_logentry_' || m.month) IS NULL
    UNION ALL
    SELECT 'default_partition_empty', d.intent_id, format('entries of %s stand in the default partition', d.month)
    FROM (SELECT DISTINCT d.intent_id, d.month FROM notifications_logentry_default d) d
$$;

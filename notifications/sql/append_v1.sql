-- The door: appends one entry of `kind_` to each intent in `ids`, and moves the intents accordingly.
--
-- Arrays are parallel to `ids`; an array that is not given counts as all NULL. Returns one row per id: the new seq and
-- state, or why it was refused, in `refused`: missing, role (this login may not write such an entry), actor, fence,
-- seq, move (not in the table `move`), or the guard's own word. A refusal writes nothing for that intent and does not
-- disturb the others. The caller owns the transaction; intents stay locked until it ends.
CREATE FUNCTION notifyops_private.append_v1(
    kind_ text,
    ids bigint[],
    worker_ text DEFAULT NULL,
    actor_ text DEFAULT NULL,
    to_states text[] DEFAULT NULL,              -- NULL: the entry moves nothing
    fences integer[] DEFAULT NULL,              -- required for result, late and lease_lost
    seqs integer[] DEFAULT NULL,                -- the seq that the person saw; required for a person's moves
    attempts integer[] DEFAULT NULL,            -- only for late: which attempt it belongs to
    outcomes text[] DEFAULT NULL,
    codes text[] DEFAULT NULL,                  -- becomes error_code
    phases text[] DEFAULT NULL,
    http_statuses integer[] DEFAULT NULL,
    durations_ms integer[] DEFAULT NULL,
    provider_message_ids text[] DEFAULT NULL,
    details text[] DEFAULT NULL,                -- JSON
    reason_codes text[] DEFAULT NULL,
    knowns text[] DEFAULT NULL,
    next_actions text[] DEFAULT NULL,
    delays_s double precision[] DEFAULT NULL,   -- due time or lease end, seconds from the database's now
    windows_s double precision[] DEFAULT NULL,  -- how long the key protects, margin taken off
    failures boolean[] DEFAULT NULL,            -- counts against failure_limit
    in_flights boolean[] DEFAULT NULL,
    ambiguous boolean[] DEFAULT NULL,           -- the provider may have accepted this attempt
    delivery_statuses text[] DEFAULT NULL,
    confirms_s double precision[] DEFAULT NULL,
    untils timestamptz[] DEFAULT NULL,          -- snoozed until
    bodies bytea[] DEFAULT NULL,                -- claimed: the bytes to freeze, where the generation has none yet
    body_hashes bytea[] DEFAULT NULL,
    subjects text[] DEFAULT NULL,
    template_versions text[] DEFAULT NULL
) RETURNS TABLE (
    intent_id bigint, new_seq integer, new_state text, window_left_s double precision, refused text
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
#variable_conflict use_column
DECLARE
    -- Read once: a volatile clock inside a comparison would defeat every index.
    t timestamptz := notifyops_private.clock_v1();
    mine text[] := (SELECT array_agg(r.who) FROM notifications_doorrole r WHERE r.role = session_user);
    by_person boolean := EXISTS (SELECT FROM move m WHERE m.kind = kind_ AND m.who = 'person') AND actor_ IS NOT NULL;
BEGIN
    RETURN QUERY
    WITH input AS MATERIALIZED (
        SELECT * FROM unnest(
            ids, to_states, fences, seqs, attempts, outcomes, codes, phases, http_statuses, durations_ms,
            provider_message_ids, details, reason_codes, knowns, next_actions, delays_s, windows_s, failures, in_flights,
            ambiguous, delivery_statuses, confirms_s, untils, bodies, body_hashes, subjects, template_versions
        ) AS u(id, to_state, fence, seq, attempt, outcome, code, phase, http_status, duration_ms, pid, detail,
               reason_code, known, next_action, delay_s, window_s, failure, in_flight, ambiguous, delivery_status,
               confirm_s, until, body, body_hash, subject, template_version)
    ), locked AS MATERIALIZED (
        -- In id order: two calls over the same intents wait for each other instead of deadlocking.
        SELECT i.* FROM notifications_intent i WHERE i.id = ANY (ids) ORDER BY i.id FOR NO KEY UPDATE
    ), judged AS MATERIALIZED (
        SELECT u.*, l.id AS found, l.seq AS old_seq, l.head, l.state, l.month, l.fence AS old_fence, l.generation AS gen,
            l.attempt_count, l.account_id, l.manual, l.first_ambiguous_at AS since,
            coalesce(u.to_state, l.state) AS target,
            CASE
                WHEN l.id IS NULL THEN 'missing'
                WHEN kind_ IN ('result', 'lease_lost') AND u.fence IS DISTINCT FROM l.fence THEN 'fence'
                WHEN u.seq IS NOT NULL AND u.seq <> l.seq THEN 'seq'
                WHEN by_person AND u.to_state IS NOT NULL AND u.seq IS NULL THEN 'seq'
                WHEN NOT EXISTS (SELECT FROM move m WHERE m.kind = kind_ AND m.from_state = l.state
                                 AND m.to_state = coalesce(u.to_state, l.state)) THEN 'move'
                WHEN NOT EXISTS (SELECT FROM move m WHERE m.kind = kind_ AND m.from_state = l.state
                                 AND m.to_state = coalesce(u.to_state, l.state) AND m.who = ANY (mine)
                                 AND (m.who <> 'person' OR actor_ IS NOT NULL)) THEN 'role'
                WHEN kind_ = 'claimed' AND l.next_attempt_at > t THEN 'not_due'
                WHEN kind_ = 'claimed' AND u.body IS NULL AND NOT EXISTS (
                    SELECT FROM notifications_prepared p WHERE p.intent_id = l.id AND p.generation = l.generation
                ) THEN 'not_prepared'
                WHEN kind_ = 'claimed' AND u.body IS NOT NULL AND (u.body_hash IS DISTINCT FROM sha256(u.body) OR EXISTS (
                    SELECT FROM notifications_prepared p WHERE p.intent_id = l.id AND p.generation = l.generation
                )) THEN 'frozen'
                WHEN kind_ = 'lease_lost' AND l.next_attempt_at > t THEN 'lease_live'
                WHEN kind_ = 'expired' AND (l.expires_at IS NULL OR l.expires_at > t) THEN 'not_expired'
                WHEN kind_ = 'window_over' AND (l.safe_until IS NULL OR l.safe_until > t) THEN 'window_open'
                WHEN kind_ = 'superseded' AND l.first_ambiguous_at IS NOT NULL THEN 'ambiguous'
                WHEN kind_ = 'undone' AND NOT l.manual THEN 'not_retried'
                -- Only where nothing of the old generation can reach the recipient.
                WHEN kind_ = 're_prepared' AND (l.first_ambiguous_at IS NOT NULL OR l.known IS NULL
                     OR l.known NOT IN ('invalid', 'soft_bounced', 'not_sent')) THEN 'ambiguous'
                WHEN kind_ = 'retried' AND l.known IN ('accepted', 'conflict', 'bounced', 'complained', 'suppressed',
                     'awaiting_approval') THEN 'known'
                WHEN kind_ = 'retried' AND l.first_ambiguous_at IS NOT NULL
                     AND (l.safe_until IS NULL OR l.safe_until <= t) THEN 'window_over'
                WHEN kind_ = 'released' AND l.known IS DISTINCT FROM 'awaiting_approval' THEN 'not_held'
                WHEN kind_ = 'reopened' AND l.state = 'accepted' AND (
                    SELECT e.kind FROM notifications_logentry e
                    WHERE e.intent_id = l.id AND e.month = l.month AND e.from_state <> e.to_state
                    ORDER BY e.seq DESC LIMIT 1) <> 'adopted' THEN 'not_adopted'
            END AS refused
        FROM input u LEFT JOIN locked l ON l.id = u.id
    ), written AS MATERIALIZED (
        SELECT j.*,
            CASE WHEN kind_ = 'late' THEN j.attempt WHEN kind_ = 'claimed' THEN j.attempt_count + 1
                 ELSE j.attempt_count END AS entry_attempt,
            CASE WHEN kind_ = 're_prepared' THEN j.gen + 1 ELSE j.gen END AS entry_generation,
            CASE WHEN by_person OR (kind_ = 'claimed' AND j.manual) THEN 'manual' ELSE 'auto' END AS entry_trigger,
            CASE WHEN kind_ = 'claimed' THEN j.old_fence + 1 WHEN kind_ = 'late' THEN j.fence
                 ELSE j.old_fence END AS entry_fence
        FROM judged j WHERE j.refused IS NULL
    ), hashed AS MATERIALIZED (
        SELECT w.*, notifyops_private.entry_hash_v1(
            w.head, w.id, w.old_seq + 1, t, kind_, w.state::text, w.target, w.entry_attempt::int, w.entry_generation::int,
            w.entry_trigger, w.entry_fence, worker_, w.outcome, w.code, w.phase, w.http_status, w.duration_ms, w.pid,
            actor_, w.reason_code, w.detail::jsonb) AS entry_hash
        FROM written w
    ), frozen AS (
        INSERT INTO notifications_prepared (intent_id, generation, account_id, body, sha256, subject, template_version)
        SELECT h.id, h.entry_generation, h.account_id, h.body, h.body_hash, h.subject, coalesce(h.template_version, '')
        FROM hashed h WHERE kind_ = 'claimed' AND h.body IS NOT NULL
    ), entered AS (
        INSERT INTO notifications_logentry (month, intent_id, seq, at, kind, from_state, to_state, attempt, generation,
            trigger, fence, worker, outcome, code, phase, http_status, duration_ms, provider_message_id, actor,
            reason_code, detail, prev, hash)
        SELECT h.month, h.id, h.old_seq + 1, t, kind_, h.state, h.target, h.entry_attempt, h.entry_generation,
            h.entry_trigger, h.entry_fence, worker_, h.outcome, h.code, h.phase, h.http_status, h.duration_ms, h.pid,
            actor_, h.reason_code, h.detail::jsonb, h.head, h.entry_hash
        FROM hashed h
        RETURNING intent_id
    ), moved AS (
        -- FROM entered: each entry is in the log before its intent moves, which the guard on the intent checks.
        UPDATE notifications_intent i SET
            state = h.target, seq = h.old_seq + 1, head = h.entry_hash, fence = CASE WHEN kind_ = 'late' THEN i.fence
                ELSE h.entry_fence END,
            generation = h.entry_generation,
            attempt_count = CASE WHEN kind_ = 'claimed' THEN h.entry_attempt ELSE i.attempt_count END,
            failure_count = CASE WHEN kind_ = 'retried' THEN i.failure_limit - 1 WHEN kind_ = 'released' THEN 0
                ELSE i.failure_count + coalesce(h.failure, false)::int END,
            in_flight_count = CASE WHEN kind_ IN ('retried', 're_prepared') THEN 0
                ELSE i.in_flight_count + coalesce(h.in_flight, false)::int END,
            leased_by = CASE WHEN h.target = 'sending' THEN CASE WHEN kind_ = 'claimed' THEN worker_
                ELSE i.leased_by END END,
            next_attempt_at = CASE
                WHEN h.target NOT IN ('pending', 'retry', 'sending') THEN NULL
                WHEN h.delay_s IS NOT NULL THEN t + make_interval(secs => h.delay_s)
                WHEN h.target = i.state THEN i.next_attempt_at ELSE t END,
            first_ambiguous_at = CASE WHEN kind_ = 're_prepared' THEN NULL
                WHEN h.ambiguous AND i.first_ambiguous_at IS NULL THEN s.started_at ELSE i.first_ambiguous_at END,
            safe_until = CASE WHEN kind_ = 're_prepared' THEN NULL
                WHEN h.ambiguous AND i.first_ambiguous_at IS NULL
                THEN s.started_at + make_interval(secs => coalesce(h.window_s, 0)) ELSE i.safe_until END,
            known = CASE WHEN kind_ IN ('result', 'lease_lost', 'settled', 'adopted') THEN h.known
                ELSE coalesce(h.known, i.known) END,
            error_code = CASE WHEN h.target = 'accepted' AND h.state <> 'accepted' THEN NULL
                -- A fact beside the road (late, evidence) must not overwrite why the intent stands where it stands.
                WHEN h.target = h.state AND kind_ <> 'receipt' THEN i.error_code
                ELSE coalesce(h.code, i.error_code) END,
            next_action = CASE WHEN h.target = 'accepted' AND h.state <> 'accepted' THEN NULL
                ELSE coalesce(h.next_action, i.next_action) END,
            review_since = CASE WHEN h.target = 'needs_review' AND h.state <> 'needs_review'
                THEN CASE WHEN kind_ = 'undone' THEN coalesce(i.review_since, t) ELSE t END ELSE i.review_since END,
            snoozed_until = CASE WHEN kind_ = 'snoozed' THEN h.until
                WHEN kind_ = 'resumed' OR h.target <> h.state THEN NULL ELSE i.snoozed_until END,
            manual = CASE WHEN kind_ = 'retried' THEN true WHEN kind_ IN ('claimed', 'undone') THEN false
                ELSE i.manual END,
            provider_message_id = coalesce(h.pid, i.provider_message_id),
            delivery_status = coalesce(h.delivery_status, i.delivery_status),
            confirm_at = CASE WHEN h.target <> 'accepted' THEN NULL
                WHEN h.confirm_s IS NOT NULL THEN t + make_interval(secs => h.confirm_s) ELSE i.confirm_at END
        FROM entered n JOIN hashed h ON h.id = n.intent_id
        LEFT JOIN LATERAL (
            -- The attempt began no earlier than its claim: from here the provider's key may protect a lost answer.
            SELECT coalesce(max(c.at), t) AS started_at FROM notifications_logentry c
            WHERE h.ambiguous AND c.intent_id = h.id AND c.month = h.month AND c.kind = 'claimed'
              AND c.attempt = h.entry_attempt
        ) s ON true
        WHERE i.id = h.id
        RETURNING i.id, i.seq, i.state, i.safe_until
    )
    SELECT j.id, m.seq, coalesce(m.state, j.state)::text,
        extract(epoch FROM m.safe_until - t)::double precision, j.refused
    FROM judged j LEFT JOIN moved m ON m.id = j.id;
END $$;

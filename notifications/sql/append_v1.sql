-- The door: appends one entry of `kind_` to each intent that `entries` names, and moves the intents accordingly.
--
-- `entries` is a JSON array of objects; their keys are the columns of the record below, all but `id` optional:
--   to_state (absent: the entry moves nothing) · fence (required for result, late, lease_lost) · seq (what the person
--   saw; required for a person's moves) · attempt (late: which one) · outcome, phase, http_status, duration_ms,
--   provider_message_id, reason_code, detail · code (becomes error_code) · known, next_action, delivery_status ·
--   delay_s (due time or lease end, seconds from the database's now) · window_s (how long the key protects, margin
--   taken off) · failure (counts against failure_limit) · in_flight · ambiguous (the provider may have accepted this
--   attempt) · confirm_s (negative: confirmed) · until (snoozed) · subject, template_version (with a body) · site_mode
--   (with a body; retried: the one in which it is ordered).
-- `bodies` are the bytes to freeze, in the order of `entries`, where the generation has none yet; `detail` then names their
-- SHA-256, and log and table keep what the site's key makes of it.
-- No intent may be named twice in one call.
--
-- Returns one row per entry: the new seq and state, or why it was refused, in `refused`: missing, fence, seq, move (not
-- in the table `move`), role (this login may not write such an entry, or names no actor), or the guard's own word. A
-- refusal writes nothing for that intent and does not disturb the others. The caller owns the transaction; intents stay
-- locked until it ends.
--
-- Every plan node and every CHECK costs at each call, so what only rare kinds need stands in statements of their own.
CREATE FUNCTION notifyops_private.append_v1(
    kind_ text, entries jsonb, worker_ text DEFAULT NULL, actor_ text DEFAULT NULL, bodies bytea[] DEFAULT NULL
) RETURNS TABLE (
    intent_id bigint, new_seq integer, new_state text, window_left_s double precision, refused text
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
#variable_conflict use_column
DECLARE
    -- Read once: a volatile clock inside a comparison would defeat every index.
    t timestamptz := notifyops_private.clock_v1();
    ids bigint[] := ARRAY(SELECT (e ->> 'id')::bigint FROM jsonb_array_elements(entries) AS e);
    by_person boolean := actor_ IS NOT NULL;    -- what is proven is then not theirs to say
    lawful text[];                              -- 'from>to' of every move of this kind
    mine text[];                                -- and of those that this login may write
    barred_ids bigint[] := '{}';                -- intents that a rare kind's own guard keeps out
    barred_whys text[] := '{}';
    frozen_ids bigint[];                        -- intents whose generation has its bytes
    late_ids bigint[];                          -- past the time in which the key protects a repeat
    excused_ids bigint[] := '{}';               -- of these, what may be sent all the same
    moved_ids bigint[];                         -- intents that go over to another account
    moved_to bigint[];
    ambiguous_ids bigint[] := '{}';
    started_at timestamptz[] := '{}';
    inner_key bytea;                            -- of the site: what is kept of new bytes is made with them
    outer_key bytea;
    -- By severity, never by arrival: whoever says it, the graver word stays.
    graver CONSTANT text[] := '{none,deferred,delivered,soft_bounced,failed,suppressed,bounced,complained}';
BEGIN
    SELECT array_agg(m.from_state || '>' || m.to_state),
        array_agg(m.from_state || '>' || m.to_state) FILTER (WHERE (m.who = 'person') = by_person AND EXISTS (
            SELECT FROM notifications_doorrole r WHERE r.role = session_user AND r.who = m.who))
    INTO lawful, mine FROM move m WHERE m.kind = kind_;
    -- A worker writes a person's entry only where that person ordered this very one: a bulk run's frozen list.
    IF by_person AND mine IS NULL THEN
        mine := CASE WHEN notifyops_private.ordered_v1(kind_, entries, actor_) THEN lawful END;
    END IF;

    -- In id order: two calls over the same intents wait for each other instead of deadlocking.
    PERFORM FROM notifications_intent i WHERE i.id = ANY (ids) ORDER BY i.id FOR NO KEY UPDATE;

    IF kind_ = 'claimed' THEN
        IF bodies IS NOT NULL THEN
            inner_key := (SELECT s.value FROM notifications_sitesecret s WHERE s.name = 'hmac_inner');
            outer_key := (SELECT s.value FROM notifications_sitesecret s WHERE s.name = 'hmac_outer');
        END IF;
        -- LIMIT keeps each look-up one by primary key, whatever the statistics say of a young table.
        SELECT array_agg(k) FILTER (WHERE p.there), array_agg(k) FILTER (WHERE i.safe_until <= t)
        INTO frozen_ids, late_ids FROM unnest(ids) AS k
        CROSS JOIN LATERAL (SELECT i.generation, i.safe_until FROM notifications_intent i WHERE i.id = k LIMIT 1) i
        LEFT JOIN LATERAL (SELECT true AS there FROM notifications_prepared p
                           WHERE p.intent_id = k AND p.generation = i.generation LIMIT 1) p ON true;
        IF late_ids IS NOT NULL THEN
            excused_ids := ARRAY(
                SELECT i.id FROM notifications_intent i JOIN notifications_notificationtype n ON n.name = i.type
                WHERE i.id = ANY (late_ids) AND n.loss_model = 'must_arrive'
                UNION ALL SELECT e.id FROM notifyops_private.excused_v1(late_ids, t) e);
        END IF;
        SELECT array_agg(u.id), array_agg(u.why) INTO barred_ids, barred_whys
        FROM notifyops_private.unclaimable_v1(ids) u WHERE u.why IS NOT NULL;
    ELSIF kind_ NOT IN ('result', 'late') THEN
        SELECT array_agg(b.id), array_agg(b.why) INTO barred_ids, barred_whys
        FROM notifyops_private.barred_v1(kind_, ids, t, entries, actor_) b WHERE b.why IS NOT NULL;
        IF kind_ = 'failed_over' THEN
            SELECT array_agg(i.id), array_agg(a.fallback_id) INTO moved_ids, moved_to
            FROM notifications_intent i JOIN notifications_provideraccount a ON a.id = i.account_id
            WHERE i.id = ANY (ids);
        END IF;
    END IF;
    -- What a restore may have lost began no earlier than the restored point, whatever was claimed before it.
    IF kind_ <> 'restored' AND entries @> '[{"ambiguous": true}]' THEN
        -- The attempt began no earlier than its claim: from there the provider's key may protect a lost answer.
        SELECT array_agg(i.id), array_agg(c.at) INTO ambiguous_ids, started_at
        FROM notifications_intent i JOIN notifications_logentry c
          ON c.intent_id = i.id AND c.month = i.month AND c.kind = 'claimed' AND c.attempt = i.attempt_count
        WHERE i.id = ANY (ids) AND i.first_ambiguous_at IS NULL;
    END IF;

    RETURN QUERY
    WITH judged AS MATERIALIZED (
        SELECT u.*, l.seq AS old_seq,
            -- A plain hash of bytes that are erased later could be tried with one guess after another, for ever.
            CASE WHEN u.body IS NULL THEN u.told ELSE u.told || jsonb_build_object('sha256',
                encode(notifyops_private.hmac_by_v1(u.told ->> 'sha256', inner_key, outer_key), 'hex')) END AS detail,
            l.head, l.state, l.month, l.account_id, l.first_ambiguous_at AS since,
            l.safe_until AS until_now,
            coalesce(u.to_state, l.state) AS target,
            CASE WHEN kind_ = 'late' THEN u.fence WHEN kind_ = 'claimed' THEN l.fence + 1 ELSE l.fence END AS new_fence,
            CASE WHEN kind_ = 'late' THEN u.attempt WHEN kind_ = 'claimed' THEN l.attempt_count + 1
                ELSE l.attempt_count END AS new_attempt,
            CASE WHEN kind_ IN ('re_prepared', 'failed_over') THEN l.generation + 1 ELSE l.generation
                END AS new_generation,
            CASE WHEN by_person OR (kind_ = 'claimed' AND l.manual) THEN 'manual' ELSE 'auto' END AS trigger,
            CASE
                WHEN l.id IS NULL THEN 'missing'
                WHEN kind_ IN ('result', 'lease_lost') AND u.fence IS DISTINCT FROM l.fence THEN 'fence'
                WHEN u.seq <> l.seq OR (by_person AND u.to_state IS NOT NULL AND u.seq IS NULL) THEN 'seq'
                WHEN l.state || '>' || coalesce(u.to_state, l.state) <> ALL (coalesce(lawful, '{}')) THEN 'move'
                WHEN l.state || '>' || coalesce(u.to_state, l.state) <> ALL (coalesce(mine, '{}')) THEN 'role'
                WHEN kind_ = 'claimed' THEN CASE
                    WHEN l.next_attempt_at > t THEN 'not_due'
                    WHEN l.id = ANY (barred_ids) THEN barred_whys[array_position(barred_ids, l.id)]
                    -- Whoever ordered it: past the window a repeat may be a second message.
                    WHEN l.safe_until <= t AND NOT l.id = ANY (excused_ids) THEN 'window_over'
                    WHEN (u.body IS NULL) <> coalesce(l.id = ANY (frozen_ids), false) THEN
                        CASE WHEN u.body IS NULL THEN 'not_prepared' ELSE 'frozen' END
                    WHEN encode(sha256(u.body), 'hex') <> coalesce(u.told ->> 'sha256', '') THEN 'hash' END
                -- The application may say at any time that a notification is not wanted any more.
                WHEN l.id = ANY (barred_ids) AND NOT (kind_ = 'expired' AND u.code IS NOT DISTINCT FROM 'no_longer_wanted')
                THEN barred_whys[array_position(barred_ids, l.id)]
            END AS refused
        FROM ROWS FROM (
            jsonb_to_recordset(entries) AS (
                id bigint, to_state text, fence integer, seq integer, attempt integer, outcome text, code text,
                phase text, http_status integer, duration_ms integer, provider_message_id text, detail jsonb,
                reason_code text, known text, next_action text, delay_s double precision, window_s double precision,
                failure boolean, in_flight boolean, ambiguous boolean, delivery_status text,
                confirm_s double precision, until timestamptz, subject text, template_version text, site_mode text),
            unnest(bodies)
        ) AS u(id, to_state, fence, seq, attempt, outcome, code, phase, http_status, duration_ms, pid, told,
               reason_code, known, next_action, delay_s, window_s, failure, in_flight, ambiguous, delivery_status,
               confirm_s, until, subject, template_version, site_mode, body)
        LEFT JOIN LATERAL (SELECT i.* FROM notifications_intent i WHERE i.id = u.id LIMIT 1) l ON true
    ), hashed AS MATERIALIZED (
        SELECT j.*, notifyops_private.entry_hash_v1(
            j.head, j.id, j.old_seq + 1, t, kind_, j.state::text, j.target, j.new_attempt, j.new_generation::int,
            j.trigger, j.new_fence, worker_, j.outcome, j.code, j.phase, j.http_status, j.duration_ms, j.pid,
            actor_, j.reason_code, j.detail) AS entry_hash,
            coalesce(started_at[array_position(ambiguous_ids, j.id)], t) AS began
        FROM judged j
    ), entered AS (
        INSERT INTO notifications_logentry (month, intent_id, seq, at, kind, from_state, to_state, attempt, generation,
            trigger, fence, worker, outcome, code, phase, http_status, duration_ms, provider_message_id, actor,
            reason_code, detail, prev, hash)
        SELECT j.month, j.id, j.old_seq + 1, t, kind_, j.state, j.target, j.new_attempt, j.new_generation,
            j.trigger, j.new_fence, worker_, j.outcome, j.code, j.phase, j.http_status, j.duration_ms, j.pid,
            actor_, j.reason_code, j.detail, j.head, j.entry_hash
        FROM hashed j WHERE j.refused IS NULL
    ), frozen AS (
        INSERT INTO notifications_prepared (intent_id, generation, account_id, body, sha256, subject, template_version,
            site_mode)
        -- The hash was compared with the bytes' own above, and made anew by the site's key: one reckoning is enough.
        SELECT j.id, j.new_generation, j.account_id, j.body, decode(j.detail ->> 'sha256', 'hex'), j.subject,
            coalesce(j.template_version, ''), coalesce(j.site_mode, '')
        FROM hashed j WHERE kind_ = 'claimed' AND j.body IS NOT NULL AND j.refused IS NULL
    ), moved AS (
        UPDATE notifications_intent i SET
            state = j.target, seq = j.old_seq + 1, head = j.entry_hash,
            fence = CASE WHEN kind_ = 'claimed' THEN j.new_fence ELSE i.fence END,
            generation = j.new_generation,
            account_id = coalesce(moved_to[array_position(moved_ids, j.id)], i.account_id),
            -- What a person orders goes before every backlog: the urgent class of the same workspace's lanes. A run of
            -- thousands is a backlog itself.
            lane = CASE WHEN kind_ IN ('retried', 'released') AND NOT coalesce(j.detail ? 'bulk', false)
                THEN i.lane & 15 ELSE i.lane END,
            attempt_count = CASE WHEN kind_ = 'claimed' THEN j.new_attempt ELSE i.attempt_count END,
            failure_count = CASE WHEN kind_ = 'retried' THEN i.failure_limit - 1 WHEN kind_ IN ('released', 'failed_over') THEN 0
                ELSE i.failure_count + (coalesce(j.failure, false) AND NOT by_person)::int END,
            in_flight_count = CASE WHEN kind_ IN ('retried', 're_prepared', 'failed_over') THEN 0
                ELSE i.in_flight_count + coalesce(j.in_flight, false)::int END,
            leased_by = CASE WHEN j.target <> 'sending' THEN NULL WHEN kind_ = 'claimed' THEN worker_
                ELSE i.leased_by END,
            next_attempt_at = CASE
                WHEN j.target NOT IN ('pending', 'retry', 'sending') THEN NULL
                WHEN j.delay_s IS NOT NULL THEN t + make_interval(secs => j.delay_s)
                WHEN j.target = i.state THEN i.next_attempt_at ELSE t END,
            -- A receipt that says that the key's one message did not arrive ends the doubt as well.
            first_ambiguous_at = CASE WHEN kind_ = 're_prepared' OR (kind_ = 'freed' AND NOT j.ambiguous)
                    OR (kind_ IN ('receipt', 'reopened') AND j.known IN ('soft_bounced', 'invalid')
                        AND (kind_ = 'receipt' OR i.delivery_status IN ('soft_bounced', 'failed'))) THEN NULL
                WHEN j.ambiguous AND NOT by_person AND i.first_ambiguous_at IS NULL THEN j.began
                ELSE i.first_ambiguous_at END,
            safe_until = CASE WHEN kind_ = 're_prepared' OR (kind_ = 'freed' AND NOT j.ambiguous)
                    OR (kind_ IN ('receipt', 'reopened') AND j.known IN ('soft_bounced', 'invalid')
                        AND (kind_ = 'receipt' OR i.delivery_status IN ('soft_bounced', 'failed'))) THEN NULL
                WHEN j.ambiguous AND NOT by_person AND i.first_ambiguous_at IS NULL
                THEN j.began + make_interval(secs => coalesce(j.window_s, 0)) ELSE i.safe_until END,
            known = CASE WHEN kind_ IN ('result', 'lease_lost', 'settled') THEN j.known
                -- What came back while it was closed is what the case is about, and nothing that anybody may adopt.
                WHEN kind_ = 'reopened' AND i.delivery_status IN
                        ('soft_bounced', 'failed', 'suppressed', 'bounced', 'complained')
                    AND coalesce(i.error_code, '') NOT IN ('second_message', 'forgotten_message')
                    THEN replace(i.delivery_status::text, 'failed', 'invalid')
                -- A person says neither at an adoption nor after it what is known: the provider has it.
                WHEN kind_ = 'adopted' OR (kind_ = 'reopened' AND i.provider_message_id IS NOT NULL
                        AND coalesce(i.known, 'unknown') IN ('unknown', 'not_sent'))
                    THEN 'accepted'
                WHEN kind_ = 'released' THEN 'not_sent'
                -- An end must not say of the notification what is true of its last generation alone.
                WHEN kind_ = 'withdrawn' AND coalesce(i.known, 'not_sent') = 'not_sent' AND earlier_v1(i.id) IS NOT NULL
                    THEN 'unknown'
                WHEN by_person THEN coalesce(i.known, j.known)
                -- What ended as not sent and is heard to be out all the same must not go on saying that nothing left.
                WHEN j.known IS NULL AND kind_ IN ('evidence', 'receipt') AND i.state IN ('closed', 'cancelled')
                    AND coalesce(i.known, 'not_sent') = 'not_sent'
                    AND (j.outcome = 'found' OR j.detail ->> 'says' IN ('none', 'deferred', 'delivered', 'complained'))
                    THEN 'accepted'
                ELSE coalesce(j.known, i.known) END,
            error_code = CASE WHEN j.target = 'accepted' AND j.state <> 'accepted' THEN NULL
                WHEN kind_ = 'freed' THEN j.code    -- as it stood before it was held
                -- A fact beside the road (late, evidence) must not overwrite why the intent stands where it stands.
                WHEN j.target = j.state AND kind_ NOT IN ('receipt', 'contradicted') THEN i.error_code
                ELSE coalesce(j.code, i.error_code) END,
            next_action = CASE WHEN j.target = 'accepted' AND j.state <> 'accepted' THEN NULL
                WHEN kind_ = 'freed' THEN j.next_action
                ELSE coalesce(j.next_action, i.next_action) END,
            review_since = CASE WHEN j.target = 'needs_review' AND j.state <> 'needs_review'
                THEN CASE WHEN kind_ = 'undone' THEN coalesce(i.review_since, t) ELSE t END ELSE i.review_since END,
            snoozed_until = CASE WHEN kind_ = 'snoozed' THEN j.until
                WHEN j.target <> j.state OR kind_ IN ('resumed', 'contradicted', 'resend_asked')
                    -- News brings what was set aside back at once.
                    OR (kind_ = 'receipt' AND coalesce(j.delivery_status, j.code) IS NOT NULL)
                    -- That nothing is there is none of what nobody doubts, nor of what a restore would send then.
                    OR (kind_ = 'evidence' AND (j.outcome = 'found' OR (j.outcome = 'not_found'
                        AND i.error_code IS DISTINCT FROM 'restored' AND (i.first_ambiguous_at IS NOT NULL
                            OR i.known IN ('unknown', 'conflict', 'accepted'))))) THEN NULL
                ELSE i.snoozed_until END,
            -- Used up by the attempt's result, but not where nothing was tried: given back, too late, or told to wait.
            manual = CASE WHEN kind_ = 'retried' THEN true WHEN kind_ IN ('undone', 'lease_lost', 'released') THEN false
                WHEN kind_ = 'result' AND NOT (j.target = 'retry' AND j.outcome IN ('not_sent', 'rejected')
                    AND j.failure IS NOT TRUE)
                THEN false ELSE i.manual END,
            -- A new generation has no message at the provider yet: the old one's id stays in the log.
            provider_message_id = CASE WHEN kind_ = 're_prepared' THEN NULL
                ELSE coalesce(j.pid, i.provider_message_id) END,
            delivery_status = coalesce(CASE
                -- What receipts said was about the old generation's message.
                WHEN kind_ = 're_prepared' THEN NULL
                WHEN j.delivery_status IS NULL OR j.delivery_status = i.delivery_status THEN i.delivery_status
                -- It came back for a while, and the receiving server took it after all.
                WHEN kind_ = 'settled' AND i.known = 'soft_bounced' AND i.delivery_status = 'soft_bounced'
                    THEN j.delivery_status
                -- A word that is none is left to the CHECK.
                WHEN array_position(graver, j.delivery_status) < array_position(graver, i.delivery_status::text)
                    THEN i.delivery_status ELSE j.delivery_status END, 'none'),
            confirm_at = CASE WHEN j.target <> 'accepted' OR j.confirm_s < 0 THEN NULL
                WHEN j.confirm_s IS NOT NULL THEN t + make_interval(secs => j.confirm_s) ELSE i.confirm_at END
        FROM hashed j WHERE i.id = j.id AND j.refused IS NULL
    )
    -- What the update has just written, said again: a join of the two would cost as much as either.
    SELECT j.id, CASE WHEN j.refused IS NULL THEN j.old_seq + 1 END,
        CASE WHEN j.refused IS NULL THEN j.target ELSE j.state END::text,
        CASE WHEN j.refused IS NULL THEN extract(epoch FROM CASE
            WHEN kind_ = 're_prepared' THEN NULL WHEN j.ambiguous AND j.since IS NULL
            THEN j.began + make_interval(secs => coalesce(j.window_s, 0)) ELSE j.until_now END - t)::double precision END,
        j.refused
    FROM hashed j;
END $$;

-- The contract with every language: schema `notifyops`. Names here keep their meaning; versions live behind them.
CREATE FUNCTION notifyops.api_version() RETURNS integer LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp
RETURN 1;

CREATE FUNCTION notifyops.enqueue(
    notification_type text, report_id text, recipient text, data jsonb DEFAULT '{}', options jsonb DEFAULT '{}'
) RETURNS TABLE (id bigint, notification_id text, created boolean, state text)
LANGUAGE sql SECURITY DEFINER ROWS 1 SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
    SELECT * FROM notifyops_private.enqueue_v1($1, $2, $3, coalesce($4, '{}'), coalesce($5, '{}'))
$$;
COMMENT ON FUNCTION notifyops.enqueue(text, text, text, jsonb, jsonb) IS
    'Owe one notification to one recipient, inside the caller''s transaction. Same content again: created = false.';

CREATE FUNCTION notifyops.enqueue_many(items jsonb)
RETURNS TABLE ("position" integer, id bigint, notification_id text, created boolean, state text)
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
    SELECT * FROM notifyops_private.enqueue_many_v1($1) ORDER BY 1
$$;
COMMENT ON FUNCTION notifyops.enqueue_many(jsonb) IS 'Up to 10,000 enqueues in one call, all or none; one row per position.';

CREATE FUNCTION notifyops.cancel(key text, reason text, workspace text DEFAULT '')
RETURNS TABLE (notification_id text, outcome text, state text)
LANGUAGE sql SECURITY DEFINER ROWS 1 SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
    SELECT * FROM notifyops_private.cancel_v1($1, $2, coalesce($3, ''))
$$;
COMMENT ON FUNCTION notifyops.cancel(text, text, text) IS
    'Take back a notification that has not left: cancelled, cancelled_maybe_sent, already, or too_late.';

-- One row per intent, in the first document's words. Never an address, a subject or a body.
CREATE VIEW notifyops.intents AS
SELECT i.notification_id AS id, i.report_id, i.type, i.state AS status, i.attempt_count AS attempts,
    CASE WHEN i.state IN ('pending', 'retry') THEN i.next_attempt_at END AS next_attempt_at,
    i.provider_message_id, i.error_code AS last_error_code,
    i.workspace, i.channel, a.name AS account, i.delivery_status, i.known, i.next_action, i.generation,
    i.failure_count, i.failure_limit, i.first_ambiguous_at, i.safe_until, i.review_since, i.expires_at,
    CASE WHEN i.state = 'sending' THEN i.next_attempt_at END AS lease_until,
    s.notification_id AS supersedes, i.seq, i.created_at, i.created_by, i.id AS intent_id
FROM notifyops_private.notifications_intent i
JOIN notifyops_private.notifications_provideraccount a ON a.id = i.account_id
LEFT JOIN notifyops_private.notifications_intent s ON s.id = i.supersedes_id;

CREATE VIEW notifyops.log AS
SELECT i.notification_id AS id, i.workspace, l.seq, l.at, l.kind, l.from_state, l.to_state, l.attempt, l.generation,
    l.trigger, l.fence, l.worker, l.outcome, l.code, l.phase, l.http_status, l.duration_ms, l.provider_message_id, l.actor,
    l.reason_code, l.detail, encode(l.prev, 'hex') AS prev, encode(l.hash, 'hex') AS hash, l.intent_id
FROM notifyops_private.notifications_logentry l
JOIN notifyops_private.notifications_intent i ON i.id = l.intent_id;

-- One row per call to a provider: the claim, and what became of it (NULL while it runs).
CREATE VIEW notifyops.attempts AS
SELECT i.notification_id AS id, i.workspace, c.attempt, c.generation, c.trigger, c.worker, c.at AS started_at,
    r.at AS ended_at, r.kind AS ended_by, r.outcome, r.code, r.phase, r.http_status, r.duration_ms, r.provider_message_id,
    c.fence, c.intent_id
FROM notifyops_private.notifications_logentry c
JOIN notifyops_private.notifications_intent i ON i.id = c.intent_id
LEFT JOIN notifyops_private.notifications_logentry r
    ON r.intent_id = c.intent_id AND r.month = c.month AND r.attempt = c.attempt AND r.kind IN ('result', 'lease_lost')
WHERE c.kind = 'claimed';

CREATE FUNCTION notifyops.status(key text, workspace text DEFAULT '') RETURNS SETOF notifyops.intents
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
    SELECT v.* FROM notifications_intentkey k JOIN notifyops.intents v ON v.intent_id = k.intent_id
    WHERE k.key = $1 AND k.workspace = coalesce($2, '')
$$;
COMMENT ON FUNCTION notifyops.status(text, text) IS 'The row of notifyops.intents for one key; no row where it is unknown.';

-- The pause that keeps such a notification waiting longest: its number, what is paused and its name; NULL where none
-- does. In PL/pgSQL, which looks for the table of pauses only when it is called: a later migration makes it.
CREATE FUNCTION notifyops_private.pause_of_v1(account bigint, kind text, space text) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
BEGIN
    RETURN (SELECT format('%s (%s %s)', p.id, p.scope, coalesce(nullif(p.name, ''), '(default)'))
        FROM notifications_pause p
        WHERE p.resumed_at IS NULL AND p.ends_at > clock_v1() AND CASE p.scope
            WHEN 'account' THEN p.account_id = account WHEN 'type' THEN p.name = kind ELSE p.name = space END
        ORDER BY p.ends_at DESC, p.id LIMIT 1);
END $$;

-- The story in plain words, a line per fact, in order.
CREATE FUNCTION notifyops.explain(key text, workspace text DEFAULT '') RETURNS SETOF text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
    WITH one AS (
        SELECT i.* FROM notifications_intentkey k JOIN notifications_intent i ON i.id = k.intent_id
        WHERE k.key = $1 AND k.workspace = coalesce($2, '')
    ), lines AS (
        SELECT 0 AS place, format('%s: owed for report %s by type %s through %s, written by %s%s.',
            to_char(o.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS"Z"'), o.report_id, o.type, o.channel,
            o.created_by, ', in the place of ' || s.notification_id) AS line
        FROM one o LEFT JOIN notifications_intent s ON s.id = o.supersedes_id
        UNION ALL
        SELECT l.seq, format('%s: %s', to_char(l.at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS"Z"'),
            CASE l.kind
                WHEN 'claimed' THEN format('attempt %s (%s) began on %s%s%s.', l.attempt, l.trigger, l.worker,
                    CASE WHEN l.generation > 1 THEN format(', under the key %s%s~g%s', o.notification_id, o.key_suffix, l.generation) END,
                    CASE WHEN l.detail ? 'possible_duplicate' THEN ', and may be a second message' END)
                WHEN 'result' THEN concat('attempt ', l.attempt, ' ended: ', l.outcome, ' (' || l.code || ')',
                    ', field ' || (l.detail ->> 'field'), '.')
                WHEN 'lease_lost' THEN format('attempt %s ended unknown: its worker was lost.', l.attempt)
                WHEN 'late' THEN concat('a late answer to attempt ', l.attempt, ' was kept: ', l.outcome, ' (' || l.code || ')', '.')
                WHEN 'evidence' THEN concat('the provider was asked', ' for ' || (l.detail ->> 'asked_by'), ': ',
                    replace(l.outcome, '_', ' '), ' (' || l.code || ')', '.')
                WHEN 'restored' THEN 'the database was restored: held until the provider has been asked.'
                WHEN 'freed' THEN 'the provider does not have it: it goes on as before the restore.'
                WHEN 'receipt' THEN concat(CASE WHEN l.detail ? 'ids' THEN 'the answer says: ' ELSE 'a receipt came: ' END,
                    coalesce(nullif(l.detail ->> 'says', 'none'), 'accepted'),
                    ' by event ' || (l.detail ->> 'type'), ' (' || (l.detail ->> 'why') || ')',
                    CASE WHEN l.detail ? 'generation' THEN ', of generation ' || (l.detail ->> 'generation') END,
                    ', of another message of this notification: ' || (l.detail ->> 'second'), '.')
                WHEN 'contradicted' THEN CASE l.code WHEN 'forgotten_message'
                    THEN CASE WHEN l.detail ? 'elsewhere'
                        THEN 'after the restore the provider showed a message to a corrected address, which is forgotten here.'
                        ELSE format('after the restore the provider showed a message of generation %s, which is forgotten here.',
                            l.detail ->> 'generation') END
                    ELSE concat('the provider contradicts what is known (', l.code, ')',
                        ', another message of this notification: ' || (l.detail ->> 'second'), '.') END
                ELSE concat(CASE l.kind
                        WHEN 'held' THEN 'held for approval'
                        WHEN 'released' THEN 'approved'
                        WHEN 'invalid' THEN 'it could not be prepared'
                        WHEN 'fetching' THEN 'its attachments are fetched first'
                        WHEN 'fetched' THEN CASE WHEN l.code IS NULL THEN 'its attachments are here'
                            ELSE 'an attachment could not be fetched, and will be tried again' END
                        WHEN 'blocked' THEN 'stopped before the attempt'
                        WHEN 'settled' THEN 'it was proven that the provider has it'
                        WHEN 'window_over' THEN 'the key protects no repeat any more'
                        WHEN 'expired' THEN 'its expiry had passed'
                        WHEN 'unconfirmed' THEN 'no receipt has confirmed it'
                        WHEN 'retried' THEN 'one more attempt was ordered'
                        WHEN 'undone' THEN 'the order was undone'
                        WHEN 're_prepared' THEN format('prepared anew as generation %s, under the key %s%s~g%s '
                            '(a second message to the provider, not a repeat)', l.generation, o.notification_id,
                            o.key_suffix, l.generation)
                        WHEN 'failed_over' THEN format('taken over from account %s (%s) by account %s, as generation %s '
                            'under the key %s%s~g%s: nothing of it had left', l.detail ->> 'from', replace(l.detail ->> 'why',
                            '_', ' '), l.detail ->> 'to', l.generation, o.notification_id, o.key_suffix, l.generation)
                        WHEN 'adopted' THEN 'the provider''s answer was adopted'
                        WHEN 'resend_asked' THEN 'a second message was asked for'
                        WHEN 'resend_dropped' THEN 'the second message was not confirmed'
                        WHEN 'snoozed' THEN 'set aside'
                        WHEN 'resumed' THEN 'taken up again'
                        WHEN 'closed' THEN 'closed'
                        WHEN 'reopened' THEN 'reopened'
                        WHEN 'withdrawn' THEN 'withdrawn'
                        WHEN 'superseded' THEN 'replaced by a newer notification'
                        END, ' by ' || l.actor, ', reason ' || l.reason_code,
                    CASE WHEN l.code IS NOT NULL THEN format(' (%s)', l.code) END,
                    CASE WHEN l.kind IN ('closed', 'superseded') THEN ', in its place: ' || (l.detail ->> 'by') END,
                    CASE WHEN l.kind = 'closed' THEN ', address ' || (l.detail ->> 'from') || ' → ' || (l.detail ->> 'to') END,
                    CASE WHEN l.detail ? 'may_duplicate' THEN ', although the first message may have arrived' END,
                    ', as ' || (l.detail ->> 'asked_by') || ' had asked',
                    CASE WHEN l.detail ? 'erased' THEN ', content erased' END,
                    ', another message of this notification: ' || (l.detail ->> 'second'), '.')
            END || CASE WHEN l.from_state <> l.to_state THEN format(' %s → %s.', l.from_state, l.to_state) ELSE '' END)
        FROM one o JOIN notifications_logentry l ON l.intent_id = o.id AND l.month = o.month
        UNION ALL
        SELECT 2147483647, format('now: %s%s.', o.state, CASE
            WHEN o.state = 'accepted' THEN format(', delivery status: %s', o.delivery_status)
            WHEN o.state IN ('pending', 'retry') THEN format(', next attempt at %s',
                to_char(o.next_attempt_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS"Z"'))
                || coalesce('; waits for pause ' || notifyops_private.pause_of_v1(o.account_id, o.type, o.workspace), '')
                || coalesce((SELECT format('; waits for account %s, which is not called until %s', a.name,
                        CASE WHEN isfinite(w.until) THEN to_char(w.until AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS"Z"')
                        ELSE 'a person has mended it' END
                        || coalesce(CASE WHEN c.open_until > clock_v1() THEN ' (' || c.code || ')' END, ''))
                    FROM notifications_circuit c JOIN notifications_provideraccount a ON a.id = c.account_id,
                        LATERAL (SELECT greatest(c.wait_until, c.open_until) AS until) w
                    WHERE c.account_id = o.account_id AND w.until > clock_v1()), '')
            -- As cancel_v1 answers.
            WHEN o.state = 'cancelled' AND (o.first_ambiguous_at IS NOT NULL OR o.provider_message_id IS NOT NULL
                    OR o.known = 'conflict' OR earlier_v1(o.id) IS NOT NULL)
                THEN ': nothing more is sent, but an earlier attempt may have reached the recipient'
            WHEN o.state = 'closed' THEN '; known: ' || o.known
            WHEN o.state = 'needs_review' THEN format(' because of %s; known: %s; suggested at first: %s (%s)',
                o.error_code, o.known, CASE o.next_action
                    WHEN 'query_provider' THEN 'ask the provider'
                    WHEN 'retry_same_key' THEN 'retry, same key'
                    WHEN 'retry_new_key' THEN 'retry, new key'
                    WHEN 'fix_config' THEN 'mend the account, then retry'
                    WHEN 'fix_content' THEN 'mend the template, then retry; or close it and enqueue it anew'
                    WHEN 'find_cause' THEN 'find out what is refused, mend it, then retry'
                    WHEN 'enqueue_anew' THEN 'close it, and enqueue it anew'
                    WHEN 'correct_address' THEN 'correct the address'
                    WHEN 'wait_for_event' THEN 'wait for a receipt'
                    WHEN 'close_duplicate' THEN 'close as duplicate'
                    WHEN 'approve' THEN 'approve'
                    WHEN 'ask_lead' THEN 'ask a lead' END, o.next_action) || CASE WHEN o.snoozed_until > clock_v1() THEN '; set aside until '
                    || to_char(o.snoozed_until AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS"Z"') ELSE '' END
                || CASE WHEN o.expires_at <= clock_v1() THEN '; its expiry has passed' ELSE '' END ELSE '' END)
        FROM one o
    ) SELECT line FROM lines ORDER BY place
$$;
COMMENT ON FUNCTION notifyops.explain(text, text) IS 'The story of one notification in plain words.';

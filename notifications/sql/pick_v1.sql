-- Locks and returns the due intents that a loop with `room` free places should work on next.
--
-- `accounts` are those that the caller's host has an adapter and a secret for, `mode` is the site's: blocks that were
-- learned in another one do not count (empty: all do). Fair by lanes: every open one × lane with something due gets a share, higher priority classes first, with every eighth place for the lower ones; `full_lanes`
-- (account × 64 + lane) are left out because they already use all that one lane may use of the loop. A closed or paused
-- account's backlog is never looked at; what a paused type or workspace has due is passed over row by row. Of an account
-- with a rate (`limited`) no more come than it has tokens: its bucket stays locked, and the caller spends one for each
-- lease (spend_v1). Rows whose lease ran out come back too, in state `sending`. The caller appends their entries in the
-- same transaction: the locks are the claim. `heavy` ones, whose attachments are more than a worker should hold beside those
-- before them, come without their bytes and are left to the next look.
--
-- Measured on PostgreSQL 18.6: the whole call with nothing due stays under 0.3 ms for one account.
CREATE FUNCTION notifyops_private.pick_v1(
    room integer, accounts bigint[], full_lanes bigint[] DEFAULT '{}', mode text DEFAULT '')
RETURNS TABLE (
    id bigint, notification_id text, key_suffix text, report_id text, type text, channel text, workspace text,
    account_id bigint, lane integer, state text, seq integer, generation integer, fence integer, attempt_count integer,
    failure_count integer, failure_limit integer, in_flight_count integer, known text, manual boolean,
    ambiguous boolean, window_left_s double precision, expires_in_s double precision, blocked text, erased boolean,
    recipient text, data text, locale text, body bytea, body_sha256 bytea, probe boolean, body_mode text,
    limited boolean, attachments text, heavy boolean
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
#variable_conflict use_column
DECLARE
    t timestamptz := notifyops_private.clock_v1();
    lanes bigint[];
    open_lanes bigint[];
    quotas integer[];
    probing bigint[] := '{}';
    probes bigint[] := '{}';
    most_bytes CONSTANT bigint := 50000000;     -- of messages that a worker takes into its memory at once
    has_rates boolean;
    capped bigint[] := '{}';                    -- accounts whose bucket is ours until the transaction ends
    caps integer[] := '{}';                     -- and the whole tokens in it
    own integer[];
    paused_accounts bigint[];
    paused_types text[];
    paused_workspaces text[];
BEGIN
    SELECT coalesce(array_agg(p.account_id) FILTER (WHERE p.scope = 'account'), '{}'),
        coalesce(array_agg(p.name::text) FILTER (WHERE p.scope = 'type'), '{}'),
        coalesce(array_agg(p.name::text) FILTER (WHERE p.scope = 'workspace'), '{}')
    INTO paused_accounts, paused_types, paused_workspaces
    FROM notifications_pause p WHERE p.resumed_at IS NULL AND p.ends_at > t;

    -- One probe of the claim's index per lane of each open account.
    SELECT coalesce(array_agg(a.id * 64 + n ORDER BY random()), '{}'),
        bool_or(a.rate_per_s IS NOT NULL OR b.account_id IS NOT NULL)
    INTO lanes, has_rates
    FROM notifications_provideraccount a
    LEFT JOIN notifications_circuit c ON c.account_id = a.id
    LEFT JOIN notifications_ratebucket b ON b.account_id = a.id
    CROSS JOIN generate_series(0, 47) AS n
    CROSS JOIN LATERAL (
        SELECT FROM notifications_intent i
        WHERE i.account_id = a.id AND i.lane = n AND i.type <> ALL (paused_types)
          AND i.workspace <> ALL (paused_workspaces) AND i.next_attempt_at <= t LIMIT 1
    ) due
    WHERE a.id = ANY (accounts) AND a.enabled AND (c.open_until IS NULL OR c.open_until <= t)
      AND (c.wait_until IS NULL OR c.wait_until <= t) AND a.id <> ALL (paused_accounts)
      AND NOT (a.id * 64 + n = ANY (full_lanes));
    IF lanes = '{}' OR room < 1 THEN
        RETURN;
    END IF;

    -- Reckoned only where there is a rate: the expressions alone cost as much as an empty look.
    IF has_rates THEN
        SELECT l.lanes, l.capped, l.caps INTO lanes, capped, caps
        FROM notifyops_private.with_tokens_v1(lanes, t) l;
        IF lanes = '{}' THEN
            RETURN;
        END IF;
    END IF;

    IF EXISTS (SELECT FROM notifications_circuit c WHERE c.open_until IS NOT NULL) THEN
        -- A circuit that was open and has cooled down lets one probe through for all hosts: whoever gets this row
        -- lock closes it again for a while, and the probe's result decides.
        SELECT coalesce(array_agg(h.account_id), '{}') INTO probing FROM (
            SELECT c.account_id FROM notifications_circuit c
            WHERE c.open_until <= t AND c.account_id IN (SELECT l / 64 FROM unnest(lanes) AS l)
            FOR UPDATE SKIP LOCKED
        ) h;
        -- The probe is one that can be repeated, where there is one, and another each time: no message is tried again
        -- and again for its account's sake, and none that fails by itself keeps the account closed. What must arrive comes
        -- last where no key protects it any more: nothing else ends its repeating, and each may be a second message.
        open_lanes := lanes;
        SELECT coalesce(array_agg(h.account), '{}'), coalesce(array_agg(f.id), '{}'),
            coalesce(array_agg(h.account * 64 + f.lane), '{}')
        INTO probing, probes, lanes FROM unnest(probing) AS h(account) CROSS JOIN LATERAL (
            SELECT i.id, i.lane FROM unnest(open_lanes) AS l CROSS JOIN LATERAL (
                SELECT i.id, i.lane, i.type, i.manual, i.attempt_count, i.next_attempt_at, i.safe_until
                FROM notifications_intent i
                WHERE i.account_id = h.account AND i.lane = l % 64 AND i.type <> ALL (paused_types)
                  AND i.workspace <> ALL (paused_workspaces) AND i.next_attempt_at <= t
                ORDER BY i.next_attempt_at, i.id LIMIT 8 FOR NO KEY UPDATE SKIP LOCKED
            ) i LEFT JOIN notifications_notificationtype n ON n.name = i.type
            WHERE l / 64 = h.account
            ORDER BY CASE n.loss_model WHEN 'at_least_once' THEN 0
                WHEN 'must_arrive' THEN CASE WHEN i.safe_until <= t THEN 3 ELSE 1 END ELSE 2 END,
                i.manual, i.attempt_count, i.next_attempt_at
            LIMIT 1
        ) f;
        UPDATE notifications_circuit c SET open_until = t + interval '60 seconds' WHERE c.account_id = ANY (probing);
        -- Of a probing account one lane stays, for one row; of one that another host probes, none.
        lanes := lanes || ARRAY(
            SELECT l FROM unnest(open_lanes) AS l LEFT JOIN notifications_circuit c ON c.account_id = l / 64
            WHERE c.open_until IS NULL);
        IF lanes = '{}' THEN
            RETURN;
        END IF;
    END IF;

    IF cardinality(lanes) = 1 THEN  -- the common case needs no sharing out
        quotas := ARRAY[room];
    ELSE
        quotas := notifyops_private.share_v1(lanes, room);
    END IF;
    FOR k IN 1..cardinality(capped) LOOP
        own := ARRAY(SELECT p FROM unnest(lanes) WITH ORDINALITY AS u(l, p) WHERE l / 64 = capped[k] ORDER BY p);
        IF (SELECT sum(quotas[p]) FROM unnest(own) AS p) > caps[k] THEN
            SELECT array_agg(coalesce(s.n, q.n) ORDER BY q.p) INTO quotas
            FROM unnest(quotas) WITH ORDINALITY AS q(n, p) LEFT JOIN (
                SELECT own[x.p] AS p, x.n FROM unnest(notifyops_private.share_v1(
                    ARRAY(SELECT lanes[p] FROM unnest(own) AS p), caps[k])) WITH ORDINALITY AS x(n, p)
            ) s ON s.p = q.p;
        END IF;
    END LOOP;

    RETURN QUERY
    WITH share AS MATERIALIZED (
        SELECT l / 64 AS account, (l % 64)::smallint AS lane,
            CASE WHEN l / 64 = ANY (probing) THEN 1 ELSE q END AS quota,
            CASE WHEN l / 64 = ANY (probing) THEN probes[array_position(probing, l / 64)] END AS probe
        FROM unnest(lanes, quotas) AS u(l, q) WHERE q > 0 OR l / 64 = ANY (probing)
    ), due AS MATERIALIZED (
        SELECT d.* FROM share s CROSS JOIN LATERAL (
            SELECT i.* FROM notifications_intent i
            WHERE i.account_id = s.account AND i.lane = s.lane AND i.next_attempt_at <= t
              AND i.type <> ALL (paused_types) AND i.workspace <> ALL (paused_workspaces)
              AND (s.probe IS NULL OR i.id = s.probe)
            ORDER BY i.next_attempt_at, i.id LIMIT s.quota
            FOR NO KEY UPDATE SKIP LOCKED
        ) d
    )
    SELECT d.id, d.notification_id::text, d.key_suffix::text, d.report_id::text, d.type::text, d.channel::text,
        d.workspace::text, d.account_id, d.lane::int, d.state::text, d.seq, d.generation::int, d.fence,
        d.attempt_count::int, d.failure_count::int, d.failure_limit::int, d.in_flight_count::int, d.known::text,
        d.manual, d.first_ambiguous_at IS NOT NULL,
        extract(epoch FROM d.safe_until - t)::double precision,
        extract(epoch FROM d.expires_at - t)::double precision,
        (SELECT b.reason::text FROM notifications_deliveryblock b
         WHERE b.commitment = c.commitment AND b.channel = d.channel AND b.scope IN ('', d.type)
           AND (b.site_mode IN ('', mode) OR mode = '')
         -- A recipient's wish, which holds in every mode, comes before what a provider said.
         ORDER BY b.site_mode, b.reason LIMIT 1),
        c.erased_at IS NOT NULL OR c.intent_id IS NULL,
        -- The wish is read again only where bytes must be made: the first time, or anew after a correction.
        CASE WHEN p.body IS NULL OR d.manual THEN c.recipient END, CASE WHEN p.body IS NULL OR d.manual THEN c.data::text END,
        c.locale::text, CASE WHEN coalesce(sum(weight.bytes) OVER before, 0) < most_bytes THEN p.body END, p.sha256,
        d.account_id = ANY (probing), p.site_mode::text, d.account_id = ANY (capped),
        CASE WHEN p.body IS NULL OR d.manual THEN c.attachments::text END,
        coalesce(sum(weight.bytes) OVER before, 0) >= most_bytes
    -- LEFT JOINs: a row without content must be picked and settled, or it would stand at the head for ever.
    FROM due d
    LEFT JOIN LATERAL (SELECT w.* FROM notifications_content w WHERE w.intent_id = d.id LIMIT 1) c ON true
    -- LIMIT keeps it a look-up by primary key: vacuumed while empty, the table was read whole at every claim.
    LEFT JOIN LATERAL (SELECT w.body, w.sha256, w.site_mode FROM notifications_prepared w
                       WHERE w.intent_id = d.id AND w.generation = d.generation LIMIT 1) p ON true
    -- Of bytes that lie apart only the length is read.
    CROSS JOIN LATERAL (SELECT coalesce(octet_length(p.body), CASE WHEN c.attachments IS NOT NULL
        THEN notifyops_private.attached_bytes_v1(c.attachments) END, 0) AS bytes) weight
    WINDOW before AS (ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING);
END $$;

-- When does the next row of these accounts come due, and may be claimed? Seconds, never negative; NULL when nothing is
-- scheduled. What is paused comes due when its pause ends, unless somebody resumes it before.
CREATE FUNCTION notifyops_private.next_due_v1(accounts bigint[]) RETURNS double precision
LANGUAGE plpgsql SECURITY DEFINER STABLE SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
DECLARE
    t timestamptz := notifyops_private.clock_v1();
    paused_until timestamptz;
    paused_types text[];
    paused_workspaces text[];
BEGIN
    SELECT min(p.ends_at) FILTER (WHERE p.scope <> 'account'),
        coalesce(array_agg(p.name::text) FILTER (WHERE p.scope = 'type'), '{}'),
        coalesce(array_agg(p.name::text) FILTER (WHERE p.scope = 'workspace'), '{}')
    INTO paused_until, paused_types, paused_workspaces
    FROM notifications_pause p WHERE p.resumed_at IS NULL AND p.ends_at > t;
    RETURN least(
        -- Never negative row by row: over all of them `greatest` would make 0 of nothing at all.
        (SELECT min(greatest(0, extract(epoch FROM
            greatest(due.at, c.open_until, c.wait_until,
            CASE WHEN b.account_id IS NOT NULL THEN notifyops_private.token_at_v1(a.id, t) END, (
                SELECT max(p.ends_at) FROM notifications_pause p WHERE p.account_id = a.id AND p.resumed_at IS NULL)
            ) - t)))
        FROM notifications_provideraccount a
        LEFT JOIN notifications_circuit c ON c.account_id = a.id
        LEFT JOIN notifications_ratebucket b ON b.account_id = a.id
        CROSS JOIN generate_series(0, 47) AS n
        CROSS JOIN LATERAL (
            SELECT i.next_attempt_at AS at FROM notifications_intent i
            WHERE i.account_id = a.id AND i.lane = n AND i.next_attempt_at IS NOT NULL
              AND i.type <> ALL (paused_types) AND i.workspace <> ALL (paused_workspaces)
            ORDER BY i.next_attempt_at LIMIT 1
        ) due
        WHERE a.id = ANY (accounts) AND a.enabled AND (c.open_until IS NULL OR c.open_until < 'infinity')),
        extract(epoch FROM paused_until - t));
END $$;

-- Locks and returns the due intents that a loop with `room` free places should work on next.
--
-- `accounts` are those that the caller's host has an adapter and a secret for. Fair by lanes: every open one × lane with something due gets a share, higher priority classes first, with every
-- eighth place for the lower ones; `full_lanes` (account × 64 + lane) are left out because they already use all that
-- one lane may use of the loop. A closed account's backlog is never looked at. Rows whose lease ran out come back
-- too, in state `sending`. The caller appends their entries in the same transaction: the locks are the claim.
--
-- Measured on PostgreSQL 18.6: the whole call with nothing due stays under 0.3 ms for one account.
CREATE FUNCTION notifyops_private.pick_v1(room integer, accounts bigint[], full_lanes bigint[] DEFAULT '{}')
RETURNS TABLE (
    id bigint, notification_id text, key_suffix text, report_id text, type text, channel text, workspace text,
    account_id bigint, lane integer, state text, seq integer, generation integer, fence integer, attempt_count integer,
    failure_count integer, failure_limit integer, in_flight_count integer, known text, manual boolean,
    ambiguous boolean, window_left_s double precision, expires_in_s double precision, blocked text, erased boolean,
    recipient text, data text, locale text, body bytea, body_sha256 bytea, probe boolean, body_mode text
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
#variable_conflict use_column
DECLARE
    t timestamptz := notifyops_private.clock_v1();
    lanes bigint[];
    quotas integer[];
    spare integer := room;
    places integer;
    lower_lanes integer;
    class integer;
    in_class bigint[];
    probing bigint[];
BEGIN
    -- One probe of the claim's index per lane of each open account.
    SELECT coalesce(array_agg(a.id * 64 + n ORDER BY random()), '{}') INTO lanes
    FROM notifications_provideraccount a
    LEFT JOIN notifications_circuit c ON c.account_id = a.id
    CROSS JOIN generate_series(0, 47) AS n
    CROSS JOIN LATERAL (
        SELECT FROM notifications_intent i
        WHERE i.account_id = a.id AND i.lane = n AND i.next_attempt_at <= t LIMIT 1
    ) due
    WHERE a.id = ANY (accounts) AND a.enabled AND (c.open_until IS NULL OR c.open_until <= t)
      AND (c.wait_until IS NULL OR c.wait_until <= t)
      AND NOT (a.id * 64 + n = ANY (full_lanes));
    IF lanes = '{}' OR room < 1 THEN
        RETURN;
    END IF;

    probing := '{}';
    IF EXISTS (SELECT FROM notifications_circuit c WHERE c.open_until IS NOT NULL) THEN
        -- A circuit that was open and has cooled down lets one probe through for all hosts: whoever gets this row
        -- lock closes it again for a while, and the probe's result decides.
        SELECT coalesce(array_agg(h.account_id), '{}') INTO probing FROM (
            SELECT c.account_id FROM notifications_circuit c
            WHERE c.open_until <= t AND c.account_id IN (SELECT l / 64 FROM unnest(lanes) AS l)
            FOR UPDATE SKIP LOCKED
        ) h;
        UPDATE notifications_circuit c SET open_until = t + interval '60 seconds' WHERE c.account_id = ANY (probing);
        -- Of a probing account one lane stays, for one row; of one that another host probes, none.
        SELECT coalesce(array_agg(k.l), '{}') INTO lanes FROM (
            SELECT l, row_number() OVER (PARTITION BY l / 64 ORDER BY random()) AS n, l / 64 AS account
            FROM unnest(lanes) AS l
        ) k LEFT JOIN notifications_circuit c ON c.account_id = k.account
        WHERE c.open_until IS NULL OR (k.account = ANY (probing) AND k.n = 1);
        IF lanes = '{}' THEN
            RETURN;
        END IF;
    END IF;

    quotas := array_fill(CASE WHEN cardinality(lanes) = 1 THEN room ELSE 0 END, ARRAY[cardinality(lanes)]);
    FOR class IN 0..2 LOOP
        EXIT WHEN cardinality(lanes) = 1;  -- the common case needs no sharing out
        SELECT count(*) FILTER (WHERE l % 64 >= (class + 1) * 16),
               array_agg(p ORDER BY p) FILTER (WHERE (l % 64) / 16 = class)
        INTO lower_lanes, in_class FROM unnest(lanes) WITH ORDINALITY AS u(l, p);
        CONTINUE WHEN in_class IS NULL;
        places := spare;
        IF lower_lanes > 0 THEN
            -- Every eighth place; where that is less than one place, one place in that share of the calls.
            places := spare - floor(spare / 8.0 + random() * 0.999)::int;
        END IF;
        spare := spare - places;
        FOR p IN 1..cardinality(in_class) LOOP
            quotas[in_class[p]] := places / cardinality(in_class)
                + CASE WHEN p <= places % cardinality(in_class) THEN 1 ELSE 0 END;
        END LOOP;
    END LOOP;

    RETURN QUERY
    WITH share AS MATERIALIZED (
        SELECT l / 64 AS account, (l % 64)::smallint AS lane,
            CASE WHEN l / 64 = ANY (probing) THEN 1 ELSE q END AS quota
        FROM unnest(lanes, quotas) AS u(l, q) WHERE q > 0
    ), due AS MATERIALIZED (
        SELECT d.* FROM share s CROSS JOIN LATERAL (
            SELECT i.* FROM notifications_intent i
            WHERE i.account_id = s.account AND i.lane = s.lane AND i.next_attempt_at <= t
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
         ORDER BY b.reason LIMIT 1),
        c.erased_at IS NOT NULL OR c.intent_id IS NULL,
        -- The wish is read again only where bytes must be made: the first time, or anew after a correction.
        CASE WHEN p.body IS NULL OR d.manual THEN c.recipient END, CASE WHEN p.body IS NULL OR d.manual THEN c.data::text END,
        c.locale::text, p.body, p.sha256, d.account_id = ANY (probing), p.site_mode::text
    -- LEFT JOINs: a row without content must be picked and settled, or it would stand at the head for ever.
    FROM due d
    LEFT JOIN LATERAL (SELECT w.* FROM notifications_content w WHERE w.intent_id = d.id LIMIT 1) c ON true
    -- LIMIT keeps it a look-up by primary key: vacuumed while empty, the table was read whole at every claim.
    LEFT JOIN LATERAL (SELECT w.body, w.sha256, w.site_mode FROM notifications_prepared w
                       WHERE w.intent_id = d.id AND w.generation = d.generation LIMIT 1) p ON true;
END $$;

-- When does the next row of these accounts come due? Seconds, never negative; NULL when nothing is scheduled.
CREATE FUNCTION notifyops_private.next_due_v1(accounts bigint[]) RETURNS double precision
LANGUAGE plpgsql SECURITY DEFINER STABLE SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
DECLARE
    t timestamptz := notifyops_private.clock_v1();
BEGIN
    RETURN (
        SELECT greatest(0, min(extract(epoch FROM greatest(due.at, c.open_until, c.wait_until) - t)))
        FROM notifications_provideraccount a
        LEFT JOIN notifications_circuit c ON c.account_id = a.id
        CROSS JOIN generate_series(0, 47) AS n
        CROSS JOIN LATERAL (
            SELECT i.next_attempt_at AS at FROM notifications_intent i
            WHERE i.account_id = a.id AND i.lane = n AND i.next_attempt_at IS NOT NULL
            ORDER BY i.next_attempt_at LIMIT 1
        ) due
        WHERE a.id = ANY (accounts) AND a.enabled AND (c.open_until IS NULL OR c.open_until < 'infinity')
    );
END $$;

-- Rates: one token bucket per account, shared by all hosts, by the database's clock.
--
-- A bucket exists where an account has a limit of its own, where its provider stated one, or for a moment after its
-- circuit closed. pick_v1 locks it, the same transaction spends one token a lease, and so no two claims share one.

-- How many calls a second an account may get now; NULL: as many as there are. Of what the provider states a tenth is
-- left: its window begins when it likes, our calls arrive in no even rhythm, and look-ups draw on the same limit. After
-- a circuit closed the rate begins at 4 a second and doubles each second, for 8 seconds: a provider that has just come
-- back gets no herd.
CREATE FUNCTION notifyops_private.rate_v1(
    configured double precision, learned double precision, ramp_since timestamptz, t timestamptz
) RETURNS double precision LANGUAGE sql IMMUTABLE
RETURN least(configured, learned * 0.9,
    -- Before its own beginning, the clock was put back: no ramp for an hour.
    CASE WHEN extract(epoch FROM t - ramp_since)::double precision BETWEEN -1 AND 8
        THEN power(2::double precision, 2 + extract(epoch FROM t - ramp_since)::double precision) END);

-- How many tokens there are now. At most a tenth of a second's worth gathers, or one: with a tenth of the rate left, no
-- window of a second sees more than the provider allows.
CREATE FUNCTION notifyops_private.tokens_v1(
    tokens double precision, filled_at timestamptz, per_s double precision, t timestamptz
) RETURNS double precision LANGUAGE sql IMMUTABLE
-- Filled in the future: the clock was put back, and the bucket must not stay empty until it has caught up.
RETURN CASE WHEN extract(epoch FROM filled_at - t) > 5 THEN 1
    ELSE least(greatest(1, per_s / 10),
        tokens + per_s * greatest(0, extract(epoch FROM t - filled_at))::double precision) END;

-- When the account's next token is due; NULL where it has no rate now.
CREATE FUNCTION notifyops_private.token_at_v1(account bigint, t timestamptz) RETURNS timestamptz
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
BEGIN
    RETURN (SELECT t + make_interval(secs => greatest(0, 1 - notifyops_private.tokens_v1(
            b.tokens, b.filled_at, r.per_s, t)) / r.per_s)
        FROM notifications_ratebucket b JOIN notifications_provideraccount a ON a.id = b.account_id
        CROSS JOIN LATERAL (
            SELECT notifyops_private.rate_v1(a.rate_per_s, b.learned_per_s, b.ramp_since, t) AS per_s
        ) r WHERE b.account_id = account);
END $$;

-- Take so many tokens of each account; a negative count gives back, up to a full bucket. Whoever did not lock a bucket
-- before passes over one that a claim holds: a token is worth less than a recorder that waits for a stalled host. No
-- more than a second's worth is owed, and no call can starve an account for longer.
CREATE FUNCTION notifyops_private.spend_v1(accounts bigint[], counts integer[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
DECLARE
    t timestamptz := notifyops_private.clock_v1();
BEGIN
    UPDATE notifications_ratebucket b SET
        tokens = greatest(-greatest(1, r.per_s), least(greatest(1, r.per_s / 10),
            notifyops_private.tokens_v1(b.tokens, b.filled_at, r.per_s, t) - r.n)),
        filled_at = CASE WHEN b.filled_at > t + interval '5 s' THEN t ELSE greatest(b.filled_at, t) END
    FROM (
        SELECT l.account_id, s.n, notifyops_private.rate_v1(a.rate_per_s, l.learned_per_s, l.ramp_since, t) AS per_s
        FROM unnest(accounts, counts) AS s(account, n)
        JOIN notifications_provideraccount a ON a.id = s.account
        JOIN notifications_ratebucket l ON l.account_id = s.account
        FOR UPDATE OF l SKIP LOCKED
    ) r WHERE b.account_id = r.account_id AND r.per_s IS NOT NULL;
END $$;

-- Keep what the provider says of its limit (NULL: it said nothing new) and of what is left of it. False: the bucket is
-- in a claim's hands, and nothing was kept.
CREATE FUNCTION notifyops_private.learn_v1(account bigint, per_s double precision, remaining integer) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
DECLARE
    t timestamptz := notifyops_private.clock_v1();
BEGIN
    PERFORM FROM notifications_ratebucket b WHERE b.account_id = account FOR UPDATE SKIP LOCKED;
    IF FOUND THEN
        UPDATE notifications_ratebucket b SET
            tokens = least(coalesce(notifyops_private.tokens_v1(b.tokens, b.filled_at, notifyops_private.rate_v1(
                a.rate_per_s, b.learned_per_s, b.ramp_since, t), t), 1), remaining),
            filled_at = CASE WHEN b.filled_at > t + interval '5 s' THEN t ELSE greatest(b.filled_at, t) END,
            learned_per_s = coalesce(per_s, b.learned_per_s),
            learned_at = CASE WHEN per_s IS NULL THEN b.learned_at ELSE t END
        FROM notifications_provideraccount a WHERE b.account_id = account AND a.id = account;
        RETURN true;
    END IF;
    INSERT INTO notifications_ratebucket (account_id, tokens, filled_at, learned_per_s, learned_at)
    SELECT account, least(1, remaining), t, per_s, t WHERE pg_try_advisory_xact_lock(7804, account::integer)
    ON CONFLICT DO NOTHING;
    RETURN FOUND;
END $$;

-- Let the account's rate begin low again: its circuit has closed.
CREATE FUNCTION notifyops_private.ramp_v1(account bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
DECLARE
    t timestamptz := notifyops_private.clock_v1();
BEGIN
    -- Whoever makes a bucket holds this lock, so that no claim waits for it (with_tokens_v1).
    PERFORM pg_advisory_xact_lock(7804, account::integer);
    INSERT INTO notifications_ratebucket AS b (account_id, tokens, filled_at, ramp_since) VALUES (account, 1, t, t)
    ON CONFLICT (account_id) DO UPDATE SET tokens = least(b.tokens, 1), filled_at = t, ramp_since = t;
END $$;

-- A person closes an account's circuit; give what it was, or no row where there was nothing to close.
CREATE FUNCTION notifyops_private.close_circuit_v1(account bigint)
RETURNS TABLE (reason text, code text, open_until timestamptz, wait_until timestamptz)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
#variable_conflict use_column
BEGIN
    -- Who says so is kept with the account's configuration (ConfigRevision).
    PERFORM person_only_v1('closes a circuit', session_user);
    RETURN QUERY SELECT c.reason::text, c.code::text, c.open_until, c.wait_until FROM notifications_circuit c
    WHERE c.account_id = account AND (c.open_until IS NOT NULL OR c.wait_until > notifyops_private.clock_v1()
        OR c.config_failures > 0) FOR UPDATE;
    IF FOUND THEN
        UPDATE notifications_circuit c SET open_until = NULL, wait_until = NULL, reason = NULL, code = NULL,
            config_failures = 0, openings = 0, recovered_at = notifyops_private.clock_v1(),
            changed_at = notifyops_private.clock_v1()
        WHERE c.account_id = account;
        PERFORM notifyops_private.ramp_v1(account);
    END IF;
END $$;

-- Lock the buckets of these lanes' accounts for the caller's transaction. Gives the lanes that may be claimed from, and
-- of the accounts with a rate (`capped`) how many whole tokens there are; a bucket that another claim holds gives none.
CREATE FUNCTION notifyops_private.with_tokens_v1(INOUT lanes bigint[], t timestamptz, OUT capped bigint[], OUT caps integer[])
LANGUAGE plpgsql SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
#variable_conflict use_column
DECLARE
    given CONSTANT bigint[] := lanes;
    rated bigint[];
BEGIN
    -- A host that stands still in the middle of its claim would stop the account for a minute.
    PERFORM set_config('idle_in_transaction_session_timeout', '15s', true);
    SELECT coalesce(array_agg(a.id), '{}') INTO rated FROM notifications_provideraccount a
    LEFT JOIN notifications_ratebucket b ON b.account_id = a.id
    WHERE a.id IN (SELECT l / 64 FROM unnest(given) AS l)
      AND notifyops_private.rate_v1(a.rate_per_s, b.learned_per_s, b.ramp_since, t) IS NOT NULL;
    -- The first claim makes the bucket. Another one at the same moment must not wait for it.
    INSERT INTO notifications_ratebucket (account_id, tokens, filled_at)
    SELECT r, 1, t FROM unnest(rated) AS r
    WHERE NOT EXISTS (SELECT FROM notifications_ratebucket b WHERE b.account_id = r)
      AND pg_try_advisory_xact_lock(7804, r::integer) ON CONFLICT DO NOTHING;
    SELECT coalesce(array_agg(o.account_id), '{}'), coalesce(array_agg(floor(o.tokens)::integer), '{}')
    INTO capped, caps FROM (
        SELECT b.account_id, notifyops_private.tokens_v1(b.tokens, b.filled_at, notifyops_private.rate_v1(
            a.rate_per_s, b.learned_per_s, b.ramp_since, t), t) AS tokens
        FROM notifications_ratebucket b JOIN notifications_provideraccount a ON a.id = b.account_id
        WHERE b.account_id = ANY (rated) FOR UPDATE OF b SKIP LOCKED
    ) o WHERE o.tokens >= 1;
    lanes := ARRAY(SELECT l FROM unnest(given) AS l WHERE NOT l / 64 = ANY (rated) OR l / 64 = ANY (capped));
END $$;

-- Share `room` places out over lanes (account × 64 + lane), which come in random order: higher priority classes first,
-- every eighth place for the lower ones.
CREATE FUNCTION notifyops_private.share_v1(lanes bigint[], room integer) RETURNS integer[]
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    quotas integer[] := array_fill(0, ARRAY[cardinality(lanes)]);
    spare integer := room;
    places integer;
    lower_lanes integer;
    class integer;
    in_class bigint[];
BEGIN
    FOR class IN 0..2 LOOP
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
    RETURN quotas;
END $$;

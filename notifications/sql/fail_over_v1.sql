-- Failover: what waits for an account that is not called goes over to the account that was named for it, as a new
-- generation under a new key, and only where it is proven that nothing of it was taken.

-- Since when a circuit is open. A trigger, since it is opened, probed and closed by many statements.
CREATE FUNCTION notifyops_private.note_opening_v1() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    NEW.opened_at := CASE WHEN NEW.open_until IS NULL THEN NULL
        WHEN TG_OP = 'UPDATE' AND OLD.open_until IS NOT NULL THEN coalesce(OLD.opened_at, notifyops_private.clock_v1())
        ELSE notifyops_private.clock_v1() END;
    RETURN NEW;
END $$;
CREATE TRIGGER opening BEFORE INSERT OR UPDATE ON notifyops_private.notifications_circuit
    FOR EACH ROW EXECUTE FUNCTION notifyops_private.note_opening_v1();

-- Takes over what may be taken over, `most` at a time, and gives what became of each: moved, or the door's word.
--
-- `usable` are the accounts that the caller's host has an adapter and a secret for: over to another one nothing goes.
-- `these` are notifications whose results said just now that their account refused them; without it, what is due and
-- waits behind an open circuit, oldest first in each lane. Whoever has one locked decides on it: it is passed over.
CREATE FUNCTION notifyops_private.fail_over_v1(
    usable bigint[], most integer, worker_ text, these bigint[] DEFAULT NULL
) RETURNS TABLE (intent_id bigint, refused text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
#variable_conflict use_column
DECLARE
    t timestamptz := clock_v1();
    entries jsonb;
BEGIN
    -- What a restored database does not remember may be out by either account: for a day nothing goes over.
    IF EXISTS (SELECT FROM notifications_recovery r WHERE r.started_at > t - interval '1 day') THEN
        RETURN;
    END IF;
    WITH way AS MATERIALIZED (
        SELECT a.id, c.open_until > t AND c.opened_at <= t - make_interval(secs => a.fallback_after_s) AS is_shut,
            jsonb_build_object('from', a.name, 'to', f.name, 'from_id', a.id, 'to_id', f.id,
                'why', CASE WHEN c.open_until IS NULL THEN 'refused' ELSE c.reason END) AS told
        FROM notifications_provideraccount a JOIN notifications_provideraccount f ON f.id = a.fallback_id
        LEFT JOIN notifications_circuit c ON c.account_id = a.id
        LEFT JOIN notifications_circuit o ON o.account_id = f.id
        -- Said by the door of each as well: here of a whole backlog at once.
        WHERE f.id = ANY (usable) AND f.enabled AND o.open_until IS NULL AND NOT EXISTS (
            SELECT FROM notifications_pause p WHERE p.scope = 'account' AND p.account_id IN (a.id, f.id)
                AND p.resumed_at IS NULL AND p.ends_at > t)
    ), named AS MATERIALIZED (
        SELECT i.id, w.told FROM way w JOIN notifications_intent i ON i.account_id = w.id
        WHERE i.id = ANY (these) FOR NO KEY UPDATE OF i SKIP LOCKED
    ), waiting AS MATERIALIZED (
        SELECT d.id, w.told FROM way w CROSS JOIN generate_series(0, 47) AS n CROSS JOIN LATERAL (
            SELECT i.id FROM notifications_intent i
            WHERE i.account_id = w.id AND i.lane = n AND i.next_attempt_at <= t AND i.state IN ('pending', 'retry')
              AND i.first_ambiguous_at IS NULL AND stays_v1(i.id, w.told, t) IS NULL
            ORDER BY i.next_attempt_at, i.id LIMIT most FOR NO KEY UPDATE SKIP LOCKED
        ) d WHERE these IS NULL AND w.is_shut LIMIT most
    )
    SELECT jsonb_agg(jsonb_build_object('id', u.id, 'detail', u.told, 'known', 'not_sent', 'delay_s', 0))
    INTO entries
    FROM (SELECT * FROM named UNION ALL SELECT * FROM waiting) u;
    IF entries IS NOT NULL THEN
        RETURN QUERY SELECT a.intent_id, a.refused FROM append_v1('failed_over', entries, worker_) a;
    END IF;
END $$;

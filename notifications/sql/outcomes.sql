-- The outcomes feed: what became of the notifications, in the order of the log's ids. An id is taken before its
-- transaction commits, so a lower one may appear later: the feed ends at the *horizon*, below which nothing can.

-- One row. `horizon`: every transaction that took an id up to here has ended. `candidate`: the next horizon, once those
-- in `waits_for` have ended too.
CREATE TABLE notifyops_private.feed_horizon (
    id smallint PRIMARY KEY DEFAULT 1 CHECK (id = 1),
    horizon bigint NOT NULL DEFAULT 0,
    candidate bigint NOT NULL DEFAULT 0,
    waits_for text[] NOT NULL DEFAULT '{}',
    is_second boolean NOT NULL DEFAULT false,
    moved_at timestamptz NOT NULL DEFAULT notifyops_private.clock_v1()
);
INSERT INTO notifyops_private.feed_horizon DEFAULT VALUES;

-- The transactions that may hold ids of the log that nobody can see yet: to insert, each first takes this lock on the
-- log and keeps it until it ends. Unlike the oldest running transaction's id, this leaves out whoever only reads, waits
-- or works elsewhere; and it costs the door nothing.
CREATE FUNCTION notifyops_private.log_writers_v1(are_prepared boolean DEFAULT NULL) RETURNS text[]
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce(array_agg(DISTINCT l.virtualtransaction), '{}') FROM pg_locks l
    WHERE l.locktype = 'relation' AND l.mode = 'RowExclusiveLock' AND l.granted
      AND l.relation = 'notifyops_private.notifications_logentry'::regclass
      AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
      AND (are_prepared IS NULL OR (l.pid IS NULL) = are_prepared)
$$;

-- Moves the horizon on, as far as it can; gives where it stands. A chore, twice a second; safe to call at any time.
CREATE FUNCTION notifyops_private.advance_horizon_v1() RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
DECLARE
    h feed_horizon;
    before feed_horizon;
    newest bigint;
BEGIN
    SELECT * INTO h FROM feed_horizon FOR UPDATE SKIP LOCKED;
    IF h.id IS NULL THEN
        RETURN (SELECT f.horizon FROM feed_horizon f);  -- somebody else is moving it
    END IF;
    before := h;
    IF h.candidate > h.horizon THEN
        h.waits_for := ARRAY(SELECT unnest(h.waits_for) INTERSECT SELECT unnest(log_writers_v1()));
        -- One that is prepared for a two-phase commit has another name after a restart: look for those once more.
        IF h.waits_for = '{}' AND NOT h.is_second THEN
            h.is_second := true;
            h.waits_for := log_writers_v1(true);
        END IF;
        IF h.waits_for = '{}' THEN
            h.horizon := h.candidate;
        END IF;
    END IF;
    IF h.candidate <= h.horizon THEN
        -- First the newest id, then who may hold one up to it: in the other order one could slip in between.
        SELECT CASE WHEN s.is_called THEN s.last_value ELSE 0 END INTO newest FROM notifications_logentry_id_seq s;
        IF newest > h.horizon THEN
            h.candidate := newest;
            h.is_second := false;
            h.waits_for := log_writers_v1();
            IF h.waits_for = '{}' THEN
                h.horizon := newest;
            END IF;
        END IF;
    END IF;
    IF h IS DISTINCT FROM before THEN
        UPDATE feed_horizon f SET horizon = h.horizon, candidate = h.candidate, waits_for = h.waits_for,
            is_second = h.is_second, moved_at = clock_v1();
    END IF;
    RETURN h.horizon;
END $$;

-- The word for what an entry says to a producer, or NULL: most entries are the business of delivery alone.
CREATE FUNCTION notifyops_private.outcome_of_v1(kind text, from_state text, to_state text, detail jsonb) RETURNS text
LANGUAGE sql IMMUTABLE
RETURN CASE
    WHEN kind IN ('receipt', 'contradicted') AND detail ->> 'says' IN ('bounced', 'complained') THEN detail ->> 'says'
    -- What stops a newer generation is that the older one arrived.
    WHEN kind = 'contradicted' AND detail ->> 'says' = 'delivered' AND NOT detail ? 'second' THEN 'delivered'
    -- Good news moves nothing: where the case moved, it was for what else the receipt says, as a second message.
    WHEN kind = 'receipt' AND detail ->> 'says' = 'delivered' AND from_state = to_state THEN 'delivered'
    -- A lost answer that the word of the delivery settles: that word is the news.
    WHEN kind = 'settled' AND detail ->> 'says' = 'delivered' THEN 'delivered'
    WHEN from_state = to_state THEN NULL
    WHEN to_state IN ('accepted', 'needs_review', 'closed', 'cancelled') THEN to_state END;

-- How far one call may look: past `most` entries it stops, so that a workspace with few outcomes does not read the log.
CREATE FUNCTION notifyops_private.feed_window_v1(after bigint, most integer) RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
    SELECT max(w.id) FROM (
        SELECT l.id FROM notifications_logentry l
        WHERE l.id > $1 AND l.id <= (SELECT f.horizon FROM feed_horizon f) ORDER BY l.id LIMIT $2) w
$$;

-- `upto` NULL: to the horizon. `spaces` NULL: every workspace.
CREATE FUNCTION notifyops_private.outcomes_v1(after bigint, upto bigint, lim integer, spaces text[])
RETURNS TABLE ("position" bigint, notification_id text, workspace text, seq integer, outcome text, at timestamptz,
    report_id text, type text, state text, code text, reason_code text, generation integer, attempt integer,
    provider_message_id text, intent_id bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
    SELECT l.id, i.notification_id, i.workspace, l.seq,
        outcome_of_v1(l.kind, l.from_state, l.to_state, l.detail), l.at, i.report_id, i.type, l.to_state, l.code,
        l.reason_code, coalesce((l.detail ->> 'generation')::integer, l.generation), l.attempt, l.provider_message_id, i.id
    FROM notifications_logentry l JOIN notifications_intent i ON i.id = l.intent_id
    WHERE l.id > coalesce($1, 0)
      AND l.id <= least((SELECT f.horizon FROM feed_horizon f), $2)
      AND outcome_of_v1(l.kind, l.from_state, l.to_state, l.detail) IS NOT NULL
      AND ($4 IS NULL OR i.workspace = ANY ($4))
    ORDER BY l.id LIMIT least(greatest(coalesce($3, 100), 1), 1000)
$$;

CREATE FUNCTION notifyops.outcomes(after bigint DEFAULT 0, lim integer DEFAULT 100, space text DEFAULT NULL)
RETURNS TABLE ("position" bigint, notification_id text, workspace text, seq integer, outcome text, at timestamptz,
    report_id text, type text, state text, code text, reason_code text, generation integer, attempt integer,
    provider_message_id text, intent_id bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
    SELECT * FROM notifyops_private.outcomes_v1($1, NULL, $2, CASE WHEN $3 IS NOT NULL THEN ARRAY[$3] END)
$$;
COMMENT ON FUNCTION notifyops.outcomes(bigint, integer, text) IS
    'What became of notifications, in order: pass the last position that you kept as `after`. Up to 1,000 at a time.';

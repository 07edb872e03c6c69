-- After a restore. While a recovery is open, `site_trouble_v1` says so, and the loops claim nothing.
CREATE UNIQUE INDEX recovery_one_open ON notifyops_private.notifications_recovery ((true)) WHERE finished_at IS NULL;

CREATE OR REPLACE FUNCTION notifyops_private.site_trouble_v1(site_ text) RETURNS text
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
    SELECT CASE WHEN a.site IS NULL THEN 'not_adopted'
        WHEN a.site <> site_ THEN 'other_site'
        WHEN (a.system_identifier, a.database) <> (h.system_identifier, h.database) THEN 'copied'
        WHEN a.timeline <> h.timeline THEN 'restored'
        WHEN EXISTS (SELECT FROM notifications_recovery r WHERE r.finished_at IS NULL) THEN 'recovering' END
    FROM site_here_v1() h
    LEFT JOIN LATERAL (SELECT s.* FROM notifications_siteadoption s ORDER BY s.id DESC LIMIT 1) a ON true
$$;

-- Takes the database for the site where it is not the site's as it stands, and jumps far ahead with the intents'
-- numbers: those that were given out after the restored point travel in the tags of messages that are out, and a number
-- that was given twice would let one's receipt speak for the other. So with the log's: they are the positions of the
-- outcomes feed and the ids of its webhooks, and whoever reads it has passed those of the lost time already.
CREATE FUNCTION notifyops_private.adopt_restored_v1(site_ text, actor_ text, reason_ text) RETURNS void
LANGUAGE sql VOLATILE SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
    INSERT INTO notifications_siteadoption (site, system_identifier, timeline, database, actor, reason)
    SELECT site_, h.system_identifier, h.timeline, h.database, actor_, reason_ FROM site_here_v1() h
    WHERE coalesce(site_trouble_v1(site_), 'recovering') <> 'recovering';
    -- A thousand million: more than any installation owes in the days that a backup may be old.
    SELECT setval(s.name::regclass, nextval(s.name::regclass) + 1000000000)
    FROM (SELECT pg_get_serial_sequence(t.name, 'id') AS name FROM (VALUES
        ('notifyops_private.notifications_intent'), ('notifyops_private.notifications_logentry')) t(name)) s;
$$;

-- Refuses a login that speaks for no person: what these functions do is kept as somebody's decision, as `append_v1` asks.
CREATE FUNCTION notifyops_private.person_only_v1(deed text, actor_ text) RETURNS void
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM notifications_doorrole r WHERE r.role = session_user AND r.who = 'person')
       OR coalesce(btrim(actor_), '') = '' THEN
        RAISE EXCEPTION USING ERRCODE = 'NO403', MESSAGE = format('only a person %s, and role %s speaks for none or names '
            'none', deed, session_user), HINT = 'Run it as the role of the web processes; it names who runs it.';
    END IF;
END $$;

-- Lets receipts be looked at now: put off for up to a minute each time, while nobody could place them, they may be about
-- what the loops would send in the next second.
CREATE FUNCTION notifyops_private.hear_now_v1() RETURNS void
LANGUAGE sql VOLATILE SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
    UPDATE notifications_parkedreceipt p SET due_at = t.now
    FROM (SELECT clock_v1() AS now OFFSET 0) t WHERE p.due_at > t.now
$$;

-- Opens a recovery: whatever was sent since `since_` may be missing here. Gives its number; NULL where one is open.
CREATE FUNCTION notifyops_private.recover_v1(site_ text, since_ timestamptz, actor_ text, reason_ text) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
DECLARE
    opened bigint;
BEGIN
    PERFORM person_only_v1('opens a recovery', actor_);
    INSERT INTO notifications_recovery (since, started_at, actor, reason)
    -- A time ahead would let the keys of what was forgotten protect for longer than they do.
    VALUES (least(since_, clock_v1()), clock_v1(), actor_, reason_)
    ON CONFLICT DO NOTHING RETURNING id INTO opened;
    IF opened IS NOT NULL THEN
        PERFORM adopt_restored_v1(site_, actor_, reason_);
        PERFORM hear_now_v1();
    END IF;
    RETURN opened;
END $$;

-- Ends the open recovery as it stands, or does without one where the database is a copy or was restored. What is held
-- already stays held until the provider has answered, or a person has decided. Gives whether there was anything to waive.
CREATE FUNCTION notifyops_private.waive_recovery_v1(site_ text, actor_ text, reason_ text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
DECLARE
    t timestamptz := clock_v1();
BEGIN
    PERFORM person_only_v1('waives a recovery', actor_);
    UPDATE notifications_recovery SET finished_at = t, waived_by = actor_, waive_reason = reason_
    WHERE finished_at IS NULL;
    IF NOT FOUND THEN
        IF coalesce(site_trouble_v1(site_), '') NOT IN ('copied', 'restored') THEN
            RETURN false;
        END IF;
        INSERT INTO notifications_recovery (since, started_at, actor, reason, finished_at, waived_by, waive_reason)
        VALUES (t, t, actor_, reason_, t, actor_, reason_);
    END IF;
    PERFORM adopt_restored_v1(site_, actor_, reason_);
    PERFORM hear_now_v1();
    RETURN true;
END $$;

-- Ends this recovery where it may end, and gives how many it held; NULL: not yet. The chores cannot end it otherwise.
--
-- Asked once is enough: without a "not found" nothing of it goes out, and a person sees the rest. Cases that were in
-- review as well: what a person approves or retries may be out already. That it was asked is read from the log, whose
-- entries stay and name who wrote them, and not from the worker's own notes. And each list that is of use is read, or
-- cannot be read now, as it alone shows later generations; of one that does not end, the door keeps back what it may show.
CREATE FUNCTION notifyops_private.finish_recovery_v1(recovery bigint) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
DECLARE
    t timestamptz := clock_v1();
    held integer;
BEGIN
    UPDATE notifications_recovery r SET finished_at = t
    WHERE r.id = recovery AND r.marked_at IS NOT NULL AND r.finished_at IS NULL AND NOT EXISTS (
        SELECT FROM notifications_question q JOIN notifications_intent i ON i.id = q.intent_id
        WHERE q.about = 'restore' AND q.asked_at IS NULL AND i.state = 'needs_review')
      AND (r.started_at <= t - interval '30 minutes' OR NOT EXISTS (
        SELECT FROM notifications_question q
        LEFT JOIN notifications_recoverylist l ON l.recovery_id = r.id AND l.account_id = q.account_id
        WHERE q.about = 'restore' AND l.done_at IS NULL AND l.code IS NULL))
      -- Last, as it looks at each case.
      AND NOT EXISTS (
        SELECT FROM notifications_intent i
        WHERE i.state = 'needs_review' AND i.created_at <= r.started_at AND i.review_since <= r.marked_at
          AND NOT EXISTS (
            SELECT FROM notifications_logentry l WHERE l.intent_id = i.id AND l.month = i.month
                AND l.kind = 'evidence' AND l.at >= r.started_at))
    RETURNING r.marked_count INTO held;
    IF held IS NOT NULL THEN
        PERFORM hear_now_v1();
    END IF;
    RETURN held;
END $$;

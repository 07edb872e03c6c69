-- Whether a person has ordered exactly these entries in bulk: each is on the frozen list of a run that is under way,
-- in the version that was planned, not carried out yet, with the reason that the person gave. Only then may a worker
-- write them in that person's name: who has a worker's password can close or retry nothing that nobody ordered.
CREATE OR REPLACE FUNCTION notifyops_private.ordered_v1(kind_ text, entries jsonb, person text) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
    SELECT EXISTS (SELECT FROM notifications_doorrole r WHERE r.role = session_user AND r.who = 'worker')
    AND NOT EXISTS (
        SELECT FROM jsonb_to_recordset(entries) AS e(id bigint, seq integer, reason_code text, detail jsonb)
        LEFT JOIN reviews_bulkrun b ON b.id = (e.detail ->> 'bulk')::bigint AND b.actor = person
            AND b.reason_code = e.reason_code AND kind_ = CASE b.verb WHEN 'retry' THEN 'retried' WHEN 'close' THEN 'closed' END
        LEFT JOIN notifications_run r ON r.id = b.run_id AND r.state = 'running'
        LEFT JOIN reviews_bulkitem t ON t.bulk_id = b.id AND t.intent_id = e.id AND t.seq = e.seq AND t.outcome = 'left'
        WHERE t.id IS NULL OR r.id IS NULL)
$$;

-- The record of decisions: a worker adds to it only what belongs to such an order and is being carried out now. What was
-- decided so is taken by nobody any more; freed here, since a worker may not touch who has taken what.
CREATE FUNCTION notifyops_private.review_ordered_v1() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM notifications_doorrole r WHERE r.role = session_user AND r.who = 'person')
       AND NOT EXISTS (SELECT FROM reviews_bulkrun b JOIN reviews_bulkitem t ON t.bulk_id = b.id
                       JOIN notifications_run r ON r.id = b.run_id
                       WHERE b.id = NEW.bulk_id AND t.intent_id = NEW.intent_id AND r.state = 'running'
                         AND t.outcome = 'left' AND t.seq = NEW.seq_seen AND b.reason_code = NEW.reason_code
                         AND b.verb = NEW.action AND b.actor = NEW.actor) THEN
        RAISE EXCEPTION USING ERRCODE = 'NO403',
            MESSAGE = 'a worker records only decisions that a person ordered in bulk';
    END IF;
    IF NEW.bulk_id IS NOT NULL AND NEW.outcome = 'done' THEN
        DELETE FROM reviews_hold h WHERE h.intent_id = NEW.intent_id;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER ordered BEFORE INSERT ON notifyops_private.reviews_review
    FOR EACH ROW EXECUTE FUNCTION notifyops_private.review_ordered_v1();
ALTER TABLE notifyops_private.reviews_review ENABLE ALWAYS TRIGGER ordered;

-- What a person stopped, or what ended, no worker lets go on; nor does it unsay a wish that it was to obey.
CREATE FUNCTION notifyops_private.guard_bulk_run_v1() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM notifications_doorrole r WHERE r.role = session_user AND r.who = 'person')
       AND ((NEW.id, NEW.kind, NEW.key, NEW.started_by) IS DISTINCT FROM (OLD.id, OLD.kind, OLD.key, OLD.started_by)
            OR (OLD.state NOT IN ('running', 'interrupted') AND NEW.state <> OLD.state)
            OR (OLD.wish <> '' AND NEW.wish <> OLD.wish AND NEW.state IN ('running', 'interrupted'))) THEN
        RAISE EXCEPTION USING ERRCODE = 'NO403',
            MESSAGE = format('run %s: only a person lets it go on', OLD.id),
            HINT = 'manage.py review bulk resume, or its page in the console';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER steered BEFORE UPDATE ON notifyops_private.notifications_run
    FOR EACH ROW WHEN (OLD.kind = 'bulk') EXECUTE FUNCTION notifyops_private.guard_bulk_run_v1();
ALTER TABLE notifyops_private.notifications_run ENABLE ALWAYS TRIGGER steered;

-- The frozen list: a worker notes what became of a case, and nobody changes which cases these are, or as of when.
CREATE FUNCTION notifyops_private.guard_bulkitem_v1() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF (NEW.id, NEW.bulk_id, NEW.place, NEW.intent_id, NEW.seq, NEW.risk)
        IS DISTINCT FROM (OLD.id, OLD.bulk_id, OLD.place, OLD.intent_id, OLD.seq, OLD.risk)
       OR OLD.outcome NOT IN ('left', 'released') OR (OLD.outcome = 'released' AND NEW.outcome = 'left') THEN
        RAISE EXCEPTION USING ERRCODE = 'NO403', MESSAGE = format('case %s of a bulk run is frozen', OLD.id);
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER frozen BEFORE UPDATE ON notifyops_private.reviews_bulkitem
    FOR EACH ROW EXECUTE FUNCTION notifyops_private.guard_bulkitem_v1();
ALTER TABLE notifyops_private.reviews_bulkitem ENABLE ALWAYS TRIGGER frozen;

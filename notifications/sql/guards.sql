-- What the log and its kin refuse, whoever asks. ENABLE ALWAYS: also a superuser in replica mode is refused.
CREATE FUNCTION notifyops_private.refuse_change_v1() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE EXCEPTION USING
        ERRCODE = 'NO403',
        MESSAGE = format('%s on %s is refused: this table only grows', TG_OP, TG_TABLE_NAME),
        HINT = 'Append a new entry that corrects the old one.';
END $$;

-- An intent changes only together with the log entry that says why. The entry must already be there, be the next one,
-- and carry the new state and hash: that makes the log the only way to move state, for its owner too. Once a statement,
-- over all its rows: a look-up for each row costs a quarter of a delivery.
CREATE FUNCTION notifyops_private.guard_intent_v1() RETURNS trigger
-- The two transition tables have no index but a hash: looping over them took a fifth of an append of 100.
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_hashjoin = on SET enable_nestloop = off AS $$
DECLARE
    wrong bigint;
    renamed boolean;
BEGIN
    -- LIMIT keeps the look-up one by primary key: joined freely, the planner may read the whole log.
    SELECT p.id, p.renamed INTO wrong, renamed FROM (
        SELECT n.id, n.month, n.seq, n.head, n.state, o.head AS prev, o.state AS from_state,
            (n.notification_id, n.key_suffix, n.report_id, n.type, n.channel, n.workspace, n.month, n.created_at,
             n.created_by, n.actor, n.lane & 15)
            IS DISTINCT FROM
            (o.notification_id, o.key_suffix, o.report_id, o.type, o.channel, o.workspace, o.month, o.created_at,
             o.created_by, o.actor, o.lane & 15) AS renamed,
            n.seq <> o.seq + 1 OR n.fence < o.fence AS jumped, n.account_id <> o.account_id AS moved
        FROM after_move n LEFT JOIN before_move o ON o.id = n.id
    ) p LEFT JOIN LATERAL (
        SELECT l.hash FROM notifyops_private.notifications_logentry l
        WHERE l.intent_id = p.id AND l.seq = p.seq AND l.month = p.month
          AND l.hash = p.head AND l.prev = p.prev AND l.from_state = p.from_state AND l.to_state = p.state
          -- Its account changes by the one entry that says so.
          AND (NOT p.moved OR l.kind = 'failed_over') LIMIT 1
    ) entry ON true
    WHERE p.renamed OR p.jumped OR entry.hash IS NULL LIMIT 1;
    IF renamed THEN
        RAISE EXCEPTION USING ERRCODE = 'NO403', MESSAGE = format('intent %s: its identity is frozen', wrong);
    END IF;
    IF wrong IS NOT NULL THEN
        RAISE EXCEPTION USING
            ERRCODE = 'NO403',
            MESSAGE = format('intent %s: state moves only by appending to the log', wrong),
            HINT = 'Use the console, manage.py review, or notifyops.cancel.';
    END IF;
    RETURN NULL;
END $$;

-- The erasable tables: personal data may be emptied, never changed.
CREATE FUNCTION notifyops_private.guard_content_v1() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NEW.recipient IS NULL AND NEW.data IS NULL AND NEW.salt IS NULL AND NEW.erased_at IS NOT NULL
       AND NEW.attachments IS NULL
       AND NEW.intent_id = OLD.intent_id AND NEW.commitment IN (OLD.commitment, '') THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION USING ERRCODE = 'NO403', MESSAGE = format('content of intent %s is frozen', OLD.intent_id);
END $$;

CREATE FUNCTION notifyops_private.guard_prepared_v1() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NEW.body IS NULL AND NEW.subject IS NULL
       AND (NEW.intent_id, NEW.generation, NEW.sha256) = (OLD.intent_id, OLD.generation, OLD.sha256) THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION USING ERRCODE = 'NO403', MESSAGE = format('prepared bytes of intent %s are frozen', OLD.intent_id);
END $$;

-- Keys are taken for ever. What a wish is known by may be emptied with its content: it is made of the address as well.
CREATE FUNCTION notifyops_private.guard_key_v1() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND NEW.fingerprint = '' AND to_jsonb(NEW) - 'fingerprint' = to_jsonb(OLD) - 'fingerprint'
       AND EXISTS (SELECT FROM notifications_content c WHERE c.intent_id = OLD.intent_id AND c.erased_at IS NOT NULL) THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION USING ERRCODE = 'NO403',
        MESSAGE = format('%s on notifications_intentkey is refused: this table only grows', TG_OP),
        HINT = 'A key is taken for ever; what it was known by is emptied when its content is erased.';
END $$;

-- Puts the refusing triggers on one table that only grows. TRUNCATE triggers are not inherited by partitions.
CREATE FUNCTION notifyops_private.make_growing_v1(target regclass, with_row_trigger boolean DEFAULT true) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF with_row_trigger THEN
        EXECUTE format('CREATE TRIGGER only_grows BEFORE UPDATE OR DELETE ON %s
                        FOR EACH ROW EXECUTE FUNCTION notifyops_private.refuse_change_v1()', target);
    END IF;
    EXECUTE format('CREATE TRIGGER no_truncate BEFORE TRUNCATE ON %s
                    FOR EACH STATEMENT EXECUTE FUNCTION notifyops_private.refuse_change_v1()', target);
    EXECUTE format('ALTER TABLE %s ENABLE ALWAYS TRIGGER only_grows', target);
    EXECUTE format('ALTER TABLE %s ENABLE ALWAYS TRIGGER no_truncate', target);
END $$;

SELECT notifyops_private.make_growing_v1('notifyops_private.notifications_logentry');
SELECT notifyops_private.make_growing_v1('notifyops_private.notifications_logentry_default', false);
SELECT notifyops_private.make_growing_v1('notifyops_private.notifications_intentkey');
CREATE OR REPLACE TRIGGER only_grows BEFORE UPDATE OR DELETE ON notifyops_private.notifications_intentkey
    FOR EACH ROW EXECUTE FUNCTION notifyops_private.guard_key_v1();
ALTER TABLE notifyops_private.notifications_intentkey ENABLE ALWAYS TRIGGER only_grows;
SELECT notifyops_private.make_growing_v1('notifyops_private.notifications_configrevision');

DO $$
DECLARE guarded text[] := ARRAY['intent', 'content', 'prepared'];
        name text;
BEGIN
    FOREACH name IN ARRAY guarded LOOP
        IF name = 'intent' THEN
            CREATE TRIGGER guarded AFTER UPDATE ON notifyops_private.notifications_intent
                REFERENCING OLD TABLE AS before_move NEW TABLE AS after_move
                FOR EACH STATEMENT EXECUTE FUNCTION notifyops_private.guard_intent_v1();
        ELSE
            EXECUTE format('CREATE TRIGGER guarded BEFORE UPDATE ON notifyops_private.notifications_%s
                            FOR EACH ROW EXECUTE FUNCTION notifyops_private.guard_%s_v1()', name, name);
        END IF;
        EXECUTE format('CREATE TRIGGER never_deleted BEFORE DELETE ON notifyops_private.notifications_%s
                        FOR EACH ROW EXECUTE FUNCTION notifyops_private.refuse_change_v1()', name);
        EXECUTE format('CREATE TRIGGER no_truncate BEFORE TRUNCATE ON notifyops_private.notifications_%s
                        FOR EACH STATEMENT EXECUTE FUNCTION notifyops_private.refuse_change_v1()', name);
        EXECUTE format('ALTER TABLE notifyops_private.notifications_%s ENABLE ALWAYS TRIGGER guarded', name);
        EXECUTE format('ALTER TABLE notifyops_private.notifications_%s ENABLE ALWAYS TRIGGER never_deleted', name);
        EXECUTE format('ALTER TABLE notifyops_private.notifications_%s ENABLE ALWAYS TRIGGER no_truncate', name);
    END LOOP;
END $$;

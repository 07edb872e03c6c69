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
-- and carry the new state and hash: that makes the log the only way to move state, for its owner too.
CREATE FUNCTION notifyops_private.guard_intent_v1() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF (NEW.id, NEW.notification_id, NEW.key_suffix, NEW.report_id, NEW.type, NEW.channel, NEW.workspace, NEW.month,
        NEW.created_at, NEW.created_by, NEW.actor, NEW.lane)
       IS DISTINCT FROM
       (OLD.id, OLD.notification_id, OLD.key_suffix, OLD.report_id, OLD.type, OLD.channel, OLD.workspace, OLD.month,
        OLD.created_at, OLD.created_by, OLD.actor, OLD.lane) THEN
        RAISE EXCEPTION USING ERRCODE = 'NO403', MESSAGE = format('intent %s: its identity is frozen', OLD.id);
    END IF;
    IF NEW.seq <> OLD.seq + 1 OR NEW.fence < OLD.fence OR NOT EXISTS (
        SELECT FROM notifyops_private.notifications_logentry l
        WHERE l.intent_id = NEW.id AND l.seq = NEW.seq AND l.month = NEW.month
          AND l.hash = NEW.head AND l.prev = OLD.head AND l.from_state = OLD.state AND l.to_state = NEW.state
    ) THEN
        RAISE EXCEPTION USING
            ERRCODE = 'NO403',
            MESSAGE = format('intent %s: state moves only by appending to the log', OLD.id),
            HINT = 'Use the console, manage.py review, or notifyops.cancel.';
    END IF;
    RETURN NEW;
END $$;

-- The erasable tables: personal data may be emptied, never changed.
CREATE FUNCTION notifyops_private.guard_content_v1() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NEW.recipient IS NULL AND NEW.data IS NULL AND NEW.erased_at IS NOT NULL AND NEW.intent_id = OLD.intent_id THEN
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
SELECT notifyops_private.make_growing_v1('notifyops_private.notifications_configrevision');

DO $$
DECLARE guarded text[] := ARRAY['intent', 'content', 'prepared'];
        name text;
BEGIN
    FOREACH name IN ARRAY guarded LOOP
        EXECUTE format('CREATE TRIGGER guarded BEFORE UPDATE ON notifyops_private.notifications_%s
                        FOR EACH ROW EXECUTE FUNCTION notifyops_private.guard_%s_v1()', name, name);
        EXECUTE format('CREATE TRIGGER never_deleted BEFORE DELETE ON notifyops_private.notifications_%s
                        FOR EACH ROW EXECUTE FUNCTION notifyops_private.refuse_change_v1()', name);
        EXECUTE format('CREATE TRIGGER no_truncate BEFORE TRUNCATE ON notifyops_private.notifications_%s
                        FOR EACH STATEMENT EXECUTE FUNCTION notifyops_private.refuse_change_v1()', name);
        EXECUTE format('ALTER TABLE notifyops_private.notifications_%s ENABLE ALWAYS TRIGGER guarded', name);
        EXECUTE format('ALTER TABLE notifyops_private.notifications_%s ENABLE ALWAYS TRIGGER never_deleted', name);
        EXECUTE format('ALTER TABLE notifyops_private.notifications_%s ENABLE ALWAYS TRIGGER no_truncate', name);
    END LOOP;
END $$;

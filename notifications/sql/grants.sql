-- The whole truth about who may do what. Run by the owner after every migrate; idempotent; tolerates missing tables.
REVOKE ALL ON SCHEMA notifyops, notifyops_private FROM PUBLIC;
GRANT USAGE ON SCHEMA notifyops TO {worker}, {web}, {writer}, {reader};
GRANT USAGE ON SCHEMA notifyops_private TO {worker}, {web};
-- Only the global form takes away what PUBLIC gets by default.
ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;
REVOKE ALL ON ALL TABLES IN SCHEMA notifyops, notifyops_private FROM PUBLIC, {worker}, {web}, {writer}, {reader};
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA notifyops, notifyops_private FROM PUBLIC, {worker}, {web}, {writer}, {reader};
GRANT USAGE ON ALL SEQUENCES IN SCHEMA notifyops_private TO {worker}, {web};

DO $$
DECLARE
    t record;
    -- What only the door writes. Everything else of ours is ordinary Django.
    guarded CONSTANT text[] := ARRAY['notifications_intent', 'notifications_intentkey', 'notifications_content',
        'notifications_prepared', 'notifications_logentry', 'notifications_notificationtype', 'move',
        'notifications_doorrole', 'notifications_workspacegrant', 'notifications_providerevent', 'django_migrations',
        'django_content_type', 'auth_permission'];
    worker_writes CONSTANT text[] := ARRAY['notifications_circuit', 'notifications_workerbeat',
        'notifications_deliveryblock', 'notifications_question'];
    only_grows CONSTANT text[] := ARRAY['notifications_configrevision', 'notifications_siteadoption', 'reviews_review',
        'reviews_note'];
    -- Events come in by `receive_v1`, which parks them; applying takes them out again, and no role may park one anew.
    worker_takes CONSTANT text[] := ARRAY['notifications_parkedreceipt'];
    web_never CONSTANT text[] := ARRAY['django_q_ormq', 'django_q_task', 'django_q_schedule', 'notifications_workerbeat',
        'notifications_parkedreceipt'];
    settled boolean;
BEGIN
    FOR t IN SELECT c.oid::regclass AS name, c.relname AS plain, c.relispartition AS part FROM pg_class c
             WHERE c.relnamespace = 'notifyops_private'::regnamespace AND c.relkind IN ('r', 'p') LOOP
        CONTINUE WHEN t.part OR t.plain = 'notifications_sitesecret';
        EXECUTE format('GRANT SELECT ON %s TO {worker}, {web}', t.name);
        settled := t.plain = ANY (guarded);
        CONTINUE WHEN settled;
        IF t.plain = ANY (only_grows) THEN
            EXECUTE format('GRANT INSERT ON %s TO {web}', t.name);
        ELSIF NOT t.plain = ANY (web_never) THEN
            EXECUTE format('GRANT INSERT, UPDATE, DELETE ON %s TO {web}', t.name);
        END IF;
        IF t.plain = ANY (worker_takes) THEN
            EXECUTE format('GRANT DELETE, UPDATE (due_at) ON %s TO {worker}', t.name);
        END IF;
        IF t.plain = ANY (worker_writes) OR t.plain LIKE 'django\_q\_%' THEN
            EXECUTE format('GRANT INSERT, UPDATE, DELETE ON %s TO {worker}', t.name);
        END IF;
    END LOOP;
END $$;

DO $$
DECLARE
    f record;
    everyone CONSTANT text[] := ARRAY['clock_v1', 'site_here_v1', 'site_trouble_v1'];
    working CONSTANT text[] := ARRAY['append_v1', 'pick_v1', 'next_due_v1', 'receive_v1', 'ensure_partitions_v1',
        'verify_v1', 'doctor_v1', 'excused_v1'];
    writing CONSTANT text[] := ARRAY['api_version', 'enqueue', 'enqueue_many', 'cancel'];
    reading CONSTANT text[] := ARRAY['api_version', 'status', 'explain'];
BEGIN
    FOR f IN SELECT p.oid::regprocedure AS name, p.proname AS plain, p.pronamespace::regnamespace::text AS space
             FROM pg_proc p WHERE p.pronamespace IN ('notifyops'::regnamespace, 'notifyops_private'::regnamespace) LOOP
        IF f.space = 'notifyops_private' THEN
            IF f.plain = ANY (everyone) OR f.plain = ANY (working) THEN
                EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO {worker}, {web}', f.name);
            END IF;
        ELSE
            IF f.plain = ANY (writing) THEN
                EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO {writer}, {web}, {worker}', f.name);
            END IF;
            IF f.plain = ANY (reading) THEN
                EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO {reader}, {web}, {worker}', f.name);
            END IF;
        END IF;
    END LOOP;
    IF to_regclass('notifyops.intents') IS NOT NULL THEN
        GRANT SELECT ON notifyops.intents, notifyops.attempts, notifyops.log TO {reader}, {web}, {worker};
    END IF;
    IF to_regclass('notifyops_private.notifications_doorrole') IS NOT NULL THEN
        DELETE FROM notifyops_private.notifications_doorrole;
        INSERT INTO notifyops_private.notifications_doorrole (role, who)
        SELECT trim(BOTH '"' FROM r), w FROM (VALUES
            ('{worker}', 'worker'), ('{worker}', 'receipt'), ('{worker}', 'intake'),
            ('{web}', 'person'), ('{web}', 'intake'), ('{writer}', 'intake'),
            ('{owner}', 'worker'), ('{owner}', 'person'), ('{owner}', 'receipt'), ('{owner}', 'intake')
        ) AS v(r, w);
        INSERT INTO notifyops_private.notifications_workspacegrant (role, workspace)
        SELECT trim(BOTH '"' FROM r), '*' FROM (VALUES ('{worker}'), ('{web}'), ('{owner}')) AS v(r)
        ON CONFLICT DO NOTHING;
        -- Applications' own roles, as `notify grant` made them.
        INSERT INTO notifyops_private.notifications_doorrole (role, who)
        SELECT DISTINCT g.role, 'intake' FROM notifyops_private.notifications_workspacegrant g
        ON CONFLICT DO NOTHING;
    END IF;
END $$;

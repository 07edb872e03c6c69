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
        'notifications_prepared', 'notifications_blob', 'notifications_logentry', 'notifications_notificationtype', 'move',
        'notifications_doorrole', 'notifications_workspacegrant', 'notifications_providerevent', 'notifications_ratebucket',
        'django_migrations', 'django_content_type', 'auth_permission', 'notifications_recovery', 'notifications_recoverylist',
        'notifications_unknownmail', 'feed_horizon', 'notifications_apitokenuse',
        'notifications_typerevision'];
    worker_writes CONSTANT text[] := ARRAY['notifications_circuit', 'notifications_workerbeat',
        'notifications_question', 'notifications_fetch', 'notifications_run', 'notifications_runitem',
        'notifications_feedcursor'];
    only_grows CONSTANT text[] := ARRAY['notifications_configrevision', 'notifications_siteadoption',
        'notifications_pause', 'reviews_review', 'reviews_note', 'reviews_accessrecord'];
    -- Events come in by `receive_v1`, which parks them; applying takes them out again, and no role may park one anew.
    worker_takes CONSTANT text[] := ARRAY['notifications_parkedreceipt'];
    -- A block is learned from a provider's word (`block_v1`), and taken back by a person's, by a function (`unblock_v1`).
    web_never CONSTANT text[] := ARRAY['notifications_deliveryblock', 'django_q_ormq', 'django_q_task',
        'django_q_schedule', 'notifications_workerbeat', 'notifications_parkedreceipt',
        'notifications_fetch'];
    -- Who may log in, and with what: no business of what delivers.
    web_alone CONSTANT text[] := ARRAY['django_session', 'otp_totp_totpdevice', 'otp_static_staticdevice',
        'otp_static_statictoken', 'axes_accessattempt', 'axes_accessattemptexpiration', 'axes_accessfailurelog', 'axes_accesslog',
        'notifications_apitoken', 'django_admin_log'];
    settled boolean;
BEGIN
    FOR t IN SELECT c.oid::regclass AS name, c.relname AS plain, c.relispartition AS part FROM pg_class c
             WHERE c.relnamespace = 'notifyops_private'::regnamespace AND c.relkind IN ('r', 'p') LOOP
        CONTINUE WHEN t.part OR t.plain = 'notifications_sitesecret';
        EXECUTE format('GRANT SELECT ON %s TO {web}', t.name);
        -- What a bulk run's owner may do by now, and nothing of how she logs in (reviews.person.UNREAD).
        IF t.plain = 'auth_user' THEN
            EXECUTE format('GRANT SELECT (id, username, is_active, is_superuser) ON %s TO {worker}', t.name);
        ELSIF NOT t.plain = ANY (web_alone) THEN
            EXECUTE format('GRANT SELECT ON %s TO {worker}', t.name);
        END IF;
        -- Carries out what a person ordered: notes what became of each case, and adds to the record (a trigger looks at it).
        IF t.plain = 'reviews_bulkitem' THEN
            EXECUTE format('GRANT UPDATE (outcome, code, seq_after, released_at, settled_at) ON %s TO {worker}', t.name);
            EXECUTE format('GRANT INSERT ON %s TO {web}', t.name);
            CONTINUE;
        ELSIF t.plain = 'reviews_review' THEN
            EXECUTE format('GRANT INSERT ON %s TO {worker}', t.name);
        END IF;
        IF t.plain = 'notifications_recovery' THEN
            EXECUTE format('GRANT UPDATE (marked_at, marked_count) ON %s TO {worker}', t.name);
        ELSIF t.plain = 'notifications_deliveryblock' THEN  -- a block grows graver, and none goes by itself
            EXECUTE format('GRANT INSERT, UPDATE (reason) ON %s TO {worker}', t.name);
        -- Opened, waived and ended by functions; the chores note how far they have come, and what was shown bars for ever.
        ELSIF t.plain = 'notifications_recoverylist' THEN
            EXECUTE format('GRANT INSERT, UPDATE (cursor, code, done_at) ON %s TO {worker}', t.name);
        ELSIF t.plain = 'notifications_unknownmail' THEN
            EXECUTE format('GRANT INSERT ON %s TO {worker}', t.name);
        END IF;
        settled := t.plain = ANY (guarded);
        CONTINUE WHEN settled;
        IF t.plain = ANY (only_grows) THEN
            EXECUTE format('GRANT INSERT ON %s TO {web}', t.name);
            IF t.plain = 'notifications_pause' THEN  -- ended early, and nothing else of it changed
                EXECUTE format('GRANT UPDATE (resumed_at, resumed_by, resume_reason) ON %s TO {web}', t.name);
            END IF;
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
    -- tests/door/test_grants.py says the same as a table: a new grant is a decision.
    everyone CONSTANT text[] := ARRAY['clock_v1', 'rate_v1', 'site_here_v1', 'site_trouble_v1', 'append_v1',
        'receive_v1', 'verify_v1', 'doctor_v1', 'forgotten_v1', 'earlier_v1', 'barred_many_v1', 'outcomes_v1'];
    -- Of the loops and the chores.
    working CONSTANT text[] := ARRAY['pick_v1', 'next_due_v1', 'ensure_partitions_v1', 'excused_v1', 'forced_v1',
        'again_v1', 'block_v1', 'spend_v1', 'learn_v1', 'ramp_v1', 'advance_horizon_v1',
        'finish_recovery_v1', 'forget_plans_v1', 'keep_fetched_v1', 'fail_over_v1', 'reach_v1'];
    -- Of persons, and of the HTTP API, which answers to a token's workspaces.
    serving CONSTANT text[] := ARRAY['correct_v1', 'erase_v1', 'close_circuit_v1', 'recover_v1', 'waive_recovery_v1',
        'feed_window_v1', 'draw_v1', 'cancel_by_token_v1', 'override_type_v1', 'unblock_v1'];
    writing CONSTANT text[] := ARRAY['api_version', 'enqueue', 'enqueue_many', 'cancel'];
    reading CONSTANT text[] := ARRAY['api_version', 'status', 'explain', 'outcomes'];
BEGIN
    FOR f IN SELECT p.oid::regprocedure AS name, p.proname AS plain, p.pronamespace::regnamespace::text AS space
             FROM pg_proc p WHERE p.pronamespace IN ('notifyops'::regnamespace, 'notifyops_private'::regnamespace) LOOP
        IF f.space = 'notifyops_private' THEN
            IF f.plain = ANY (everyone) OR f.plain = ANY (working) THEN
                EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO {worker}', f.name);
            END IF;
            IF f.plain = ANY (everyone) OR f.plain = ANY (serving) THEN
                EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO {web}', f.name);
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
    IF to_regclass('notifyops.attachments') IS NOT NULL THEN
        GRANT SELECT ON notifyops.attachments TO {reader}, {web}, {worker};
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

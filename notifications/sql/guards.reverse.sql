DO $$
DECLARE t record;
BEGIN
    FOR t IN SELECT tgname, tgrelid::regclass AS target FROM pg_trigger
             WHERE NOT tgisinternal AND tgparentid = 0
               AND tgname IN ('only_grows', 'no_truncate', 'guarded', 'never_deleted')
               AND tgrelid::regclass::text LIKE '%notifications\_%' LOOP
        EXECUTE format('DROP TRIGGER IF EXISTS %I ON %s', t.tgname, t.target);
    END LOOP;
END $$;
DROP FUNCTION notifyops_private.make_growing_v1(regclass, boolean);
DROP FUNCTION notifyops_private.guard_intent_v1();
DROP FUNCTION notifyops_private.guard_content_v1();
DROP FUNCTION notifyops_private.guard_key_v1();
DROP FUNCTION notifyops_private.guard_prepared_v1();
DROP FUNCTION notifyops_private.refuse_change_v1();

-- Makes the log's partitions from last month to `ahead` months on, and moves rows of the default partition into the
-- partition that they should have had. Returns how many partitions it made. Run hourly; safe to run at any time.
CREATE FUNCTION notifyops_private.ensure_partitions_v1(ahead integer DEFAULT 3) RETURNS integer
-- It gives up where a reader's open transaction keeps it from its locks: every claim would queue behind it.
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, notifyops_private, pg_temp SET lock_timeout = '2s' AS $$
DECLARE
    this_month date := date_trunc('month', notifyops_private.clock_v1() AT TIME ZONE 'UTC')::date;
    wanted date;
    part text;
    made integer := 0;
    months date[];
    copied bigint;
    dropped bigint;
BEGIN
    -- Two hosts at once: the second finds all of it done.
    PERFORM pg_advisory_xact_lock(7803, 1);
    -- Into an array: a cursor that is still open on the default partition would forbid to attach.
    months := ARRAY(
        SELECT m::date FROM generate_series(this_month - interval '1 month', this_month + make_interval(months => ahead),
                                            interval '1 month') AS m
        UNION
        SELECT DISTINCT d.month FROM notifications_logentry_default d
        ORDER BY 1);
    FOREACH wanted IN ARRAY months LOOP
        part := format('notifications_logentry_%s', to_char(wanted, 'YYYYMM'));
        CONTINUE WHEN to_regclass('notifyops_private.' || part) IS NOT NULL;
        EXECUTE format('CREATE TABLE notifyops_private.%I (LIKE notifyops_private.notifications_logentry
                        INCLUDING DEFAULTS INCLUDING CONSTRAINTS)', part);
        -- Before the look: an entry that came between copy and drop would be gone.
        LOCK TABLE notifications_logentry_default IN ACCESS EXCLUSIVE MODE;
        IF EXISTS (SELECT FROM notifications_logentry_default d WHERE d.month = wanted) THEN
            -- A partition cannot be made while its rows sit in the default one: copy, prove the copy, then drop them
            -- there. This is the one place where rows leave a growing table, and they are in the other by then.
            EXECUTE format('INSERT INTO notifyops_private.%I SELECT * FROM notifyops_private.notifications_logentry_default
                            WHERE month = %L', part, wanted);
            GET DIAGNOSTICS copied = ROW_COUNT;
            ALTER TABLE notifications_logentry_default DISABLE TRIGGER only_grows;
            DELETE FROM notifications_logentry_default WHERE month = wanted;
            GET DIAGNOSTICS dropped = ROW_COUNT;
            IF copied <> dropped THEN
                RAISE EXCEPTION 'partition %: % entries copied, % found', part, copied, dropped;
            END IF;
            ALTER TABLE notifications_logentry_default ENABLE ALWAYS TRIGGER only_grows;
        END IF;
        EXECUTE format('ALTER TABLE notifyops_private.notifications_logentry ATTACH PARTITION notifyops_private.%I
                        FOR VALUES FROM (%L) TO (%L)', part, wanted, (wanted + interval '1 month')::date);
        PERFORM notifyops_private.make_growing_v1(format('notifyops_private.%I', part)::regclass, false);
        made := made + 1;
    END LOOP;
    RETURN made;
END $$;

SELECT notifyops_private.ensure_partitions_v1();

DROP FUNCTION notifyops_private.waive_recovery_v1(text, text, text);
DROP FUNCTION notifyops_private.recover_v1(text, timestamptz, text, text);
DROP FUNCTION notifyops_private.finish_recovery_v1(bigint);
DROP FUNCTION notifyops_private.hear_now_v1();
DROP FUNCTION notifyops_private.person_only_v1(text, text);
DROP FUNCTION notifyops_private.adopt_restored_v1(text, text, text);
CREATE OR REPLACE FUNCTION notifyops_private.site_trouble_v1(site_ text) RETURNS text
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
    SELECT CASE WHEN a.site IS NULL THEN 'not_adopted'
        WHEN a.site <> site_ THEN 'other_site'
        WHEN (a.system_identifier, a.database) <> (h.system_identifier, h.database) THEN 'copied'
        WHEN a.timeline <> h.timeline THEN 'restored' END
    FROM site_here_v1() h
    LEFT JOIN LATERAL (SELECT s.* FROM notifications_siteadoption s ORDER BY s.id DESC LIMIT 1) a ON true
$$;
DROP INDEX notifyops_private.recovery_one_open;

-- Which site a database belongs to. A copy of it, or one that was restored, must not mail real people a second time:
-- the loops ask `site_trouble_v1` on every new connection and claim nothing while it gives a word.
SELECT notifyops_private.make_growing_v1('notifyops_private.notifications_siteadoption');

-- Where we are: this server, its timeline (a restore to a point in time and a promoted standby begin a new one), and
-- the database's number in it (a dump that is loaded into the same server gets a new one).
CREATE FUNCTION notifyops_private.site_here_v1()
RETURNS TABLE (system_identifier bigint, timeline bigint, database bigint)
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT s.system_identifier,
        -- The last checkpoint's timeline lags behind for the first seconds after a promotion.
        CASE WHEN pg_is_in_recovery() THEN c.timeline_id::bigint
            ELSE ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint END,
        d.oid::bigint
    FROM pg_control_system() s, pg_control_checkpoint() c, pg_database d WHERE d.datname = current_database()
$$;

-- Why the site named `site_` may not send from this database, or NULL: not_adopted · other_site · copied · restored.
CREATE FUNCTION notifyops_private.site_trouble_v1(site_ text) RETURNS text
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
    SELECT CASE WHEN a.site IS NULL THEN 'not_adopted'
        WHEN a.site <> site_ THEN 'other_site'
        WHEN (a.system_identifier, a.database) <> (h.system_identifier, h.database) THEN 'copied'
        WHEN a.timeline <> h.timeline THEN 'restored' END
    FROM site_here_v1() h
    LEFT JOIN LATERAL (SELECT s.* FROM notifications_siteadoption s ORDER BY s.id DESC LIMIT 1) a ON true
$$;

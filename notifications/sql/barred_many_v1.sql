-- For many cases at once what `forgotten_v1` and `earlier_v1` say of one: a row for each of which either says anything.
--
-- Each of the two costs milliseconds. They are asked only about what they can say anything of: what a restore may have
-- lost; and what has a generation or an address before or beside it, or of which somebody said that it arrived.
CREATE FUNCTION notifyops_private.barred_many_v1(ids bigint[], here text DEFAULT '')
RETURNS TABLE (id bigint, restored text, earlier text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
DECLARE
    was_restored boolean := EXISTS (SELECT FROM notifications_recovery) OR EXISTS (SELECT FROM notifications_unknownmail)
        OR coalesce(site_trouble_v1((SELECT s.site FROM notifications_siteadoption s ORDER BY s.id DESC LIMIT 1)), '')
            IN ('copied', 'restored', 'recovering');
BEGIN
    RETURN QUERY
    WITH wanted AS MATERIALIZED (
        SELECT i.id AS case_id, i.notification_id LIKE '%~a%'
            OR EXISTS (SELECT FROM notifications_intentkey k WHERE k.workspace = i.workspace
                AND k.key > base_key_v1(i.notification_id) || '~a' AND k.key < base_key_v1(i.notification_id) || '~b')
            OR EXISTS (SELECT FROM notifications_logentry l WHERE l.intent_id = i.id AND l.month = i.month
                AND (l.kind = 're_prepared' OR (l.kind IN ('receipt', 'settled', 'contradicted', 'evidence')
                    AND (l.detail ->> 'says' IN ('delivered', 'complained')
                        OR l.detail ->> 'status' IN ('delivered', 'complained'))))) AS has_more
        FROM notifications_intent i WHERE i.id = ANY (ids)
    )
    -- CASE, not a join: what must not be asked must not be reckoned either.
    SELECT a.case_id, a.restored, a.earlier FROM (
        SELECT w.case_id, CASE WHEN was_restored THEN forgotten_v1(w.case_id) END AS restored,
            CASE WHEN w.has_more THEN earlier_v1(w.case_id, here) END AS earlier
        FROM wanted w OFFSET 0
    ) a WHERE a.restored IS NOT NULL OR a.earlier IS NOT NULL;
END $$;

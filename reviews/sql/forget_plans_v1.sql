-- Drops the frozen lists of plans that nobody has started within a week, at most so many cases at once; a plan is good for
-- an hour. The plan's own row stays: who planned what, and when. A function, since a worker may delete no other case of any
-- list: those of runs are the record of what was ordered.
CREATE FUNCTION notifyops_private.forget_plans_v1(most integer) RETURNS bigint
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, notifyops_private, pg_temp AS $$
    WITH gone AS (
        DELETE FROM reviews_bulkitem t WHERE t.id IN (
            SELECT o.id FROM reviews_bulkrun b JOIN reviews_bulkitem o ON o.bulk_id = b.id
            WHERE b.run_id IS NULL AND b.planned_at < clock_v1() - interval '7 days' LIMIT least(most, 100000))
        RETURNING 1)
    SELECT count(*) FROM gone
$$;

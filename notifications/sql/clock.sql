-- The one place that shipped functions take the time from. Tests replace it by one that reads a setting.
CREATE FUNCTION notifyops_private.clock_v1() RETURNS timestamptz
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp
RETURN clock_timestamp();

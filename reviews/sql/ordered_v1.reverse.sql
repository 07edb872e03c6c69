DROP TRIGGER IF EXISTS frozen ON notifyops_private.reviews_bulkitem;
DROP FUNCTION notifyops_private.guard_bulkitem_v1();
DROP TRIGGER IF EXISTS steered ON notifyops_private.notifications_run;
DROP FUNCTION notifyops_private.guard_bulk_run_v1();
DROP TRIGGER IF EXISTS ordered ON notifyops_private.reviews_review;
DROP FUNCTION notifyops_private.review_ordered_v1();
CREATE OR REPLACE FUNCTION notifyops_private.ordered_v1(kind_ text, entries jsonb, person text) RETURNS boolean
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$ SELECT false $$;

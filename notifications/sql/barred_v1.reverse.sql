DROP FUNCTION notifyops_private.barred_v1(text, bigint[], timestamptz, jsonb);

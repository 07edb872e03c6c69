DROP FUNCTION notifyops_private.append_v1(text, jsonb, text, text, bytea[]);
DROP FUNCTION notifyops_private.barred_v1(text, bigint[], timestamptz);

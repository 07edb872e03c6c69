DROP FUNCTION notifyops_private.append_v1(text, jsonb, text, text, bytea[]);

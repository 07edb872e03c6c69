DROP FUNCTION notifyops_private.append_v1;
DROP FUNCTION notifyops_private.barred_v1(text, bigint[], timestamptz);

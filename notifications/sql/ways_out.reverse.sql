DROP FUNCTION notifyops_private.erase_v1(bigint);
DROP FUNCTION notifyops_private.correct_v1(bigint, integer, text, jsonb, text, double precision, text);

DROP FUNCTION notifyops_private.barred_many_v1(bigint[], text);

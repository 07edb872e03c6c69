DROP FUNCTION notifyops_private.verify_v1(bigint, bigint);

DROP FUNCTION notifyops_private.unblock_v1(bigint, text, text);

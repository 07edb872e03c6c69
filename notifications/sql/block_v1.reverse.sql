DROP FUNCTION notifyops_private.block_v1(bigint[], integer[], text[]);

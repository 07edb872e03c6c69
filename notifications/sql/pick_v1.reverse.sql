DROP FUNCTION notifyops_private.next_due_v1(bigint[]);
DROP FUNCTION notifyops_private.pick_v1(integer, bigint[], bigint[], text);

DROP FUNCTION notifyops_private.ensure_partitions_v1(integer);

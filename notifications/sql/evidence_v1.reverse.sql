DROP FUNCTION notifyops_private.forced_v1(bigint[], timestamptz);
DROP FUNCTION notifyops_private.ordered_v1(bigint[]);
DROP FUNCTION notifyops_private.excused_v1(bigint[], timestamptz);
DROP FUNCTION notifyops_private.evidence_v1(bigint[]);

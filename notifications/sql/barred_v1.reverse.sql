DROP FUNCTION notifyops_private.barred_v1(text, bigint[], timestamptz, jsonb, text);
DROP FUNCTION notifyops_private.stays_v1(bigint, jsonb, timestamptz);
DROP FUNCTION notifyops_private.unsent_v1(bigint);
DROP FUNCTION notifyops_private.unclaimable_v1(bigint[]);
DROP FUNCTION notifyops_private.forgotten_v1(bigint);
DROP FUNCTION notifyops_private.is_forgotten_v1(bigint);
DROP FUNCTION notifyops_private.reach_v1(bigint);
